"""What is done in one place of the code: files are written, and numbers that a user has written are read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for package in ("als", "bls", "bridge", "traces")
    for path in sorted((ROOT / package).rglob("*.py"))
}

#: Which files write without ``whole_file``, and why they may.
WRITE_OTHERWISE = {
    "bridge/archive/fetch.py": "continues a part that was loaded before",
    "bridge/live/file.py": "is replaced several times a second, and a run continues without it",
    "bridge/replay/clock.py": "is shared memory",
    "bridge/replay/controller.py": "is written by slurmctld",
    "bridge/replay/native.py": "is machine code in a cache, which is renamed",
    "bridge/workers/credentials.py": "is renamed, and refuses an existing file",
    "bridge/cli/workload/files.py": "is in a folder of fresh_file, which renames it",
    "bridge/cli/workload/generation.py": "is in a folder of fresh_file, which renames it",
    "traces/exporters/text.py": "is in a folder of made_beside, which renames it",
    "traces/kernels/shipped.py": "is part of a wheel that is built",
    "traces/kernels/store.py": "is machine code in a cache, which is renamed",
}

#: Which files read numbers of texts in their own way: the module itself, texts of programs, and numbers that plug-ins give.
READ_OTHERWISE = {
    "traces/base/ranges.py",
    "bridge/replay/report/page.py",
    "als/core_speeds/trace.py",
    "bridge/compare/page.py",
}
READ_OTHERWISE |= {"als/lengths/contract.py", "als/planners/contract.py", "als/techniques/contract.py"}


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def writes(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    modes = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    opens = name == "open" and any(re.fullmatch(r"[wxa]b?\+?", mode) for mode in modes)
    return opens or name in ("write_text", "write_bytes", "savefig", "to_parquet", "ParquetWriter")


def test_files_are_written_by_whole_file() -> None:
    found = []
    for name, text in FILES.items():
        if name in WRITE_OTHERWISE or not re.search(r"\bopen\(|write_(text|bytes)|savefig|parquet|ParquetWriter", text):
            continue
        words = map(ast.unparse, filter(writes, calls(ast.parse(text))))
        # ``partial`` is whole_file's name; a picture may be saved in memory.
        found += [(name, call) for call in words if not re.search(r"^write_text\(|partial|savefig\(data,", call)]
    assert found == []


def test_numbers_of_users_are_not_read_by_pythons_int_or_float() -> None:
    found = []
    for name, text in FILES.items():
        if name in READ_OTHERWISE or "ValueError" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Try) and any(
                "ValueError" in ast.unparse(one.type) for one in node.handlers if one.type
            ):
                tried = (call for statement in node.body for call in calls(statement))
                kinds = ("int", "float", "Decimal", "Fraction")
                found += [
                    (name, ast.unparse(one)) for one in tried if isinstance(one.func, ast.Name) and one.func.id in kinds
                ]
    assert found == []
