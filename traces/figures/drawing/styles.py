"""Colours and styles of techniques and runs.

matplotlib is not imported here.
"""

from dataclasses import dataclass

UPSILON = "ϒ"  #: the variation Υ in figures: an upsilon with hooks, since the plain letter looks like a Latin Y

#: Fifteen distinct colours on white; most colour-blind readers can distinguish the first seven.
PALETTE = (
    *("#4477AA", "#EE7733", "#228833", "#CC3377", "#66CCEE", "#CCBB44", "#332288", "#EE99AA", "#44AA99"),
    *("#882255", "#999933", "#8B5A2B", "#AA88DD", "#CC3311", "#777777"),
)

FEW = 8  #: most techniques or runs with a style and a legend; more are rows with names


@dataclass(frozen=True, slots=True)
class Style:
    """Style of a technique or run, distinct with and without colour."""

    # colour, hatch: of bars and boxes
    colour: str
    hatch: str
    marker: str  # of points
    # str or (float, tuple of float), of lines: on and off in multiples of the line's width
    dash: str | tuple[float, tuple[float, ...]]


#: In the order of the techniques, or of the runs.
STYLES = (
    Style(PALETTE[0], "", "o", "solid"),
    Style(PALETTE[1], "////", "s", (0, (4, 1.5))),
    Style(PALETTE[2], "\\\\\\\\", "D", (0, (1, 1.2))),
    Style(PALETTE[3], "xxxx", "^", (0, (5, 1.5, 1, 1.5))),
    Style(PALETTE[4], "....", "v", (0, (8, 2))),
    Style(PALETTE[5], "----", "P", (0, (3, 1.5, 1, 1.5, 1, 1.5))),
    Style(PALETTE[6], "||||", "X", (0, (2, 2))),
    Style(PALETTE[7], "++++", "*", (0, (6, 1.5, 2, 1.5))),
)


def style(place: int) -> Style:
    """The style at a place; styles recur after the last."""
    return STYLES[place % len(STYLES)]
