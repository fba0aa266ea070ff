"""How figures are written: the options of all commands that draw figures."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bridge.options.declared import NO_TITLE, WIDTH

if TYPE_CHECKING:
    from traces.figures.drawing.for_paper import ForPaper


@dataclass(frozen=True)
class PaperOptions:
    """Width and titles of figures."""

    width: Annotated[str | None, WIDTH] = WIDTH.default
    no_title: Annotated[bool, NO_TITLE] = NO_TITLE.default

    def asked(self) -> "ForPaper":
        """Return the request. Raises InputError if the width is none."""
        from traces.figures.drawing.for_paper import ForPaper

        return ForPaper.of(self.width, not self.no_title, str(WIDTH))

    def drawing(self) -> AbstractContextManager[None]:
        """Return a context in which figures are drawn so. Raises InputError if the width is none."""
        from traces.figures.drawing.for_paper import drawn_for

        return drawn_for(self.asked())
