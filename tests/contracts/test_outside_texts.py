"""Readers of texts that others write: whole texts are taken, hostile and spoilt ones are taken or refused in one line."""

import bz2
import gzip
import io
import json
import lzma
import re
import resource
import shutil
import signal
from atexit import register
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import pytest
from command_line import succeeds
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks
from tables import table_rows, table_text

from als.core_speeds import core_speeds
from als.graphs.readers import READERS as GRAPH_READERS
from als.graphs.readers import read_graph
from als.lengths.fixed import read_lengths
from als.programs.program import Program
from bls.constraints.advance_reservations import load_windows
from bls.constraints.outages import read_outages
from bls.constraints.resource_requests import read_request_file, requests
from bls.machine.platform import HostGroup, Platform, load_platform
from bls.policies.multifactor.settings import Multifactor
from bls.power.job_power import job_power
from bls.power.limits import read_limits
from bls.power.signals import read_signals
from bls.workloads import READERS, read_workload
from bls.workloads.readers.tables.column_map import read_map
from bls.workloads.workload import Workload
from bridge.cli.config_file import options_of_file
from bridge.cli.run_commands import run_command
from bridge.compare.record import differing, read_run
from bridge.live.file import FILE
from bridge.live.watch import watch_run
from bridge.runs.directory import ours_in
from bridge.runs.stored import hosts, run_title
from bridge.runs.story import story_of_results
from bridge.scenarios.application_map import load_application_map
from bridge.studies.input.named_files import names_in
from bridge.studies.input.study_file import load_study, parse_study
from bridge.studies.journal import JOURNAL, Journal
from bridge.studies.run_study import run_study
from bridge.studies.study_record import RECORD, read_study_record
from traces.base.errors import InputError, TwolevelError, shown
from traces.base.given_file import parse_json, parsing

pytestmark = pytest.mark.whole

MACHINE = Platform((HostGroup(8, 32, 100.0),))
WITH_GPUS = Platform((HostGroup(8, 32, 100.0, gpus=4, gpu="a100"), HostGroup(1, 8, 100.0, gpus=1, gpu="v100")))

#: What files that name jobs are read with.
JOBS = Workload.from_jobs([(number, 0, 1, 8, 1) for number in (1, 2, 3, 17, 20, 21, 22)])


def _in_folder(path: Path, name: str, folder: str = "r") -> Path:
    """The text as the file ``name`` of a new folder; beside it the other files of a run."""
    new = path.parent / folder
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(_made() / "run", new)
    path.replace(new / name)
    return new


_STUDY = table_text(__file__, "study")


@cache
def _made() -> Path:
    folder = TemporaryDirectory(prefix="twolevel-texts-")
    register(folder.cleanup)
    made = Path(folder.name)
    succeeds("run", "sample", "--select", "first:5", "--als", "gss", "--trace", "none", "--out", made / "run")
    assert run_study(parse_study(_STUDY, [made], "small"), made / "study").failed == 0
    return made


def _journal(path: Path) -> None:
    folder = path.parent / "study"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with Journal(folder):
        pass
    with (folder / JOURNAL).open("ab") as file:
        file.write(path.read_bytes().replace(b"\n", b" ") + b"\n")
    with Journal(folder):
        pass


def _whole_journal(path: Path) -> None:
    folder = path.parent / "whole"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path.replace(folder / JOURNAL)
    with Journal(folder) as journal:
        list(journal.entries(iter(journal.finished)))


def _record(path: Path) -> None:
    folder = _in_folder(path, "run.json")
    ours_in(folder)
    run = read_run(folder)
    differing(run, read_run(_made() / "run"))
    run.metric("makespan_ns")
    run_title(run.record)
    hosts(folder)


def _story(path: Path) -> None:
    story_of_results(_in_folder(path, "run.json"), "1")


def _watched(path: Path) -> None:
    folder = _in_folder(path, "run.json")
    for as_json in (False, True):
        watch_run(folder, once=True, as_json=as_json, stream=io.StringIO())


def _under_way(path: Path) -> None:
    folder = _in_folder(path, FILE, ".w.partial-1")
    (folder / "run.json").unlink()
    for as_json in (False, True):
        watch_run(folder.with_name("w"), once=True, as_json=as_json, stream=io.StringIO())


READ: dict[str, Callable[[Path], object]] = {
    "platform": load_platform,
    "AccaSim's system": lambda path: load_platform(path.replace(path.with_suffix(".json"))),
    "study": load_study,
    "application map": load_application_map,
    "options": lambda path: options_of_file(str(path), run_command),
    "windows": lambda path: load_windows(path, MACHINE),
    "multifactor": lambda path: Multifactor.from_toml(path.read_text("utf-8", "replace"), str(path)),
    "program": lambda path: Program.from_json(path.read_text("utf-8", "replace")),
    "outages": lambda path: read_outages(path, MACHINE),
    "limits": lambda path: read_limits(path, 10**6, lambda _part, _where: 10**6),
    "signals": read_signals,
    "job power": lambda path: job_power(path, JOBS, JOBS.job_id),
    "requests": lambda path: read_request_file(
        path, JOBS, ["unit_cores", "gpu", "memory_gb", "memory_kb", "matlab"], JOBS.job_id
    ),
    "requests of GPUs": lambda path: requests(JOBS, WITH_GPUS, path=path),
    "speeds": lambda path: core_speeds([f"trace:{path}"], 4, 0),
    "lengths": read_lengths,
    "files in a file": lambda path: names_in(str(path), [path.parent]),
    "graph": read_graph,
    **{f"graph as {name}": lambda path, name=name: read_graph(path, format=name) for name in GRAPH_READERS},
    "map of columns": read_map,
    **{f"log as {name}": lambda path, name=name: read_workload(path, format=name) for name in READERS},
    "run.json": _record,
    "run.json, its story": _story,
    "run.json, as it is watched": _watched,
    "live.json": _under_way,
    "study.json": lambda path: read_study_record(_in_folder(path, RECORD)).study(),
    "journal": _whole_journal,
    "a line of a journal": _journal,
}


_LOGS = ROOT / "tests/bls/tables/logs"

_SWF = "; MaxProcs: 64\n; UnixStartTime: 1000000000\n" + "".join(
    f"{number} {10 * number} 5 60 {number} 55.5 1000 8 120 2000 1 {number} 2 3 1 1 -1 -1\n" for number in range(1, 6)
)

_GWF = "".join(
    f"{number} 100 5 60 4 -1 -1 8 120 -1 1 ann g1 app q1 p1 s1 s2 UNITARY{8 * ' -1'} vo1 pr1\n".replace(" ", "\t")
    for number in range(1, 5)
)


def _kept(name: str) -> str:
    return (Path(__file__).parent / "texts" / name).read_text("utf-8")


def _of_page(name: str, kind: str, *words: str) -> list[str]:
    return [text for text in blocks(ROOT / name, kind) if any(word in text for word in words)]


def zstandard(data: bytes) -> bytes:
    import pyarrow as pa

    return bytes(pa.compress(data, "zstd", asbytes=True))


@cache
def whole_texts() -> dict[str, list[bytes]]:
    """Texts that each reader of :data:`READ` takes, those of the pages and others."""
    inputs, graphs = "docs/reference/inputs.md", "docs/reference/graph-files.md"
    made = _made()
    record, journal = (made / "run" / "run.json").read_text(), (made / "study" / JOURNAL).read_text()
    maps = [
        *_of_page("docs/reference/applications.md", "toml", "[[application]]"),
        *_of_page("docs/reference/graphs.md", "toml", "[[application]]"),
    ]
    form = {
        "wfformat": _of_page(graphs, "json", "workflow"),
        "dax": _of_page(graphs, "xml", "<adag"),
        "starpu": _of_page(graphs, "text", "Name: "),
        "dot": [*_of_page(graphs, "dot", "digraph"), *_of_page("docs/reference/graphs.md", "dot", "digraph")],
        "graphml": _of_page(graphs, "xml", "<graphml"),
    }
    # The old dump has what Slurm wrote before, and names that have marks and line breaks in them.
    sacct = [*map(_kept, ("new.sacct", "old.sacct", "sacct.json"))]
    live = json.loads(_kept("live.json"))
    tables = [(_LOGS / name).read_text("utf-8") for name in ("helios.csv", "philly.json", "google-2019.csv")]
    logs = {"swf": [_SWF], "sacct": sacct, "gwf": [_GWF], "batsim": [_kept("batsim.json")], "table": tables}
    studies = _of_page("docs/reference/studies.md", "toml", "[study]")
    texts = {
        "platform": [
            *_of_page(inputs, "toml", "[[hosts]]"),
            *_of_page("docs/explanation/model.md", "toml", "[[hosts]]"),
            *_of_page("docs/explanation/topology.md", "toml", "[[hosts]]"),
        ],
        "AccaSim's system": _of_page(inputs, "json", "system_name"),
        "study": studies,
        "application map": maps,
        "options": _of_page("docs/reference/cli.md", "toml", "tasks-per-core"),
        "map of columns": _of_page(inputs, "toml", "[columns]"),
        "windows": _of_page(inputs, "toml", "[[reservation]]"),
        "multifactor": _of_page(inputs, "toml", "fairshare"),
        "program": _of_page("bridge/PROTOCOL.md", "json", "phases"),
        "outages": _of_page(inputs, "csv", "down_s"),
        "limits": _of_page("docs/reference/power.md", "csv", "limit_w"),
        "signals": _of_page("docs/reference/power.md", "csv", "price_per_kwh"),
        "job power": _of_page("docs/reference/power.md", "csv", "memory_bound"),
        "requests": _of_page(inputs, "csv", "unit_cores"),
        "requests of GPUs": _of_page(inputs, "csv", "gpus_per_task"),
        "speeds": _of_page("docs/reference/core-speeds.md", "csv", "factor"),
        "lengths": ["1\n2.5\n1e3\n\n0.25\n"],
        "files in a file": [*maps, *studies],
        "graph": [text for of in form.values() for text in of],
        **{f"graph as {name}": of for name, of in form.items()},
        **{f"log as {name}": of for name, of in logs.items()},
        "run.json": [record],
        "run.json, its story": [record],
        "run.json, as it is watched": [record],
        "live.json": [json.dumps(live), json.dumps(live | dict.fromkeys(("setting", "pulse", "look")))],
        "study.json": [(made / "study" / RECORD).read_text()],
        "journal": [journal],
        "a line of a journal": journal.splitlines()[1:2],
    }
    packers: tuple[Callable[[bytes], bytes], ...] = (
        partial(gzip.compress, mtime=0),
        lzma.compress,
        bz2.compress,
        zstandard,
    )
    packed = {f"log as {name}": [packer(of[0].encode()) for packer in packers] for name, of in logs.items()}
    return {name: [text.encode() for text in of] + packed.get(name, []) for name, of in texts.items()}


DIGITS, NINES = "9" * 5000, "9" * 4000
HOSTILE = {
    "nothing": "",
    "no UTF-8": b"\xff\xfe\x00",
    "a NUL": "\0",
    "many digits": DIGITS,
    "fewer digits": NINES,
    "many digits of a key of JSON": f'{{"a": {DIGITS}, "format": {DIGITS}}}',
    "many digits of a key of TOML": f"[study]\nseeds = {DIGITS}",
    "fewer digits of a key of TOML": f"[study]\nseeds = {NINES}",
    "hexadecimal digits of TOML": f"[study]\nseeds = 0x{'f' * 9000}",
    "a large exponent in JSON": '{"jobs": [], "profiles": {}, "a": 1e9999999999999999999}',
    "a large exponent in TOML": "a = 1e9999999999999999999",
    "deep lists": "[" * 5000,
    "deep lists of JSON": '{"a": ' + "[" * 5000,
    "deep objects of JSON": '{"a": ' * 5000,
    "less deep lists of JSON": "[" * 900 + "]" * 900,
    "deep lists of TOML": "a = " + "[" * 5000,
    "less deep lists of TOML": "[study]\nname = " + "[" * 280 + "]" * 280,
    "deep tables of TOML": "a = " + "{a = " * 5000,
    "deep keys of TOML": "[" + "a." * 5000 + "a]",
    "half a character of JSON": '{"system_name": "\\ud800", "groups": {"g": {"core": 1}}, "resources": {"g": 1}}',
    "deep elements": "<graphml>" + "<graph>" * 5000,
    "deep DOT": "digraph {" * 5000,
    "a number of DOT": f"digraph {{ a [weight={DIGITS}] }}",
    "CSV": f"host,down_s,up_s\n{DIGITS},0,1\n",
    "CSV of speeds": f"time_s,core,factor\n0,{DIGITS},1\n",
    "CSV of requests": f"job_id,memory_kb\n{DIGITS},{DIGITS}\n",
    "a field of CSV": f'"{"a" * 200_000}"\n',
    "SWF": f"; UnixStartTime: {DIGITS}\n; MaxProcs: {DIGITS}\n; field {DIGITS}: x\n{' '.join([DIGITS] * 18)}\n",
    "a date of TOML": "a = 9999-99-99",
}


@pytest.mark.parametrize("reader", READ)
def test_a_hostile_text_is_taken_or_refused_in_one_line(tmp_path: Path, reader: str) -> None:
    for number, (what, text) in enumerate(HOSTILE.items()):
        path = tmp_path / str(number) / "x.txt"
        path.parent.mkdir()
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            READ[reader](path)
        except TwolevelError as error:
            message = str(error)
            assert "\n" not in message, what
            assert len(message) < 900 + 2 * len(str(path)), what  # it may name all options of a command
            message.encode()
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {shown(str(error))}") from error


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        *table_rows(__file__, "records"),
        ("study", f'[run]\n{NINES} = 1\n[[workload]]\nfile = "sample"', f"[run] '{'9' * 58}…: "),
    ],
)
def test_faulty_records_and_studies_are_described(tmp_path: Path, reader: str, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        READ[reader](tmp_path / "x.txt")


def test_a_metric_that_is_none_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(f'{{"metrics": {{"jobs": "3", "makespan_ns": {NINES}, "utilisation": 0.5}}}}')
    READ["run.json, as it is watched"](tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 5000, "x: not usable JSON: nested too deeply"),
        (DIGITS, "x: not usable JSON: a number of thousands of digits"),
        (b'{"a": "\xff"}', "x: not valid JSON: byte 7 is not UTF-8"),
        ('["\\uD83D"]', r"x: not valid JSON: '\ud83d' is no text in UTF-8"),
        ('{\n"a": -Infinity}', "x: not valid JSON: -Infinity is no number"),
        ('{"a": 1, "b": [{"c": 1, "d": 2, "c": 1}]}', "x: not valid JSON: c: given twice"),
        ("{\n", "x: not valid JSON: Expecting property name enclosed in double quotes (at line 2, column 1)"),
    ],
)
def test_faulty_json_is_described(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, "x")
    assert str(caught.value) == message


def test_characters_of_two_halves_are_whole() -> None:
    assert parse_json('["\\ud83d\\ude00", "\\\\ud800"]', "x") == ["😀", "\\ud800"]


def test_the_name_may_be_the_caller_s_to_add() -> None:
    with pytest.raises(InputError, match=r"\Anot usable TOML: nested too deeply\Z"), parsing("TOML", ""):
        raise RecursionError


# Texts that were good until something happened to them.

#: Each example spoils this number of texts; of the soak, which takes twenty times as many examples, these are 350,000 in all.
EXAMPLES, TEXTS = 60, 10

#: Seconds of processor time that nothing as small as these texts may take, and MiB that no reader may need for them all.
LONGEST_S, LARGEST_MIB = 20, 400

#: Number of words of a text that become this long: longer than any file name, and with digits than any float, yet a number.
WORDS, LONG = 200, 3000

#: Bytes that are found in texts now and then, and matter to some reader.
ODD_BYTES = (
    b"\xff", b"\0", b"\xef\xbb\xbf", b"\r", b"\n", b"\xe2\x80\xae", b"\x1b[31m", b"\x85", b"\xe2\x80\xa8", b'"', b"'", b"'''",
    b"\\", b"\\u", b"#", b";", b",", b"|", b"[", b"{", b"]", b"}", b"<", b">", b"&", b"=", b":", b"-", b"/", b"%s", b"$(",
    b"\t", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"a" * 70_000,
)  # fmt: skip

#: What may stand for a word or a number.
ODD_WORDS = (
    b"-1", b"0", b"-0", b"0.5", b"1e-320", b"1e308", b"1e400", b"nan", b"-inf", b"NaN", b"Infinity", b"2147483648",
    b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"1" * 40, b"9" * 5000, b"1_0", b"0x10", b"1e3",
    b"\xd9\xa1", b"true", b"null", b'""', b'"a"', b"'", b"[]", b"{}", b"[[]]", b'["a"]', b"{a = 1}", b"1979-05-27",
    b"07:32:00", b'"1h"', b'"0-3"', b'"3-1"', b'"-"', b"sample", b'"sample"', b"x.py:y", b'"x.py:y"', b"/dev/null/x", b"..",
    b"a b", b"None", b"__class__", b"a" * 300, b'"\x1b[31m"', b'"\\u0007"', b'"\\ud800"', b'"\\n"',
)  # fmt: skip

ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e308, 2**31, 2**63 - 1, 2**63, 10**400, "", "a", "1", "\0", "\x1b[31m", "\u202e", "\n", "-", [],
    {}, [[]], [1], ["a"], {"a": 1}, [None], "a" * 300, -(2**63) - 1,
)  # fmt: skip

WORD = re.compile(rb'[\w.+-]+|"[^"\n]*"|\s+|.', re.DOTALL)


def word(text: bytes, at: int, what: int) -> bytes:
    """A word is an odd one, another one, or not there."""
    words = WORD.findall(text[:100_000])
    solid = [k for k, one in enumerate(words) if not one.isspace()]
    if not solid:
        return text
    k, (which, how) = solid[at % len(solid)], divmod(what, 3)
    words[k] = (ODD_WORDS[which % len(ODD_WORDS)], words[solid[which % len(solid)]], b"")[how]
    return b"".join(words)


def line(text: bytes, at: int, what: int) -> bytes:
    """A line is elsewhere, once or several times."""
    lines = text.splitlines(keepends=True) or [b""]
    taken, (place, times) = lines.pop(at % len(lines)), divmod(what, 4)
    place %= len(lines) + 1
    lines[place:place] = [taken] * ((1, 2, 3, 300)[times] if len(text) < 100_000 else 1)  # not beyond any memory
    return b"".join(lines)


def value(text: bytes, at: int, what: int) -> bytes:
    """A value of JSON is an odd one, another one, renamed, or not there; in another text a word is."""
    try:
        content = json.loads(text)
        places = _places(content)
    except (ValueError, RecursionError):
        return word(text, at, what)
    if not places:
        return text
    (holder, key), (which, how) = places[at % len(places)], divmod(what, 4)
    odd, (there, of) = ODD_VALUES[which % len(ODD_VALUES)], places[which % len(places)]
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = json.loads(json.dumps(there[of]))
    elif how == 2 and isinstance(holder, dict):
        holder[str(odd)] = holder.pop(key)
    else:
        holder[key] = odd
    return json.dumps(content).encode()


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every value within a JSON text, by what holds it and where."""
    found, left = [], [content]
    while left:
        one = left.pop()
        inner = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        found += [(one, key) for key in inner]
        left += [one[key] for key in inner]
    return found


Spoil = Callable[[bytes, int, int], bytes]

#: What may happen to a text: to a bit, to some bytes, to a word, to a line, to a value.
SPOILS: tuple[Spoil, ...] = (
    lambda text, at, what: text[:at] + bytes(one ^ 1 << what % 8 for one in text[at : at + 1]) + text[at + 1 :],
    lambda text, at, what: text[:at] + ODD_BYTES[what % len(ODD_BYTES)] + text[at:],
    lambda text, at, what: text[:at] + text[at + 1 + what % 40 :],
    lambda text, at, what: text[:at],
    lambda text, at, what: text[: at + 1 + what % 200] + text[at:],
    *(line, word, word, word, word, value, value, value, value, value),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a text is written in every example."""
    return tmp_path_factory.mktemp("spoilt")


@pytest.fixture(scope="module", autouse=True)
def _bounded() -> Iterator[None]:
    """Interrupt code that takes too long, as far as Python can; check its memory at the end."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"more than {LONGEST_S} s of processor time")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handler = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < LARGEST_MIB * 1024


def read(reader: str, path: Path, text: bytes) -> str:
    path.write_bytes(text)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        READ[reader](path)
    except TwolevelError as error:
        return str(error) or "nothing"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {shown(str(error))} of {text[:5000]!r}") from error
    return ""


def check(reader: str, path: Path, text: bytes) -> None:
    """That a text is taken, or refused in one line, not too long, that names the file."""
    said, folder = read(reader, path, text), str(path.parent)
    stated = f"{said[:2000]!r} of {text[:5000]!r}"
    assert said.isprintable(), stated
    assert len(said) < 900 + 2 * len(folder), stated
    assert not said or reader == "program" or folder in said, stated


@pytest.mark.parametrize("reader", READ)
def test_whole_texts_are_taken(tmp_path: Path, reader: str) -> None:
    assert whole_texts()[reader]
    for text in whole_texts()[reader]:
        assert read(reader, tmp_path / "x.txt", text) == ""


@pytest.mark.parametrize("reader", READ)
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**64 - 1))
def test_a_spoilt_text_is_taken_or_refused_in_one_line(folder: Path, reader: str, seed: int) -> None:
    draw = Random(seed)
    for _ in range(TEXTS):
        text = draw.choice(whole_texts()[reader])
        for _ in range(draw.randint(1, 4)):
            text = draw.choice(SPOILS)(text, draw.randrange(len(text) + 1), draw.randrange(2000))
        check(reader, folder / "x.txt", text)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.release)])
@pytest.mark.parametrize("reader", READ)
def test_long_words_in_any_field(folder: Path, reader: str, every: int) -> None:
    for text in whole_texts()[reader]:
        words = WORD.findall(text[:100_000])
        solid = [k for k, word in enumerate(words) if not word.isspace()][:WORDS]
        for k, how in list(product(solid, range(3)))[::every]:
            longer = words[k][:-1] + b"a" * LONG + words[k][-1:]
            new = (longer, b"9" * LONG, b'"' + b"a" * LONG + b'"')[how]
            check(reader, folder / "x.txt", b"".join([*words[:k], new, *words[k + 1 :]]))
