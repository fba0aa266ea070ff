"""List product files that a commit changed outside the folder of its feature: ``python -m tools.feature_cost COMMIT…``.

Files that ``make page`` writes are not listed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

_PRODUCT = re.compile(r"(?!bridge/report/assets/)(als|bls|bridge|traces)/.*")
_FEATURE = re.compile(r".*/features/\w+(?=/)")


def cost(numstat: str) -> tuple[str, list[str], list[str]]:
    """The folder of a feature, and the product files inside and outside of it that a commit changed.

    The folder is the one with the most added and removed lines among those below a folder ``features``, empty if there is none.
    ``numstat`` is the output of ``git show --numstat``.
    """
    changed = [line.split("\t") for line in numstat.splitlines() if line.count("\t") == 2]
    lines_of = {path: int(more) + int(less) for more, less, path in changed if _PRODUCT.fullmatch(path) and more != "-"}
    owned: Counter[str] = Counter()
    for path, lines in lines_of.items():
        if found := _FEATURE.match(path):
            owned[found[0]] += lines
    folder = max(owned, key=owned.__getitem__, default="")
    inside = [path for path in lines_of if folder and path.startswith(f"{folder}/")]
    return folder, inside, [path for path in lines_of if path not in inside]


def main() -> None:
    """Print the cost of each commit."""
    for commit in sys.argv[1:]:
        command = ["git", "show", "--first-parent", "--no-renames", "--numstat", "--format=%h %s", commit]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode:
            sys.exit(found.stderr.strip())
        title, _, numstat = found.stdout.partition("\n")
        folder, inside, outside = cost(numstat)
        print(f"{title}\n  {len(inside)} files in {folder or 'no folder of a feature'}, {len(outside)} outside:")
        print("".join(f"    {path}\n" for path in outside), end="")


if __name__ == "__main__":
    main()
