"""The DOT language: random graphs written with odd quoting and read back, what Graphviz' grammar says, and damaged texts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from als.graphs.readers.dot_language import MAX_DEPTH, DotGraph, parse_dot
from traces.base.errors import InputError

KEPT = ("size", "host")


def parsed(text: str) -> DotGraph:
    return parse_dot(text, KEPT, lambda place, what: InputError(f"{place}: {what}" if place else what))


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parsed(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


def edges_of(graph: DotGraph) -> list[tuple[str, str, str]]:
    return [
        (producer, consumer, edges.attributes.get("size", ""))
        for edges in graph.edges
        for producer in edges.producers
        for consumer in edges.consumers
    ]


def sizes_of(graph: DotGraph) -> dict[str, str]:
    """What each node's last word on its size is."""
    found = {}
    for name, node in graph.nodes.items():
        known = dict(node.defaults)
        for _, attributes in node.statements:
            known.update(attributes)
        found[name] = known.get("size", "")
    return found


@pytest.mark.parametrize(
    ("text", "edges"), tomllib.loads((Path(__file__).parent / "dot_edges.toml").read_text(encoding="utf-8"))["edges"]
)
def test_edges(text: str, edges: list[str]) -> None:
    for head in ("digraph", "strict digraph G", 'DiGraph "a graph"', "STRICT digraph <b> ", "digraph 1"):
        found = parsed(f"{head} {{\n{text}\n}}")
        assert [f"{one} {other}" for one, other, _ in edges_of(found)] == edges


def test_lines_are_counted_through_strings_and_comments() -> None:
    assert refused('digraph {\n/* \n */ a [x="\n\n", y=<\n>]\n# b\n// c\n=}').startswith("line 9: not DOT: '='")


def test_defaults_hold_from_where_they_stand_to_the_end_of_their_braces() -> None:
    """Lang.html: objects defined afterwards; a subgraph has those of its parent at the time of its definition."""
    found = parsed(
        """digraph {
          a; node [size=1]; b; edge [size=10];
          {c; node [size=2] d; edge [size=20] b; c -> d; a -> e}
          f -> g; node [size=3, host=1] h; d [host=4];
          subgraph s {node [size=5] i} subgraph s {j} subgraph t {k [size=6]}
        }"""
    )
    assert sizes_of(found) == {
        "a": "", "b": "1", "c": "1", "d": "2", "e": "2", "f": "1", "g": "1", "h": "3", "i": "5", "j": "5", "k": "6",
    }  # fmt: skip
    assert edges_of(found) == [("c", "d", "20"), ("a", "e", "20"), ("f", "g", "10")]
    assert found.nodes["h"].defaults == {"size": "3", "host": "1"}
    assert found.nodes["d"].statements == [(3, {}), (4, {"host": "4"})]


def test_subgraphs_are_as_deep_as_is_allowed() -> None:
    def nested(depth: int) -> str:
        return "digraph {" + "{" * depth + "a -> b" + "}" * depth + "}"

    assert edges_of(parsed(nested(MAX_DEPTH))) == [("a", "b", "")]
    for depth in (MAX_DEPTH + 1, 100_000):
        assert "nested too deep; allowed: 100 within each other" in refused(nested(depth))
    assert "nested too deep" in refused("digraph {" + "a -> {" * 100_000)


# Texts that would need more than linear time if the expressions tried again what they have read.
@pytest.mark.parametrize(
    "part", ['"', "/*", "<", "\\", '"\\', "a", "1", "1.", "a-1", "-", '"a"+', "#", " ", "é", "->a", ":a", "//"]
)
def test_long_texts_that_go_wrong(part: str) -> None:
    for text in (f"digraph {{ {part * 20_000}", f'digraph {{ "{part * 20_000}', f"digraph {{ a [x={part * 20_000}"):
        assert "line 1: " in refused(text)


WORD = re.compile(r"[A-Za-z_é][A-Za-z_é0-9]*|-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)")
KEYWORDS = ("strict", "digraph", "graph", "subgraph", "node", "edge")
names = st.one_of(
    st.sampled_from(("a", "b", "Node", "edge", "1", "-.5", "2.", "1e9", "a b", "", "->", "#", "//", "<b>", "a:b", '"', "x+y")),
    st.text(st.sampled_from("ab1 .-\"'+#/*<>{}[]=;,:é\n\t"), max_size=6),
)  # fmt: skip
blanks = st.sampled_from((" ", "\n", "\t", "  ", ' /* " { */ ', " // x }\n", '\n# [ "\n', "\r\n"))


@dataclass
class Writer:
    """Writes names and what is between them in any of the ways that there are."""

    draw: st.DrawFn
    parts: list[str] = field(default_factory=list)

    def put(self, *parts: str) -> None:
        for part in parts:
            self.parts += [part, self.draw(blanks)]

    def name(self, name: str) -> str:
        ways = ["quoted", "joined"]
        if WORD.fullmatch(name) and name.lower() not in KEYWORDS:
            ways.append("bare")
        match self.draw(st.sampled_from(ways)):
            case "bare":
                return name
            case "joined":
                cut = self.draw(st.integers(0, len(name)))
                return f"{quoted(name[:cut])}{self.draw(blanks)}+{self.draw(blanks)}{quoted(name[cut:])}"
        cut = self.draw(st.integers(0, len(name)))
        return quoted(name[:cut], self.draw(st.sampled_from(("", "\\\n"))) + quoted(name[cut:])[1:-1])

    def attributes(self, size: str) -> str:
        label = self.draw(st.sampled_from(("", "label=<a <b>]</b>>, ", 'x="];" ', "y=1;", "][")))
        return f"[{label}{self.name('size')}{self.draw(blanks)}={self.name(size)}]"


def quoted(name: str, rest: str = "") -> str:
    return '"' + name.replace('"', '\\"') + rest + '"'


@st.composite
def written(draw: st.DrawFn) -> tuple[str, dict[str, str], list[tuple[str, str, str]]]:
    """A text, the nodes with the sizes that they have of their statements, and the edges."""
    writer = Writer(draw)
    nodes: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    sizes = st.sampled_from(("1", "-1", "2.5", "1e9", "big"))

    def statements(depth: int) -> list[str]:
        found: list[str] = []
        for _ in range(draw(st.integers(0, 3))):
            match draw(st.sampled_from(("node", "chain", "group", "graph"))):
                case "node":
                    name, size = draw(names), draw(sizes)
                    writer.put(writer.name(name), writer.attributes(size))
                    nodes[name] = size
                    found.append(name)
                case "chain":
                    ends = [end(depth)]
                    for _ in range(draw(st.integers(1, 2))):
                        writer.put("->")
                        ends.append(end(depth))
                    size = draw(st.sampled_from(("", "7")))
                    if size:
                        writer.put(writer.attributes(size))
                    for one, other in pairwise(ends):
                        edges.extend((a, b, size) for a in one for b in other)
                    found += [name for names_ in ends for name in names_]
                case "group" if depth < 3:
                    writer.put(*draw(st.sampled_from(((), ("subgraph",)))), "{")
                    found += statements(depth + 1)
                    writer.put("}")
                case _:
                    writer.put(draw(st.sampled_from(("rankdir=LR", "graph [a=b]", "node []", "Edge [c=d]", 'x = "y"'))))
            writer.put(draw(st.sampled_from(("", ";"))))
        return list(dict.fromkeys(found))

    def end(depth: int) -> list[str]:
        if depth < 3 and draw(st.integers(0, 3)) == 0:
            writer.put("{")
            found = statements(depth + 1)
            writer.put("}")
            return found
        name = draw(names)
        writer.put(writer.name(name), *draw(st.sampled_from(((), (":", "p"), (":", "p", ":", "n")))))
        nodes.setdefault(name, "")
        return [name]

    writer.put(draw(st.sampled_from(("digraph {", "strict DIGRAPH g {", 'digraph "strict" {'))))
    statements(0)
    writer.put("}")
    return "".join(writer.parts), nodes, edges


@given(written())
def test_a_graph_is_read_as_it_was_written(drawn: tuple[str, dict[str, str], list[tuple[str, str, str]]]) -> None:
    text, nodes, edges = drawn
    found = parsed(text)
    assert sizes_of(found) == nodes
    assert edges_of(found) == edges


WORDS_OF_DOT = (
    r"""a 1 .5 "b" <c> -> -- { } [ ] = ; , : + " < > \ node edge graph subgraph digraph strict size /* */ // # é"""
)
FRAGMENTS = (*WORDS_OF_DOT.split(" "), *("\n", " ", "\x00"))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25), st.sampled_from(("digraph {", "digraph { a -> ", "")))
def test_any_text_is_a_graph_or_one_line(fragments: list[str], head: str) -> None:
    says = ""
    try:
        found = parsed(head + "".join(fragments))
    except InputError as error:
        says = str(error)
    if says:
        assert re.fullmatch(r"line [0-9]+: .+", says)
    else:
        assert set(found.nodes) >= {name for one, other, _ in edges_of(found) for name in (one, other)}
