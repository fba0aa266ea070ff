"""``twolevel cite``."""

from typing import Annotated

import typer


def cite_command(
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX.")] = False,
) -> None:
    """Print references to the two-level paper and to this version of the software."""
    from bridge.citation import APPROACH, software

    cited = (APPROACH, software())
    print("\n\n".join(work.bibtex() if bibtex else work.text() for work in cited))
