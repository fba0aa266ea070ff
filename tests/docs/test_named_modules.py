"""Modules and files that pages, docstrings and comments name exist."""

import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT

PACKAGES = "als|bls|bridge|traces|tools|tests"
_DOTTED = re.compile(rf"`~?((?:{PACKAGES})(?:\.(?!otf2|def)\w+)+)[`(\[]")
_PATH = re.compile(rf"\b((?:{PACKAGES}|docs)/[\w/.-]+\.(?:py|pyi|md|toml|csv|json|c))\b")
TEXTS = [page for page in PAGES if page.name != "CHANGELOG.md"]
SOURCES = [path for package in PACKAGES.split("|")[:4] for path in sorted((ROOT / package).rglob("*.py"))]


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or a name in the source of one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:n])
        source = next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)
        if source is not None:
            text = source.read_text(encoding="utf-8")
            stub = source.with_suffix(".pyi")
            text += stub.read_text(encoding="utf-8") if stub.is_file() else ""
            return n == len(parts) or re.search(rf"\b{parts[n]}\b", text) is not None
    return False


@pytest.mark.parametrize("files", [TEXTS, SOURCES], ids=["pages", "sources"])
def test_named_modules_and_files_exist(files: list[Path]) -> None:
    missing = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        missing += [f"{file.relative_to(ROOT)}: {name}" for name in _DOTTED.findall(text) if not resolves(name)]
        paths = (name for name in _PATH.findall(text) if not re.search(r"[A-Z]{3}", name.rpartition("/")[2]))
        missing += [f"{file.relative_to(ROOT)}: {name}" for name in paths if not (ROOT / name).is_file()]
    assert not missing, "\n".join(missing)
