"""Count words that plain English avoids, and fail above a ceiling; ``--lower`` lowers it: ``python -m tools.words [--lower]``.

``words.toml`` holds, for each regular expression, its ceiling in the product and the pages together. A ceiling only falls.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

_TABLE: Final = Path(__file__).with_name("words.toml")
_ROOT: Final = _TABLE.parents[1]
_READ: Final = ("als", "bls", "bridge", "traces", "docs", "README.md", "CONTRIBUTING.md")


def counts(patterns: list[str]) -> dict[str, int]:
    """How often each regular expression matches in Python files and pages; case is ignored."""
    listed = subprocess.run(["git", "ls-files", "-z", *_READ], cwd=_ROOT, capture_output=True, text=True, check=True)
    texts = [
        (_ROOT / name).read_text(encoding="utf-8")
        for name in listed.stdout.split("\0")
        if name.endswith((".py", ".md"))
    ]
    return {one: sum(len(re.findall(one, text, re.IGNORECASE)) for text in texts) for one in patterns}


def main() -> int:
    """Print every pattern above its ceiling; returns the exit code."""
    ceilings: dict[str, int] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    found = counts(list(ceilings))
    if sys.argv[1:] == ["--lower"]:
        lower = {one: min(found[one], most) for one, most in ceilings.items()}
        _TABLE.write_text("".join(f"'{one}' = {most}\n" for one, most in lower.items()), encoding="utf-8")
    above = {one: n for one, n in found.items() if n > ceilings[one]}
    for one, n in above.items():
        sys.stderr.write(f"{one}: {n} times, the ceiling of tools/words.toml is {ceilings[one]}\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
