"""Files with task graphs: one small graph in every format, the DOT language, and everything that is wrong with others."""

import gzip
import math
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section, table
from tables import table_rows

from als.graphs import readers
from als.graphs.readers import CORE_GFLOPS, READERS, read_graph
from als.graphs.readers.contract import GraphRows
from als.graphs.readers.dot import MAX_DEPTH, DotGraph, parse_dot
from als.graphs.task_graph import MAX_EDGES, TaskGraph
from traces.base.errors import InputError

PAGE = ROOT / "docs" / "reference/graph-files.md"

#: Endings of names that promise a format; the first is that of the small graph's file.
ENDINGS = {
    "wfformat": ["json"],
    "dax": ["dax", "xml"],
    "dot": ["dot", "gv"],
    "graphml": ["graphml", "xml"],
    "starpu": ["rec"],
}
DATA = Path(__file__).parent / "data"
#: ``a`` (1 GFLOP) gives 100 bytes to ``b`` (2 GFLOP) and only goes before ``c`` (3 GFLOP).
TEXTS = {form: (DATA / f"small.{endings[0]}").read_text("utf-8") for form, endings in ENDINGS.items()}
DAX, DOT, GRAPHML, WFFORMAT = TEXTS["dax"], TEXTS["dot"], TEXTS["graphml"], TEXTS["wfformat"]

each_format = pytest.mark.parametrize("form", READERS)


def read(tmp_path: Path, text: str | bytes, name: str = "graph.txt", **options: Any) -> TaskGraph:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_graph(path, **options)


def refused(tmp_path: Path, text: str | bytes, name: str = "graph.txt", **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, name, **options)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / name}: ")
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path / name}: ")


def edges_of(graph: TaskGraph) -> list[tuple[str, str, float]]:
    columns = (graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist())
    return [(graph.label(a), graph.label(b), data) for a, b, data in zip(*columns, strict=True)]


def assert_small(graph: TaskGraph) -> None:
    assert graph.names == ("a", "b", "c")
    assert graph.gflop.tolist() == pytest.approx([1, 2, 3], rel=1e-15)
    assert edges_of(graph) == [("a", "b", 100.0), ("a", "c", 0.0)]
    assert graph.host is None


@each_format
def test_the_same_graph_in_every_format(tmp_path: Path, form: str) -> None:
    packed = gzip.compress(TEXTS[form].encode())
    for ending in (*ENDINGS[form], "txt", "graph"):
        graph = read(tmp_path, TEXTS[form], f"my.{ending}")
        assert_small(graph)
        assert graph.name == ("my" if ending in ENDINGS[form] else f"my.{ending}")
        assert_small(read(tmp_path, packed, f"my.{ending}.gz", format=form))
        assert_small(read(tmp_path, packed, f"packed.{ending}"))
    assert_small(read(tmp_path, b"\xef\xbb\xbf" + TEXTS[form].encode()))
    assert_small(read(tmp_path, TEXTS[form].replace("\n", "\r\n")))


@each_format
def test_a_format_that_is_mistaken_for_another(tmp_path: Path, form: str) -> None:
    for other in set(READERS) - {form}:
        message = refused(tmp_path, TEXTS[form], format=other)
        assert message.startswith("looks like ")
        assert message.endswith(f"allowed: {form}")
        for ending in set(ENDINGS[other]) - set(ENDINGS[form]):
            message = refused(tmp_path, TEXTS[form], f"my.{ending}")
            assert f"but is called .{ending}; allowed: " in message
            assert all(f".{own}" in message for own in ENDINGS[form])
            assert refused(tmp_path, gzip.compress(TEXTS[form].encode()), f"my.{ending}.gz")


def test_wfformat_1_6_has_further_members_only(tmp_path: Path) -> None:
    newer = WFFORMAT.replace('"schemaVersion": "1.5"', '"schemaVersion": "1.6"')
    newer = newer.replace('"tasks": [', '"metrics": {"numberOfTasks": 3}, "tasks": [')
    found, plain = read(tmp_path, newer), read(tmp_path, WFFORMAT)
    assert (found.gflop.tolist(), found.names) == (plain.gflop.tolist(), plain.names)
    for name in ("source", "target", "bytes"):
        assert getattr(found, name).tolist() == getattr(plain, name).tolist()


def test_times_on_other_kinds_in_wfformat(tmp_path: Path) -> None:
    text = WFFORMAT.replace(
        '{"id": "b", "runtimeInSeconds"', '{"id": "b", "runtimeInSecondsOn": {"gpu": 2}, "runtimeInSeconds"'
    )
    graph = read(tmp_path, text, core_gflops=3.0)
    assert graph.kinds == ("gpu",)
    assert graph.kind_gflop is not None
    assert graph.kind_gflop.tolist() == [[math.inf, 6.0, math.inf]]
    assert refused(tmp_path, text.replace('{"gpu": 2}', "2")).endswith(
        """runtimeInSecondsOn: 2; allowed: an object, as {"gpu": 0.5}"""
    )
    assert "task 'b': runtimeInSecondsOn.gpu: -2 is out of range" in refused(tmp_path, text.replace(": 2}", ": -2}"))


REC = TEXTS["starpu"]


def test_workers_of_starpu(tmp_path: Path) -> None:
    """Workers 0 and 2 cannot run the second task, the last ones not the first."""
    times = iter(("9 8 9 inf inf", "inf 2 inf 5 5", "7 6 7 4 4"))
    text = re.sub(r"EstimatedTime: .*", lambda _: f"EstimatedTime: {next(times)}", REC)
    graph = read(tmp_path, text + "\nJobId: d\nDependsOn: b c\n", core_gflops=1e6)
    assert graph.gflop.tolist() == [8, 5, 4, 0]
    assert graph.kinds == ("w0", "w1", "cores")
    assert graph.kind_gflop is not None
    inf = math.inf
    assert graph.kind_gflop.tolist() == [[9, inf, 7, 0], [8, 2, 6, 0], [inf, 5, 4, 0]]


ENTITIES = '<?xml version="1.0"?>\n<!DOCTYPE x [\n <!ENTITY a0 "lol">\n <!ENTITY a1 "&a0;&a0;&a0;">\n]>\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *table_rows(__file__, "begins"),
        (b"\x00\x01\xff", "no task graph: it begins with"),
        (ENTITIES + "<adag><job id='&a1;' runtime='1'/></adag>", "line 3: declares the entity 'a0'"),
        (ENTITIES + "<graphml>&a1;</graphml>", "line 3: declares the entity 'a0'"),
    ],
)
def test_files_that_do_not_look_like_graphs_are_refused(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert refused(tmp_path, text).startswith(says)


HOSTS = GRAPHML.replace('"bytes"', '"host"').replace('"edge"', '"all"').replace("1e9<", '1e9</data><data key="d1">0<')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *table_rows(__file__, "says"),
        *((TEXTS[form].replace(old, new), says) for form, old, new, says in table_rows(__file__, "changed")),
        ("{" + '"a":{' * 100_000, "not usable JSON: nested too deeply"),
        ('{"workflow": ' + "[" * 100_000, "not usable JSON: nested too deeply"),
        (WFFORMAT.replace("60", "6" + "0" * 5000), "not usable JSON: a number of thousands of digits"),
        (WFFORMAT.replace("60", "6" + "0" * 400), "sizeInBytes: 6000"),
        (WFFORMAT.encode() + b"\xff", "not valid JSON: byte "),
        ("<adag>" + "<a>" * 100_000 + "</a>" * 100_000 + "</adag>", "a graph without tasks"),
        (GRAPHML[:400], "not well-formed GraphML"),
        (HOSTS, "task 'b' has no host, as task 'a' has"),
        ("digraph {" + "{" * 3000 + "}" * 3000 + "}", "line 1: subgraphs are nested too deep; allowed: 100 within"),
        (b"digraph { a [size=1] \xff }", "not valid DOT: byte 21 is not UTF-8"),
        (gzip.compress(DOT.encode(), mtime=0)[:-9], "truncated"),
    ],
)
def test_files_without_a_graph_are_refused(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert says in refused(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_graph(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a directory, not a task graph"):
        read_graph(tmp_path)
    with pytest.raises(InputError, match="unknown format of task graphs 'yaml'"):
        read(tmp_path, DOT, format="yaml")


def test_work_of_run_times_is_by_the_speed_of_the_core(tmp_path: Path) -> None:
    for form in ("wfformat", "dax", "starpu"):
        assert read(tmp_path, TEXTS[form], core_gflops=2 * CORE_GFLOPS).gflop.tolist() == pytest.approx([2, 4, 6])
    assert_small(read(tmp_path, DOT, core_gflops=1.0))
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="core_gflops"):
            read(tmp_path, DOT, core_gflops=bad)


PREFIXED = DAX.replace("<", "<p:").replace("<p:/", "</p:").replace("<p:?", "<?").replace("<p:!", "<!")


@pytest.mark.parametrize(
    "text",
    [
        # Either side may name an edge of WfFormat.
        WFFORMAT.replace('"b", "name": "other", "parents": ["a"]', '"b", "name": "other", "parents": []'),
        WFFORMAT.replace('"children": ["b"]', '"children": []'),
        DAX.replace(' xmlns="http://pegasus.isi.edu/schema/DAX"', ""),
        PREFIXED.replace("xmlns=", "xmlns:p="),
        # A file's size may be known at either end; the writer's counts.
        DAX.replace('file="x" link="output" size="60"', 'name="x" link="output"'),
        DAX.replace('file="x" link="input" size="60"', 'name="x" link="input" size="61"'),
        DAX.replace('file="x" link="input"', 'file="x" link="inout"'),
        DAX.replace('file="x" link="output"', 'file="x" link="inout"'),
        DAX.replace("<!-- generated -->", "<!DOCTYPE adag>"),
        # An executable of DAX 3 is no file that a job writes or reads.
        DAX.replace('<uses file="w" link="input" size="1000"/>', '<uses name="w"/>'),
    ],
)
def test_other_forms_of_the_same_graph(tmp_path: Path, text: str) -> None:
    assert text not in TEXTS.values()
    assert_small(read(tmp_path, text))


def test_graphml_of_networkx(tmp_path: Path) -> None:
    theirs = nx.DiGraph()
    for name, flops, host in (("größe", 1e9, 1), ("b", 2e9, 0)):
        theirs.add_node(name, flops=flops, host=host, colour="red")
    theirs.add_edge("größe", "b", bytes=5, label="x")
    graph = read(tmp_path, "\n".join(nx.generate_graphml(theirs)), "my.graphml")
    expected = TaskGraph.from_networkx(theirs)
    assert graph.names == expected.names
    assert graph.gflop.tolist() == expected.gflop.tolist() == [1.0, 2.0]
    assert edges_of(graph) == edges_of(expected) == [("größe", "b", 5.0)]
    assert graph.host is not None
    assert graph.host.tolist() == [1, 0]


def test_dot_as_simgrid_writes_it(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        'digraph G {\nend [size="4e9"]; 0 [size="1000000000.5" category="taskA"];\n1 [size="2e9"];\n'
        '0->1 [size="10001.4"];\n1->end [size="-1"];\nroot->0 [size="-1."];\n0->end ;\n}\n',
    )
    assert graph.names == ("end", "0", "1", "root")
    assert graph.gflop.tolist() == [4.0, 1.0000000005, 2.0, 0.0]
    assert set(edges_of(graph)) == {("0", "1", 10001.4), ("1", "end", 0.0), ("root", "0", 0.0), ("0", "end", 0.0)}


def test_cores_of_dot_and_graphml(tmp_path: Path) -> None:
    graph = read(tmp_path, "digraph { a [size=1 host=2 core=0]; b [size=1 host=0, core=7] }")
    nx.write_graphml(graph.to_networkx(), tmp_path / "cores.graphml")
    for one in (graph, read_graph(tmp_path / "cores.graphml")):
        assert one.core is not None
        assert one.host is not None
        assert (one.host.tolist(), one.core.tolist()) == ([2, 0], [0, 7])


@each_format
def test_too_large_a_graph(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add = GraphRows.add_task

    def full(rows: GraphRows, name: object, *others: Any) -> None:
        if name == "c":
            raise MemoryError
        add(rows, name, *others)

    with monkeypatch.context() as patch:
        patch.setattr(GraphRows, "add_task", full)
        assert refused(tmp_path, TEXTS[form]) == (
            "the graph is too large for the memory of this machine, which was full after 2 tasks and 0 edges"
        )
    for limit, what in (("MAX_TASKS_PER_JOB", "tasks"), ("MAX_EDGES", "edges")):
        with monkeypatch.context() as patch:
            patch.setattr(f"als.graphs.readers.contract.{limit}", 1)
            assert f"more than 1 {what}; allowed: up to 1" in refused(tmp_path, TEXTS[form])


@each_format
def test_a_damaged_file_is_a_graph_or_one_line(tmp_path_factory: pytest.TempPathFactory, form: str) -> None:
    path, text = tmp_path_factory.mktemp("damaged") / "graph.txt", TEXTS[form].encode()

    @settings(max_examples=60)
    @given(st.integers(0, len(text) - 1), st.integers(0, 12), st.binary(max_size=4))
    def damage(place: int, length: int, put: bytes) -> None:
        path.write_bytes(text[:place] + put + text[place + length :])
        says = f"{path}: "
        try:
            assert read_graph(path).n_tasks <= 3
        except InputError as error:
            says = str(error)
        assert says.startswith(f"{path}: ")
        assert "\n" not in says

    damage()


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    for form, kind, number in (("wfformat", "json", 0), ("dax", "xml", 0), ("dot", "dot", 0), ("graphml", "xml", 1)):
        assert_small(read(tmp_path, blocks(PAGE, kind)[number], format=form))
    names: dict[str, Any] = {}
    exec(blocks(PAGE, "python")[0], names)
    assert_small(names["graph"])


def test_the_formats_and_limits_of_the_page() -> None:
    rows = table(section(PAGE, "What is taken from each format"))
    assert {row[0].strip("`"): {ending.strip("`.") for ending in row[2].split(", ")} for row in rows} == {
        form: {ending for ending, formats in readers.ENDINGS.items() if form in formats} for form in READERS
    }
    text = PAGE.read_text(encoding="utf-8")
    assert f"{CORE_GFLOPS} GFLOP/s" in text
    assert f"{MAX_EDGES // 10**6} million tasks or edges" in text
    assert readers.MAX_TEXT_BYTES == 2**30


def parsed(text: str) -> DotGraph:
    return parse_dot(text, ("size", "host"), lambda place, what: InputError(f"{place}: {what}" if place else what))


def refused_dot(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parsed(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def parsed_edges(graph: DotGraph) -> list[tuple[str, str, str]]:
    return [
        (producer, consumer, edges.attributes.get("size", ""))
        for edges in graph.edges
        for producer in edges.producers
        for consumer in edges.consumers
    ]


@pytest.mark.parametrize(("text", "edges"), table_rows(__file__, "edges"))
def test_edges(text: str, edges: list[str]) -> None:
    for head in ("digraph", "strict digraph G", 'DiGraph "a graph"', "STRICT digraph <b> ", "digraph 1"):
        found = parsed(f"{head} {{\n{text}\n}}")
        assert [f"{one} {other}" for one, other, _ in parsed_edges(found)] == edges


def test_lines_are_counted_through_strings_and_comments() -> None:
    assert refused_dot('digraph {\n/* \n */ a [x="\n\n", y=<\n>]\n# b\n// c\n=}').startswith("line 9: not DOT: '='")


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
    sizes = {}
    for name, node in found.nodes.items():
        for attributes in (node.defaults, *(stated for _, stated in node.statements)):
            sizes[name] = attributes.get("size", sizes.get(name, ""))
    assert sizes == {
        "a": "", "b": "1", "c": "1", "d": "2", "e": "2", "f": "1", "g": "1", "h": "3", "i": "5", "j": "5", "k": "6",
    }  # fmt: skip
    assert parsed_edges(found) == [("c", "d", "20"), ("a", "e", "20"), ("f", "g", "10")]
    assert found.nodes["h"].defaults == {"size": "3", "host": "1"}
    assert found.nodes["d"].statements == [(3, {}), (4, {"host": "4"})]


def test_subgraphs_are_as_deep_as_is_allowed() -> None:
    def nested(depth: int) -> str:
        return "digraph {" + "{" * depth + "a -> b" + "}" * depth + "}"

    assert parsed_edges(parsed(nested(MAX_DEPTH))) == [("a", "b", "")]
    for text in (nested(MAX_DEPTH + 1), nested(100_000), "digraph {" + "a -> {" * 100_000):
        assert "nested too deep; allowed: 100 within each other" in refused_dot(text)


# Texts that would need more than linear time if the expressions tried again what they have read.
@pytest.mark.parametrize(
    "part", ['"', "/*", "<", "\\", '"\\', "a", "1", "1.", "a-1", "-", '"a"+', "#", " ", "é", "->a", ":a", "//"]
)
def test_long_texts_that_go_wrong(part: str) -> None:
    for text in (f"digraph {{ {part * 20_000}", f'digraph {{ "{part * 20_000}', f"digraph {{ a [x={part * 20_000}"):
        assert "line 1: " in refused_dot(text)


WORDS_OF_DOT = (
    r"""a 1 .5 "b" <c> -> -- { } [ ] = ; , : + " < > \ node edge graph subgraph digraph strict size /* */ // # é"""
)
FRAGMENTS = (*WORDS_OF_DOT.split(" "), *("\n", " ", "\x00"))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25), st.sampled_from(("digraph {", "digraph { a -> ", "")))
def test_any_text_is_a_graph_or_one_line(fragments: list[str], head: str) -> None:
    says, found = "line 1: a graph", None
    try:
        found = parsed(head + "".join(fragments))
    except InputError as error:
        says = str(error)
    assert re.fullmatch(r"line [0-9]+: .+", says)
    if found is not None:
        assert set(found.nodes) >= {name for one, other, _ in parsed_edges(found) for name in (one, other)}


def test_a_text_longer_than_is_allowed_or_memory_can_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = len(DOT.encode())
    monkeypatch.setattr("als.graphs.readers.free_memory_bytes", lambda: 10 * n - 1)
    assert f"{n} bytes of text need about 0.0 GiB, and 0.0 are free" in refused(tmp_path, DOT)
    monkeypatch.setattr("als.graphs.readers.free_memory_bytes", lambda: 10 * n)
    assert read(tmp_path, DOT, "enough.dot").n_tasks > 0
    monkeypatch.setattr("als.graphs.readers.MAX_TEXT_BYTES", 2**20)
    bomb = gzip.compress(b"digraph {" + b" " * 2**24 + b"}")
    assert len(bomb) < 2**15
    assert "more than 1048576 bytes of text" in refused(tmp_path, bomb)
