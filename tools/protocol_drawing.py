"""A table of a state machine as a picture: states below one another, and lanes beside them for what skips some.

Who goes to the next state does so by an arrow between the two. Whatever goes further takes a lane, on the right if it goes
down and on the left if it goes up; those who go to the same state by the same events share one. What leaves a state where it
is stands in its box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from html import escape
from textwrap import wrap
from typing import Any

__all__ = ["drawn"]

_WIDTH, _GAP, _LINE, _LETTER, _MARGIN = 176, 50, 15, 6.3, 12

_STYLE = """text{font:12px sans-serif;fill:#222}.n{font-weight:bold}.s{font-size:11px;fill:#555}
rect.b{fill:#eef3f4;stroke:#0a7d91}path{fill:none;stroke:#555;stroke-width:1.3;marker-end:url(#a)}path.s{marker-end:none}
text.l{paint-order:stroke;stroke:#fff;stroke-width:4px}"""


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def _words(events: Sequence[str], width: int = 26) -> list[str]:
    return wrap(" / ".join(events), width)


def drawn(table: Mapping[tuple[Any, Any], StrEnum], order: Sequence[str]) -> str:
    """The picture, as SVG.

    Parameters
    ----------
    table : mapping of (state, event) to state
    order : sequence of str
        Its states from top to bottom; the first is the one in which it begins.
    """
    arrows: dict[tuple[str, str], list[str]] = {}
    for (before, event), after in table.items():
        arrows.setdefault((before.name, after.name), []).append(event.value)
    assert {name for pair in arrows for name in pair} == set(order), "the order has every state"
    place = {name: k for k, name in enumerate(order)}
    stays = {name: _words(arrows.pop((name, name), [])) for name in order}
    # Lanes: where they lead, by which events, and who takes them.
    lanes: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    steps: dict[tuple[str, str], list[str]] = {}
    for (a, b), events in arrows.items():
        if abs(place[a] - place[b]) == 1:
            steps[a, b] = events
        else:
            lanes.setdefault((b, tuple(events)), []).append(a)
    for (a, b), events in list(steps.items()):
        if len(lanes.get((b, tuple(events)), ())) > 0 and place[b] > place[a]:
            lanes[b, tuple(events)].append(a)
            del steps[a, b]
    top: dict[str, float] = {}
    height = {name: 30 + _LINE * len(stays[name]) for name in order}
    y: float = _MARGIN + 26
    for name in order:
        top[name] = y
        y += height[name] + _GAP
    total = y - _GAP + _MARGIN

    def span(lane: tuple[tuple[str, tuple[str, ...]], list[str]]) -> int:
        return max(abs(place[lane[0][0]] - place[a]) for a in lane[1])

    def is_down(lane: tuple[tuple[str, tuple[str, ...]], list[str]]) -> bool:
        return place[lane[0][0]] > place[lane[1][0]]

    sides = {down: sorted((one for one in lanes.items() if is_down(one) == down), key=span) for down in (True, False)}
    room = {
        down: [22 + _LETTER * max(map(len, _words(events))) for (_, events), _ in sides[down]] for down in (True, False)
    }
    left = _MARGIN + sum(room[False]) + (16 if room[False] else 0)
    width = left + _WIDTH + 16 + sum(room[True]) + _MARGIN
    # Each lane that touches a side of a box has its own height there.
    ports: dict[tuple[bool, str], list[int]] = {}
    for down, found in sides.items():
        for name in order:
            ends = [k for k, ((b, _), _) in enumerate(found) if b == name]
            begins = [k for k, (_, whence) in enumerate(found) if name in whence]
            ports[down, name] = [*ends, *reversed(begins)]  # so that they cross as little as can be

    def port(down: bool, name: str, k: int) -> float:
        mine = ports[down, name]
        return top[name] + height[name] * (mine.index(k) + 1) / (len(mine) + 1)

    middle, out = left + _WIDTH / 2, []
    out.append(f'<path d="M{middle:.0f} {_MARGIN}V{top[order[0]] - 2:.0f}"/>')
    for (a, b), events in steps.items():
        down = place[b] > place[a]
        x = middle + (-14 if down else 14) if (b, a) in steps else middle
        begin, end = (top[a] + height[a], top[b] - 2) if down else (top[a], top[b] + height[b] + 2)
        out.append(f'<path d="M{x:.0f} {begin:.0f}V{end:.0f}"/>')
        words = _words(events, 14)
        side = ("end", x - 6) if (b, a) in steps and down else ("start", x + 6)
        at = (begin + end) / 2 + 4 - _LINE * (len(words) - 1) / 2
        out += [_text(side[1], at + _LINE * n, line, "l", side[0]) for n, line in enumerate(words)]
    labels = []
    for down, found in sides.items():
        sign, edge = (1, left + _WIDTH) if down else (-1, left)
        x = edge + sign * 16
        for k, ((b, events), whence) in enumerate(found):
            first = min(whence, key=place.__getitem__) if down else max(whence, key=place.__getitem__)
            for a in whence:
                kind = "" if a == first else ' class="s"'
                to = f"V{port(down, b, k):.0f}H{edge + sign * 2:.0f}" if a == first else ""
                out.append(f'<path{kind} d="M{edge:.0f} {port(down, a, k):.0f}H{x:.0f}{to}"/>')
            # In the gap beside the first of them, where no other lane begins.
            words = _words(events)
            gap = top[first] + height[first] + _GAP / 2 if down else top[first] - _GAP / 2
            at = gap + 4 - _LINE * (len(words) - 1) / 2
            labels += [
                _text(x + sign * 5, at + _LINE * n, line, "l", "start" if down else "end")
                for n, line in enumerate(words)
            ]
            x += sign * room[down][k]
    for name in order:
        out.append(
            f'<rect class="b" x="{left:.0f}" y="{top[name]:.0f}" width="{_WIDTH}" height="{height[name]:.0f}" rx="5"/>'
        )
        out.append(_text(middle, top[name] + 20, name, "n"))
        out += [
            _text(middle, top[name] + 20 + _LINE * (n + 1), ("↻ " if n == 0 else "") + line, "s")
            for n, line in enumerate(stays[name])
        ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{total:.0f}" '
        f'viewBox="0 0 {width:.0f} {total:.0f}">'
    )
    marker = (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#555;stroke:none;marker-end:none"/></marker></defs>'
    )
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", marker, ground, *out, *labels, "</svg>", ""])
