"""Count words that plain English avoids, and fail above a ceiling: ``python -m tools.words [--lower] [--where]``.

``words.toml`` has a ceiling for each regular expression. Python files, Markdown pages and cells of notebooks, and the scripts
of the report page count together. ``--lower`` lowers the ceilings to the present counts; ``--where`` lists all matches.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

_TABLE: Final = Path(__file__).with_name("words.toml")
_ROOT: Final = _TABLE.parents[1]
_READ: Final = ("als", "bls", "bridge", "traces", "twolevel.py", "docs", "*.md", "tools/page/src")


def _text(path: Path) -> str:
    """The text of a file that counts; of a notebook its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def texts() -> dict[str, str]:
    """The texts in which words count, by file."""
    listed = subprocess.run(["git", "ls-files", "-z", *_READ], cwd=_ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name.endswith((".py", ".md", ".ts", ".ipynb"))]
    return {name: _text(_ROOT / name) for name in names if (_ROOT / name).exists()}


def main() -> int:
    """Print every pattern above its ceiling; returns the exit code."""
    ceilings: dict[str, int] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    read = texts()
    matches = {one: {name: re.findall(one, text, re.IGNORECASE) for name, text in read.items()} for one in ceilings}
    found = {one: sum(map(len, of_file.values())) for one, of_file in matches.items()}
    if "--where" in sys.argv:
        for one, of_file in matches.items():
            sys.stdout.writelines(f"{one} {name} {len(some)}\n" for name, some in of_file.items() if some)
    if "--lower" in sys.argv:
        lower = {one: min(found[one], most) for one, most in ceilings.items()}
        _TABLE.write_text("".join(f"'{one}' = {most}\n" for one, most in lower.items()), encoding="utf-8")
    above = {one: n for one, n in found.items() if n > ceilings[one]}
    for one, n in above.items():
        sys.stderr.write(f"{one}: {n} times, the ceiling of tools/words.toml is {ceilings[one]}\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
