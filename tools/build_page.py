"""Build the script and the style of report pages from ``tools/page``: ``make page``.

``bridge/report/assets`` holds the result, so that users do not need Node.js; a test builds it again and compares. The packages
of ``tools/page/package-lock.json`` are installed under ``.venv``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tools" / "page"
ASSETS = ROOT / "bridge" / "report" / "assets"
#: Entry points and their output files.
BUILT = {"src/page.ts": "page.js", "src/page.css": "page.css"}


def installed() -> Path:
    """The folder in which the packages of ``package-lock.json`` are installed, once per version of the file."""
    lock = (SOURCE / "package-lock.json").read_bytes()
    folder = Path(sys.prefix) / f"page-tools-{hashlib.sha256(lock).hexdigest()[:8]}"
    done = folder / "installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, folder)
        npm = Path(sys.prefix) / "bin" / "npm"
        command = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=folder, env=environment(), check=True)
        done.touch()
    return folder / "node_modules"


def environment() -> dict[str, str]:
    """The present environment, with the virtual environment's Node.js first in PATH."""
    return {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def build(assets: Path) -> None:
    """Check the types, then write the bundles, the licences of packages and the definitions of metrics to `assets`."""
    modules = installed()
    assets.mkdir(parents=True, exist_ok=True)
    # Compilers resolve imports in the folders above the sources, so the sources are copied there.
    with tempfile.TemporaryDirectory(dir=modules.parent) as place:
        shutil.copytree(SOURCE, place, dirs_exist_ok=True)
        packages = bundle(Path(place), modules, assets)
    (assets / "licences.txt").write_text(licences(modules, packages), encoding="utf-8")
    text = json.dumps(definitions(), indent=1, ensure_ascii=False)
    (assets / "definitions.json").write_text(f"{text}\n", encoding="utf-8")


def bundle(place: Path, modules: Path, assets: Path) -> set[str]:
    """Check the types of the sources and bundle them; returns the names of the bundled packages."""
    subprocess.run([modules / ".bin/tsc", "--project", place], env=environment(), check=True)
    packages: set[str] = set()
    for source, target in BUILT.items():
        options = ["--bundle", "--minify", "--target=es2022", "--charset=utf8", "--log-level=warning"]
        with tempfile.NamedTemporaryFile(suffix=".json") as metadata:
            options += ["--legal-comments=none", f"--metafile={metadata.name}", f"--outfile={assets / target}"]
            command = [modules / ".bin/esbuild", place / source, *options]
            subprocess.run(command, env=environment(), check=True)
            inputs = json.loads(Path(metadata.name).read_text(encoding="utf-8"))["inputs"]
        packages |= {found[1] for name in inputs if (found := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", name))}
    return packages


def licences(modules: Path, packages: set[str]) -> str:
    """The licences of the bundled packages, which must be passed on: each text once."""
    of_text: dict[str, list[str]] = {}
    for name in sorted(packages):
        about = json.loads((modules / name / "package.json").read_text(encoding="utf-8"))
        files = sorted(path for path in (modules / name).iterdir() if path.name.upper().startswith("LICEN"))
        text = files[0].read_text(encoding="utf-8").strip() if files else f"Licence: {about['license']}"
        of_text.setdefault(text, []).append(f"{name} {about['version']}")
    return "\n\n".join(f"{', '.join(names)}\n\n{text}" for text, names in of_text.items()) + "\n"


#: Pages whose tables define metrics and columns; the last one takes precedence.
DEFINING = ("power.md", "results.md", "report.md", "compare.md", "metrics.md")


def definitions() -> dict[str, dict[str, str]]:
    """Definition of every metric and column in the pages, by name, and the group of each metric (its heading)."""
    found: dict[str, dict[str, str]] = {}
    for name in DEFINING:
        page = next((ROOT / "docs").rglob(name)).read_text(encoding="utf-8")
        symbols: dict[str, str] = {}
        for title, text in re.findall(r"^##+ (.+)\n((?:(?!##).*\n)*)", page, re.MULTILINE):
            for head, row in _rows(text):
                if head == ["symbol", "meaning"]:
                    said = _plain(row[1].split(";")[0])
                    symbols |= dict(
                        zip(row[0].split(", "), said.split(" and ") if "," in row[0] else [said], strict=True)
                    )
                elif head[0] in ("metric", "column") or "name" in head:
                    names = row[head.index("name")] if "name" in head else row[0]
                    # The letters of this section have their own meaning.
                    one = {"words": _explained(_plain(row[-1]), {} if title == "Fragmentation" else symbols)}
                    if name == "power.md" and head[0] == "metric":
                        one["heading"] = "Power"
                    given = dict.fromkeys(re.findall(r"`(\w+)`", names), one)
                    if name == DEFINING[-1]:
                        found |= {metric: one | {"heading": title} for metric in given}
                    else:
                        found = given | found  # the first table that has a name defines it
    return dict(sorted(found.items()))


def _explained(words: str, symbols: dict[str, str]) -> str:
    # A formula with the meaning of its letters.
    used = [one for one in symbols if re.search(rf"(?<![\w.'’]){re.escape(one)}(?![\w.])", words)]
    return f"{words}; {', '.join(f'{one}: {symbols[one]}' for one in used)}" if used else words


def _rows(page: str) -> Iterator[tuple[list[str], list[str]]]:
    # Each row of each table with the table's head.
    head: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        elif set(line) - set("|-: "):
            yield head, cells


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("**", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=Path, default=ASSETS, help="where to write (default: bridge/report/assets)")
    build(parser.parse_args().assets)


if __name__ == "__main__":
    main()
