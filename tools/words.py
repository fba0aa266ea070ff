"""Count words that plain English avoids, and fail above a ceiling; ``--lower`` lowers it: ``python -m tools.words [--lower]``.

``words.toml`` has ceilings of regular expressions in Python files, Markdown pages and cells, and scripts of the report page.
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


def main() -> int:
    """Print every pattern above its ceiling; returns the exit code."""
    listed = subprocess.run(["git", "ls-files", "-z", *_READ], cwd=_ROOT, capture_output=True, text=True, check=True)
    paths = [_ROOT / name for name in listed.stdout.split("\0") if name.endswith((".py", ".md", ".ts", ".ipynb"))]
    texts = [_text(path) for path in paths if path.exists()]
    ceilings: dict[str, int] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    found = {one: sum(len(re.findall(one, text, re.IGNORECASE)) for text in texts) for one in ceilings}
    if sys.argv[1:] == ["--lower"]:
        lower = {one: min(found[one], most) for one, most in ceilings.items()}
        _TABLE.write_text("".join(f"'{one}' = {most}\n" for one, most in lower.items()), encoding="utf-8")
    above = {one: n for one, n in found.items() if n > ceilings[one]}
    for one, n in above.items():
        sys.stderr.write(f"{one}: {n} times, the ceiling of tools/words.toml is {ceilings[one]}\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
