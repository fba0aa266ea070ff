"""``twolevel cite``."""

from typing import Annotated

import typer


def cite_command(
    bibtex: Annotated[bool, typer.Option("--bibtex", help="As BibTeX, for a file of references.")] = False,
) -> None:
    """Print how to cite the paper whose approach this is, and this software with its version: text, or BibTeX."""
    from bridge.citation import APPROACH, software

    cited = (APPROACH, software())
    print("\n\n".join(work.bibtex() if bibtex else work.text() for work in cited))
