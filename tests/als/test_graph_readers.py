"""Files with task graphs: one small graph in every format, the DOT language, and everything that is wrong with others."""

from __future__ import annotations

import gzip
import re
import tomllib
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from graph_files import DAX, DOT, ENDINGS, GRAPHML, SPEED, TEXTS, wfformat
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section, table

from als.graphs import readers
from als.graphs.readers import CORE_GFLOPS, READERS, read_graph
from als.graphs.readers.contract import GraphRows
from als.graphs.readers.dot_language import MAX_DEPTH, DotGraph, parse_dot
from als.graphs.task_graph import MAX_EDGES, TaskGraph
from traces.base.errors import InputError

PAGE = ROOT / "docs" / "reference/graph-files.md"

SPECIFICATION = ("workflow", "specification")
EXECUTION = ("workflow", "execution")


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


def in_dot(statements: str) -> str:
    return f"digraph {{ a [size=1]; b [size=2]; {statements} }}"


def edges_of(graph: TaskGraph) -> list[tuple[str, str, float]]:
    return [
        (graph.label(a), graph.label(b), data)
        for a, b, data in zip(graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist(), strict=True)
    ]


def assert_small(graph: TaskGraph) -> None:
    assert graph.names == ("a", "b", "c")
    assert graph.gflop.tolist() == pytest.approx([1, 2, 3], rel=1e-15)
    assert edges_of(graph) == [("a", "b", 100.0), ("a", "c", 0.0)]
    assert graph.host is None


@pytest.mark.parametrize("form", READERS)
def test_the_same_graph_in_every_format(tmp_path: Path, form: str) -> None:
    for ending in (*ENDINGS[form], "txt", "graph"):
        graph = read(tmp_path, TEXTS[form], f"my.{ending}")
        assert_small(graph)
        assert graph.name == ("my" if ending in ENDINGS[form] else f"my.{ending}")
        packed = gzip.compress(TEXTS[form].encode())
        assert_small(read(tmp_path, packed, f"my.{ending}.gz", format=form))
        assert_small(read(tmp_path, packed, f"packed.{ending}"))
    assert_small(read(tmp_path, b"\xef\xbb\xbf" + TEXTS[form].encode()))
    assert_small(read(tmp_path, TEXTS[form].replace("\n", "\r\n")))


@pytest.mark.parametrize("form", READERS)
def test_a_format_that_is_mistaken_for_another(tmp_path: Path, form: str) -> None:
    for other in READERS:
        if other == form:
            continue
        message = refused(tmp_path, TEXTS[form], format=other)
        assert message.startswith("looks like ")
        assert message.endswith(f"allowed: {form}")
        for ending in set(ENDINGS[other]) - set(ENDINGS[form]):
            message = refused(tmp_path, TEXTS[form], f"my.{ending}")
            assert f"but is called .{ending}; allowed: " in message
            assert all(f".{own}" in message for own in ENDINGS[form])
            assert refused(tmp_path, gzip.compress(TEXTS[form].encode()), f"my.{ending}.gz")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("  \n", "no task graph: it is empty"),
        ("[1, 2]", "no task graph: it begins with '[1, 2]'; allowed: WfFormat (JSON), Pegasus DAX (XML)"),
        ("; Version: 2.2\n1 0 0", "no task graph: it begins with '; Version"),
        ("<svg><a/></svg>", "no task graph: it is XML with the root element 'svg'"),
        ("<", "no task graph: it begins with '<'"),
        ("graphite", "no task graph"),
        (b"\x00\x01\xff", "no task graph: it begins with"),
    ],
)
def test_what_looks_like_no_graph(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert refused(tmp_path, text).startswith(says)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_graph(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a directory, not a task graph"):
        read_graph(tmp_path)
    assert "truncated" in refused(tmp_path, gzip.compress(TEXTS["dot"].encode())[:-9])
    with pytest.raises(InputError, match="unknown format of task graphs 'yaml'"):
        read(tmp_path, DOT, format="yaml")


def test_work_of_run_times_is_by_the_speed_of_the_core(tmp_path: Path) -> None:
    for form in ("wfformat", "dax"):
        assert read(tmp_path, TEXTS[form], core_gflops=2 * SPEED).gflop.tolist() == pytest.approx([2, 4, 6])
    assert_small(read(tmp_path, DOT, core_gflops=1.0))
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="core_gflops"):
            read(tmp_path, DOT, core_gflops=bad)


# A task a -> b -> a in every format, an edge to nowhere, and so on: what is replaced by what.
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (wfformat(*SPECIFICATION, "tasks", 0, "parents", ["b"]), "the tasks a -> b -> a wait for each other"),
        (wfformat(*SPECIFICATION, "tasks", 0, "children", ["d"]),
         "workflow.specification.tasks[0]: edge 'a' -> 'd': there is no task 'd'"),
        (DAX.replace('<parent ref="a"/></child>\n</', '<parent ref="d"/></child>\n</'),
         "line 16: edge 'd' -> 'c': there is no task 'd'"),
        (DOT.replace("a -> c", "a -> d"), "line 6: task 'd' (named by an edge only): has no flops"),
        (GRAPHML.replace('target="c"', 'target="d"'), "line 10: edge 'a' -> 'd': there is no task 'd'"),
        (wfformat(*SPECIFICATION, "tasks", 1, "id", "a"), "workflow.specification.tasks[1]: a second task 'a'"),
        (DAX.replace('job id="b"', 'job id="a"'), "line 9: a second task 'a'"),
        (DOT.replace("b [size", "a [size"), "line 4: task 'a': is given twice"),
        (GRAPHML.replace('node id="b"', 'node id="a"'), "line 7: a second task 'a'"),
        (wfformat(*EXECUTION, "tasks", 1, "runtimeInSeconds", -1.5),
         "workflow.execution.tasks[1]: task 'a': runtimeInSeconds: -1.5 is out of range"),
        (DAX.replace(repr(1 / SPEED), "-1"), "line 4: job 'a': runtime: '-1' is out of range"),
        (DOT.replace("1e9", "-1"), "task 'a': size: '-1' is out of range"),
        (GRAPHML.replace("1e9", "-1"), "line 6: task 'a': flops: '-1' is out of range"),
        (wfformat(*SPECIFICATION, "files", 0, "sizeInBytes", -60), "file 'x': sizeInBytes: -60 is out of range"),
        (DAX.replace('size="60"', 'size="-60"'), "line 5: job 'a': uses 'x': size: '-60' is out of range"),
        (DOT.replace("100", "-100"), "line 5: edge 'a' -> 'b': size: '-100' is out of range"),
        (GRAPHML.replace(">100<", ">-100<"), "line 9: edge 'a' -> 'b': bytes: '-100' is out of range"),
        (wfformat(*EXECUTION, "tasks", 1, "runtimeInSeconds", ...), "task 'a' has no runtimeInSeconds"),
        (DAX.replace(f' runtime="{2 / SPEED!r}"', ""), "line 9: job 'b' has no runtime"),
        (DOT.replace(' [size="2e9"]', ""), "task 'b': has no flops"),
        (GRAPHML.replace('<data key="d0">2e9</data>', ""), "line 7: task 'b': has no flops"),
        (wfformat("workflow", {"specification": {"tasks": []}, "execution": {"tasks": []}}), "a graph without tasks"),
        (wfformat().replace('"a"', r'"a\u0007"'), r"tasks[0]: task: the name 'a\x07' holds control characters"),
        (DAX.replace('<child ref="c"', '<child ref="b"'), "edge 'a' -> 'b' is given twice"),
    ],
)  # fmt: skip
def test_what_is_no_graph_in_any_format(tmp_path: Path, text: str, says: str) -> None:
    assert says in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"workflow": ', "not valid JSON: "),
        ("{" + '"a":{' * 100_000, "not usable JSON: nested too deeply"),
        ('{"workflow": ' + "[" * 100_000, "not usable JSON: nested too deeply"),
        (wfformat().replace("60", "6" + "0" * 5000), "not usable JSON: a number of thousands of digits"),
        (wfformat().replace("60", "6" + "0" * 400), "sizeInBytes: 6000"),
        (wfformat().encode() + b"\xff", "not valid JSON: byte "),
        ('{"jobs": []}', "JSON without workflow, so no WfFormat"),
        (wfformat("schemaVersion", "1.4"), "WfFormat with schemaVersion '1.4'; allowed: '1.5'"),
        (wfformat("schemaVersion", ...), "WfFormat with no schemaVersion"),
        (wfformat("workflow", []), "workflow: []; allowed: an object"),
        (wfformat(*EXECUTION, ...), "workflow.execution: is missing; allowed: an object"),
        (wfformat(*EXECUTION, "tasks", {}), "workflow.execution.tasks: {}; allowed: a list"),
        (wfformat(*SPECIFICATION, "tasks", 1, 5), "workflow.specification.tasks[1]: 5; allowed: an object"),
        (wfformat(*SPECIFICATION, "tasks", 1, "id", ...), "workflow.specification.tasks[1]: id is missing"),
        (wfformat(*SPECIFICATION, "tasks", 1, "id", 3), "workflow.specification.tasks[1]: id 3; allowed: text"),
        (wfformat(*SPECIFICATION, "tasks", 1, "id", "d"), "task 'd' has no runtimeInSeconds in workflow.execution.tasks"),
        (wfformat(*EXECUTION, "tasks", 1, "id", "b"), "workflow.execution.tasks[2]: a second task 'b'"),
        (wfformat(*EXECUTION, "tasks", 1, "runtimeInSeconds", "1"), "runtimeInSeconds: '1' is text"),
        (wfformat(*EXECUTION, "tasks", 1, "runtimeInSeconds", True), "runtimeInSeconds: True is not a number"),
        (wfformat(*SPECIFICATION, "tasks", 0, "children", "b"), "task 'a': children: 'b'; allowed: a list of ids"),
        (wfformat(*SPECIFICATION, "tasks", 0, "children", [1]), "task 'a': children: [1]; allowed: a list of ids"),
        (wfformat(*SPECIFICATION, "tasks", 1, "inputFiles", ["q"]), "task 'b': inputFiles: there is no file 'q'"),
        (wfformat(*SPECIFICATION, "files", 1, "id", "x"), "workflow.specification.files[1]: a second file 'x'"),
        (wfformat(*SPECIFICATION, "files", 1, "sizeInBytes", ...), "file 'y' has no sizeInBytes"),
        (wfformat(*SPECIFICATION, "files", ...), "there is no file 'x' in workflow.specification.files"),
    ],
)  # fmt: skip
def test_what_is_no_wfformat(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert says in refused(tmp_path, text)


def test_edges_of_wfformat_are_those_that_either_side_names(tmp_path: Path) -> None:
    only_children = wfformat(*SPECIFICATION, "tasks", 1, "parents", [])
    only_parents = wfformat(*SPECIFICATION, "tasks", 0, "children", [])
    assert_small(read(tmp_path, only_children))
    assert_small(read(tmp_path, only_parents))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DAX.replace("</adag>", ""), "not well-formed DAX: no element found"),
        (DAX.replace(' size="60"', ""), "line 15: edge 'a' -> 'b': the file 'x' has no size"),
        (DAX.replace('link="output"', 'link="out"'), "line 5: job 'a': uses 'x': link 'out'; allowed: input, output, inout"),
        (DAX.replace(' file="x"', ""), "line 5: job 'a': uses without file or name"),
        (DAX.replace('job id="a" ', "job "), "line 4: a job without id"),
        (DAX.replace('child ref="b"', "child"), "line 15: a child without ref"),
        (DAX.replace('<parent ref="a"/></child>\n</', "<parent/></child>\n</"), "line 16: a parent without ref"),
        (DAX.replace('<child ref="b"', '<dax id="d" file="x"/><child ref="b"'), "line 15: a dax within the workflow"),
        (DAX.replace("UTF-8", "no-such-code"), "not well-formed DAX: unknown encoding"),
    ],
)  # fmt: skip
def test_what_is_no_dax(tmp_path: Path, text: str, says: str) -> None:
    assert says in refused(tmp_path, text)


def test_what_dax_may_look_like(tmp_path: Path) -> None:
    assert_small(read(tmp_path, DAX.replace(' xmlns="http://pegasus.isi.edu/schema/DAX"', "")))
    prefixed = DAX.replace("<", "<p:").replace("<p:/", "</p:").replace("<p:?", "<?").replace("<p:!", "<!")
    assert_small(read(tmp_path, prefixed.replace("xmlns=", "xmlns:p=")))
    # A file's size may be known at either end; that of what is written counts.
    assert_small(read(tmp_path, DAX.replace('file="x" link="output" size="60"', 'name="x" link="output"')))
    assert_small(read(tmp_path, DAX.replace('file="x" link="input" size="60"', 'name="x" link="input" size="61"')))
    assert_small(read(tmp_path, DAX.replace('file="x" link="input"', 'file="x" link="inout"')))
    assert_small(read(tmp_path, DAX.replace('file="x" link="output"', 'file="x" link="inout"')))
    assert_small(read(tmp_path, DAX.replace("<!-- generated -->", "<!DOCTYPE adag>")))
    # An executable of DAX 3 is no file that a job writes or reads.
    assert_small(read(tmp_path, DAX.replace('<uses file="w" link="input" size="1000"/>', '<uses name="w"/>')))


ENTITIES = """<?xml version="1.0"?>
<!DOCTYPE x [
 <!ENTITY a0 "lol">
 <!ENTITY a1 "&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;">
]>
"""


@pytest.mark.parametrize(
    "text", [ENTITIES + "<adag><job id='&a1;' runtime='1'/></adag>", ENTITIES + "<graphml>&a1;</graphml>"]
)
def test_xml_that_declares_entities_is_refused(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, text).startswith("line 3: declares the entity 'a0'")


def test_xml_that_is_nested_deep_does_no_harm(tmp_path: Path) -> None:
    depth = 100_000
    assert "a graph without tasks" in refused(tmp_path, "<adag>" + "<a>" * depth + "</a>" * depth + "</adag>")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GRAPHML.replace(' edgedefault="directed"', ""), "line 5: a graph of edgedefault none"),
        (GRAPHML.replace('"directed"', '"undirected"'), "line 5: a graph of edgedefault 'undirected'; allowed: 'directed'"),
        (GRAPHML.replace('target="c"', 'target="c" directed="false"'), "line 10: an undirected edge"),
        (GRAPHML.replace('<node id="c">', '<node id="c"><graph edgedefault="directed"/>'), "line 8: a second graph"),
        (GRAPHML.replace("</graphml>", '<graph edgedefault="directed"/></graphml>'), "line 12: a second graph"),
        (GRAPHML.replace('<edge source="a" target="c"/>', "<hyperedge/>"), "line 10: a hyperedge"),
        (GRAPHML.replace('key="d1"', 'key="d7"'), "line 9: data of the key 'd7', which the file does not declare"),
        (GRAPHML.replace("</data></node>", '</data><data key="d0">1</data></node>', 1), "a second flops of task 'a'"),
        (GRAPHML.replace('key id="d1"', 'key id="d0"'), "line 4: a second key 'd0'"),
        (GRAPHML.replace('<node id="a">', "<node>"), "line 6: node without id"),
        (GRAPHML.replace(' target="c"', ""), "line 10: edge without target"),
        (GRAPHML.replace("1e9", "1_0"), "flops: '1_0' is not a number"),
        (GRAPHML.replace("1e9", ""), "flops: '' is not a number"),
        (GRAPHML[:400], "not well-formed GraphML"),
        ("<graphml/>", "GraphML without a graph"),
        (GRAPHML.replace('attr.name="bytes"', 'attr.name="host"').replace('for="edge"', 'for="all"').replace(
            "1e9</data>", '1e9</data><data key="d1">0</data>'), "task 'b' has no host, as task 'a' has"),
    ],
)  # fmt: skip
def test_what_is_no_graphml(tmp_path: Path, text: str, says: str) -> None:
    assert says in refused(tmp_path, text)


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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("graph { a -- b }", "an undirected graph; allowed: a digraph"),
        ("digraph {a [size=1]} digraph {b [size=1]}", "line 1: a second graph; allowed: one in a file"),
        ("digraph {a [size=1]} and more", "line 1: not DOT: "),
        ("digraph {\na [size=1]\nb [[}", "line 3: not DOT: "),
        ("digraph { a [size=1e9] }", "line 1: not DOT: '1e9' is neither a name nor a number; allowed: in quotes, as numbers"),
        (in_dot('a [flops="1"]'), "task 'a': is given twice"),
        ("digraph { a [size=1, flops=1] }", "task 'a': has flops and size; allowed: one of them"),
        (in_dot("a -> b [size=1, bytes=1]"), "edge 'a' -> 'b': has bytes and size"),
        (in_dot("a [host=1]"), "task 'b' has no host, as task 'a' has"),
        (in_dot("b [host=1]"), "task 'a' has no host, as task 'b' has"),
        (in_dot("a [host=1] b [host=1 core=0]"), "task 'a' has no core, as task 'b' has; allowed: all or none"),
        (in_dot("a [host=1 core=-1] b [host=1 core=0]"), "task 'a': core: '-1'; allowed: a whole number from 0"),
        (in_dot("a [core=1] b [core=0]"), "cores, and no hosts; allowed: a core of a host, or a host alone"),
        (in_dot('a [host="1.5"] b [host=0]'), "task 'a': host: '1.5'; allowed: a whole number"),
        ("digraph { a -> b;\nb [size=1];\na [size=big] }", "line 3: task 'a': size: 'big' is not a number"),
        ("digraph { a [size=big] }", "task 'a': size: 'big' is not a number"),
        ("digraph {" + "{" * 3000 + "}" * 3000 + "}", "line 1: subgraphs are nested too deep; allowed: 100 within"),
        (b"digraph { a [size=1] \xff }", "not valid DOT: byte 21 is not UTF-8"),
        (in_dot("a -> a"), "the task a waits for itself"),
    ],
)  # fmt: skip
def test_what_is_no_dot(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert says in refused(tmp_path, text)


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
    assert graph.core is not None
    assert graph.core.tolist() == [0, 7]
    path = tmp_path / "cores.graphml"
    nx.write_graphml(graph.to_networkx(), path)
    again = read_graph(path)
    assert again.core is not None
    assert again.host is not None
    assert (again.host.tolist(), again.core.tolist()) == ([2, 0], [0, 7])


@pytest.mark.parametrize("form", READERS)
def test_what_does_not_fit_into_memory_is_one_line(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add = GraphRows.add_task

    def full(rows: GraphRows, name: object, *others: Any) -> None:
        if name == "c":
            raise MemoryError
        add(rows, name, *others)

    monkeypatch.setattr(GraphRows, "add_task", full)
    assert refused(tmp_path, TEXTS[form]) == (
        "the graph is too large for the memory of this machine, which was full after 2 tasks and 0 edges"
    )


@pytest.mark.parametrize(("limit", "what"), [("MAX_TASKS_PER_JOB", "tasks"), ("MAX_EDGES", "edges")])
@pytest.mark.parametrize("form", READERS)
def test_too_large_a_graph(tmp_path: Path, form: str, limit: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"als.graphs.readers.contract.{limit}", 1)
    assert f"more than 1 {what}; allowed: up to 1" in refused(tmp_path, TEXTS[form])


@pytest.mark.parametrize("form", READERS)
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


@pytest.mark.parametrize(
    ("form", "kind", "number"), [("wfformat", "json", 0), ("dax", "xml", 0), ("dot", "dot", 0), ("graphml", "xml", 1)]
)
def test_the_examples_of_the_page(tmp_path: Path, form: str, kind: str, number: int) -> None:
    assert_small(read(tmp_path, blocks(PAGE, kind)[number], format=form))


def test_the_python_of_the_page() -> None:
    names: dict[str, Any] = {}
    exec(blocks(PAGE, "python")[0], names)
    assert_small(names["graph"])


def test_the_formats_and_limits_of_the_page() -> None:
    rows = table(section(PAGE, "What is taken from each format"))
    assert {row[0].strip("`") for row in rows} == set(READERS)
    assert {row[0].strip("`"): {ending.strip("`.") for ending in row[2].split(", ")} for row in rows} == {
        form: {ending for ending, formats in readers.ENDINGS.items() if form in formats} for form in READERS
    }
    text = PAGE.read_text(encoding="utf-8")
    assert f"{CORE_GFLOPS} GFLOP/s" in text
    assert f"{MAX_EDGES // 10**6} million tasks or edges" in text
    assert readers.MAX_TEXT_BYTES == 2**30


KEPT = ("size", "host")


def parsed(text: str) -> DotGraph:
    return parse_dot(text, KEPT, lambda place, what: InputError(f"{place}: {what}" if place else what))


def refused_dot(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parsed(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


def parsed_edges(graph: DotGraph) -> list[tuple[str, str, str]]:
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
    assert sizes_of(found) == {
        "a": "", "b": "1", "c": "1", "d": "2", "e": "2", "f": "1", "g": "1", "h": "3", "i": "5", "j": "5", "k": "6",
    }  # fmt: skip
    assert parsed_edges(found) == [("c", "d", "20"), ("a", "e", "20"), ("f", "g", "10")]
    assert found.nodes["h"].defaults == {"size": "3", "host": "1"}
    assert found.nodes["d"].statements == [(3, {}), (4, {"host": "4"})]


def test_subgraphs_are_as_deep_as_is_allowed() -> None:
    def nested(depth: int) -> str:
        return "digraph {" + "{" * depth + "a -> b" + "}" * depth + "}"

    assert parsed_edges(parsed(nested(MAX_DEPTH))) == [("a", "b", "")]
    for depth in (MAX_DEPTH + 1, 100_000):
        assert "nested too deep; allowed: 100 within each other" in refused_dot(nested(depth))
    assert "nested too deep" in refused_dot("digraph {" + "a -> {" * 100_000)


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
    says = ""
    try:
        found = parsed(head + "".join(fragments))
    except InputError as error:
        says = str(error)
    if says:
        assert re.fullmatch(r"line [0-9]+: .+", says)
    else:
        assert set(found.nodes) >= {name for one, other, _ in parsed_edges(found) for name in (one, other)}


def test_too_long_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("als.graphs.readers.MAX_TEXT_BYTES", 2**20)
    bomb = gzip.compress(b"digraph {" + b" " * 2**24 + b"}")
    assert len(bomb) < 2**15
    assert "more than 1048576 bytes of text" in refused(tmp_path, bomb)


def test_a_text_longer_than_memory_can_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS["dot"]
    monkeypatch.setattr("als.graphs.readers.free_memory_bytes", lambda: 10 * len(text.encode()) - 1)
    assert f"{len(text.encode())} bytes of text need about 0.0 GiB, and 0.0 are free" in refused(tmp_path, text)
    monkeypatch.setattr("als.graphs.readers.free_memory_bytes", lambda: 10 * len(text.encode()))
    (tmp_path / "enough.dot").write_text(text, encoding="utf-8")
    assert read_graph(tmp_path / "enough.dot").n_tasks > 0
