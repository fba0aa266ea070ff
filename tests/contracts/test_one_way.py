"""Tasks with one place in the code: writing files, and reading numbers of users."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tables import table_rows

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for package in ("als", "bls", "bridge", "traces")
    for path in sorted((ROOT / package).rglob("*.py"))
}

#: Which files write without ``whole_file``, and why they may; and which read numbers of texts in their own way.
WRITE_OTHERWISE = dict(table_rows(__file__, "write_otherwise"))
READ_OTHERWISE = table_rows(__file__, "read_otherwise")


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
        found += [
            (name, call) for call in words if not re.search(r"^(formatter\.)?write_text\(|partial|savefig\(data,", call)
        ]
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
