"""The DOT language: random graphs written with odd quoting and read back, what Graphviz' grammar says, and damaged texts."""

from __future__ import annotations

import re
import tomllib
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
