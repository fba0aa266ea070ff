"""A fat-tree: levels of switches in which higher levels may be as wide as lower ones.

docs/reference/network.md describes its numbers ``down``, ``up`` and ``cables`` per level, lowest first, and D-mod-K routes.
Host h is leaf h, and there may be fewer hosts than leaves. Nodes of level l (0: leaves) have L digits, the first l of them
below ``up``, the others below ``down``; a node's number in its level is the number with these digits, the first digit counting
1. A node is connected to the switches above whose digits are the same except the l-th.

Upwards, the port of a node is ⌊dst / (product of ``up`` of the levels below)⌋ mod (up · cables); port p leads to the switch
with the l-th digit p mod up, by the cable ⌊p / up⌋. Downwards there is one way, with SimGrid's choice among parallel cables.
Each link is split-duplex: one key upwards, the next downwards.

Source: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees", Technion CCIT
report 776, 2010; SimGrid 3.32 and 4.1.
"""

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from als.network.state import FAT_TREE, MAX_LEVELS
from traces.base.errors import InputError, shown_name
from traces.compiled import Array, compiled

# Entries of NetworkState.parameters.
LEVELS = 0
DOWN = LEVELS + 1  # per level
UP = DOWN + MAX_LEVELS
CABLES = UP + MAX_LEVELS
FIRST_KEY = CABLES + MAX_LEVELS  # keys of the links from the nodes of each level up

_MAX_PORTS = 2**24
_MAX_LINKS = 2**60
_VALUES = re.compile(r"[0-9]{1,9}(?:x[0-9]{1,9})*")


@compiled(inner=True)
def fat_tree_route(parameters: Array, src: int, dst: int, keys: Array) -> int:
    """Write the links from leaf ``src`` up to the first switch above ``dst`` and down; return their number."""
    n, level = 0, 0
    # The current switch: its first `level` digits as one number of `width` values; the others are the digits of src or, from
    # the switch above dst on, of dst: from_src and from_dst as one number.
    chosen, width = 0, 1
    from_src, from_dst = src, dst
    rest = dst  # rest of dst for choosing ports
    leaves = 1  # below the switch
    while from_src != from_dst:
        up = parameters[UP + level]
        ports = up * parameters[CABLES + level]
        port = rest % ports
        rest //= up
        keys[n] = parameters[FIRST_KEY + level] + 2 * ((chosen + width * from_src) * ports + port)
        n += 1
        chosen += width * (port % up)
        width *= up
        from_src //= parameters[DOWN + level]
        from_dst //= parameters[DOWN + level]
        leaves *= parameters[DOWN + level]
        level += 1
    # SimGrid searches a switch's children from the first of the cable that src is to use, and continues in the children of the
    # one it found from the place after that, up to the last: so it reaches other cables below.
    while level > 0:
        level -= 1
        place = src % parameters[CABLES + level] * parameters[DOWN + level]
        while level >= 0:
            down, up, cables = parameters[DOWN + level], parameters[UP + level], parameters[CABLES + level]
            below = leaves // down
            place += (dst // below - place) % down  # the next place of the child above dst
            if place >= down * cables:
                break
            leaves = below
            width //= up
            port = chosen // width + place // down * up
            chosen %= width
            keys[n] = parameters[FIRST_KEY + level] + 2 * ((chosen + width * (dst // below)) * up * cables + port) + 1
            n += 1
            place += 1
            level -= 1
        level += 1
    return n


@dataclass(frozen=True)
class FatTree:
    """A fat-tree, as SimGrid's ``levels;down;up;cables``. Raises InputError if the numbers of levels differ."""

    name: ClassVar[str] = "fat-tree"
    code: ClassVar[int] = FAT_TREE

    # one number per level, separated by ``x``, as ``4x4``, lowest level first; 1 to ``MAX_LEVELS`` numbers from 1 to 2**24.
    # ``down`` is required; the others are 1 at each level by default.
    down: str = ""
    up: str = ""
    cables: str = ""

    def __post_init__(self) -> None:
        levels = len(_values("down", self.down)) if self.down else 0
        for key in ("up", "cables"):
            text = getattr(self, key)
            if text and self.down and len(_values(key, text)) != levels:
                found = len(_values(key, text))
                raise InputError(f"fat-tree: {key}={text} has {found} levels, down={self.down} has {levels}")

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """Return the numbers for the kernel. Raises InputError if ``down`` is missing, or leaves are too few or
        links too many."""
        if not self.down:
            raise InputError("fat-tree: down is missing; allowed: a number for each level, as fat-tree:down=4x4,up=1x2")
        down = _values("down", self.down)
        up = _values("up", self.up) if self.up else [1] * len(down)
        cables = _values("cables", self.cables) if self.cables else [1] * len(down)
        leaves = math.prod(down)
        if hosts > leaves:
            raise InputError(f"fat-tree: {hosts} hosts do not fit on the {leaves} leaves of down={self.down}")
        first, total = [], 0
        for level in range(len(down)):
            first.append(total)
            nodes = math.prod(up[:level]) * math.prod(down[level:])
            total += 2 * nodes * up[level] * cables[level]
        if total > _MAX_LINKS:
            raise InputError(f"fat-tree: down={self.down} makes {total:.3g} links; allowed: up to {_MAX_LINKS:.3g}")
        blank = [0] * (MAX_LEVELS - len(down))
        return (len(down), *down, *blank, *up, *blank, *cables, *blank, *first, *blank)


def _values(key: str, text: str) -> list[int]:
    where = f"fat-tree: {key}={shown_name(text)}"
    if not _VALUES.fullmatch(text):
        raise InputError(f"{where}: allowed: a whole number from 1 for each level with x between them, as 4x4")
    values = [int(value) for value in text.split("x")]
    if not 1 <= len(values) <= MAX_LEVELS:
        raise InputError(f"{where} has {len(values)} levels; allowed: 1 to {MAX_LEVELS}")
    if not all(1 <= value <= _MAX_PORTS for value in values):
        raise InputError(f"{where}: allowed: numbers from 1 to {_MAX_PORTS}")
    return values
