"""Every reader of texts that others wrote: whatever stands in them, they are taken or refused in one line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from outside_texts import READ

from traces.base.errors import InputError, TwolevelError, shown
from traces.base.parsing import parse_json, parsing

pytestmark = pytest.mark.whole

PACKAGES = ("als", "bls", "bridge", "traces")
ROOT = Path(__file__).parents[2]

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
        ("run.json", '{"arguments": []}', "run.json: is not a record of twolevel run: arguments: []"),
        ("run.json, as it is watched", '{"metrics": "a"}', "run.json: is not a record of twolevel run: metrics: 'a'"),
        (
            "run.json, its story",
            '{"machine": {"first_core": [0, 1e999], "host_names": ["a"]}}',
            "which hosts the machine had",
        ),
        (
            "run.json, its story",
            '{"machine": {"first_core": [0, 4, 4], "host_names": ["a", "b"]}}',
            "which hosts the machine had",
        ),
        (
            "study.json",
            '{"format": 1, "name": "a", "study": "", "folders": [], "inputs": {}, "seeds": [1]}',
            "is not a record of twolevel study",
        ),
        (
            "study.json",
            '{"format": 1, "name": "a", "study": "", "folders": ["."], "inputs": {}, "seeds": [1]}',
            "study.json: [[workload]]: none",
        ),
        ("study", f'[run]\n{NINES} = 1\n[[workload]]\nfile = "sample"', f"[run] '{'9' * 58}…: "),
    ],
)
def test_what_is_wrong_with_a_record_or_a_study(tmp_path: Path, reader: str, text: str, message: str) -> None:
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
def test_what_is_wrong_with_json(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, "x")
    assert str(caught.value) == message


def test_characters_of_two_halves_are_whole() -> None:
    assert parse_json('["\\ud83d\\ude00", "\\\\ud800"]', "x") == ["😀", "\\ud800"]


def test_the_name_may_be_the_caller_s_to_add() -> None:
    with pytest.raises(InputError, match=r"\Anot usable TOML: nested too deeply\Z"), parsing("TOML", ""):
        raise RecursionError


def test_there_is_one_way_to_parse() -> None:
    """Who parses JSON, TOML or XML of others does it in ``parsing``, or by ``parse_json`` and ``parse_toml``."""
    # What we have written ourselves a moment ago, to another process of ours or beside machine code, checked by its digest.
    ours = {"bridge/workers/forkserver.py", "bridge/workers/launchers.py", "traces/kernels/shipped.py"}
    ours |= {"bridge/adapters/simgrid/process.py", "bridge/adapters/simgrid/inside/talk.py"}
    ours |= {"traces/kernels/store.py"}
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if not any(word in text for word in ("json.", "tomllib", "Parse(")):
                continue
            name, tree = str(path.relative_to(ROOT)), ast.parse(text)
            guarded = {
                id(inner)
                for outer in ast.walk(tree)
                if isinstance(outer, ast.With) and any("parsing(" in ast.unparse(item) for item in outer.items)
                for inner in ast.walk(outer)
            }
            found |= {
                f"{name}: {ast.unparse(call)}"
                for call in ast.walk(tree)
                if isinstance(call, ast.Call)
                and ast.unparse(call.func)
                in ("json.loads", "json.load", "json.decode", "tomllib.loads", "parser.Parse")
                and id(call) not in guarded
                and name not in ours
            }
    assert found == set()
