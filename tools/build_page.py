"""Build the script and the style of report pages out of ``tools/page``: ``make page``.

``bridge/report/assets`` holds what is built, so that nobody needs Node.js who only installs the project; a test builds it again
and compares. What Node.js needs is installed under ``.venv``, as ``tools/page/package-lock.json`` names it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tools" / "page"
ASSETS = ROOT / "bridge" / "report" / "assets"
#: Entry points and what is built of them.
BUILT = {"src/page.ts": "page.js", "src/page.css": "page.css"}


def installed() -> Path:
    """The folder of what ``package-lock.json`` names: installed once, and again when the file has changed."""
    folder = Path(sys.prefix) / "page-tools"
    lock = (SOURCE / "package-lock.json").read_bytes()
    done = folder / "installed"
    if not done.exists() or done.read_bytes() != lock:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, folder)
        npm = Path(sys.prefix) / "bin" / "npm"
        command = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=folder, env=environment(), check=True)
        done.write_bytes(lock)
    return folder / "node_modules" / ".bin"


def environment() -> dict[str, str]:
    """This one, with the virtual environment's Node.js first."""
    return {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def build(assets: Path) -> None:
    """Check the types, then write the bundles to `assets`."""
    tools = installed()
    subprocess.run([tools / "tsc", "--project", SOURCE], env=environment(), check=True)
    assets.mkdir(parents=True, exist_ok=True)
    for source, target in BUILT.items():
        options = ["--bundle", "--minify", "--target=es2022", "--charset=utf8", "--log-level=warning"]
        command = [tools / "esbuild", SOURCE / source, *options, f"--outfile={assets / target}"]
        subprocess.run(command, env=environment(), check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=Path, default=ASSETS, help="where to write (default: bridge/report/assets)")
    build(parser.parse_args().assets)


if __name__ == "__main__":
    main()
