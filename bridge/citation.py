"""References to the two-level paper and to the installed version of this software, as in ``CITATION.cff``."""

from importlib.metadata import version
from typing import Final

_PAPER: Final = "Exploring the Relation Between Two Levels of Scheduling Using a Novel Simulation Approach"
_CONFERENCE: Final = "International Symposium on Parallel and Distributed Computing (ISPDC)"
_SOFTWARE: Final = "twolevel: co-simulation of batch-level and application-level scheduling"

_TEXT: Final = f"""\
Eleliemy, A., Mohammed, A., & Ciorba, F. M. (2017). {_PAPER}. {_CONFERENCE}. IEEE.

The twolevel developers. {_SOFTWARE} (Version VERSION) [Computer software]."""

_BIBTEX: Final = f"""\
@inproceedings{{Eleliemy2017TwoLevels,
    author = {{Eleliemy, Ahmed and Mohammed, Ali and Ciorba, Florina M.}},
    title = {{{{{_PAPER}}}}},
    booktitle = {{{_CONFERENCE}}},
    publisher = {{IEEE}},
    year = {{2017}},
}}

@software{{twolevel,
    author = {{{{The twolevel developers}}}},
    title = {{{{{_SOFTWARE}}}}},
    version = {{VERSION}},
}}"""


def references(*, bibtex: bool) -> str:
    """Return two lines for a list of references, in APA style, or two entries of BibTeX."""
    return (_BIBTEX if bibtex else _TEXT).replace("VERSION", version("twolevel"))
