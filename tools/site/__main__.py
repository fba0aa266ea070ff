"""Build the site of the documentation.

    python -m tools.site [--out build/site]

The folder gets one site per version, such as ``build/site/0.1.0/index.html``. ``index.html`` above them leads to the newest,
and ``versions.js`` lists the existing versions. Every warning is an error: a dead link, a page that no index names,
a docstring that cannot be converted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from pathlib import Path

from packaging.version import InvalidVersion, Version
from sphinx.cmd.build import main as sphinx

from tools import states
from tools.site.commands import command_pages
from tools.site.interface import interface_pages
from tools.site.pages import ROOT, stage

_FORWARD = """<!doctype html>
<meta charset="utf-8">
<title>twolevel</title>
<link rel="icon" href="{0}/_static/icon.svg">
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">twolevel {0}</a>
"""


def _versions(out: Path) -> list[str]:
    # Newest first; folders with other names are not versions.
    found = {}
    for folder in out.iterdir():
        try:
            found[Version(folder.name)] = folder.name
        except InvalidVersion:
            continue
    return [found[key] for key in sorted(found, reverse=True)]


def write_versions(out: Path) -> None:
    """List the existing versions in ``versions.js``, and write ``index.html``, which leads to the newest.

    Parameters
    ----------
    out : Path
        The folder of the versions, each a folder with a site.
    """
    versions = _versions(out)
    rows = []
    for place, version in enumerate(versions):
        folder = out / version
        found = (page.relative_to(folder).as_posix().removesuffix(".html") for page in folder.rglob("*.html"))
        pages = sorted(page for page in found if not page.startswith("_"))
        rows.append({"version": version, "name": f"{version} (newest)" if place == 0 else version, "pages": pages})
    (out / "versions.js").write_text(f"window.twolevelVersions = {json.dumps(rows)};\n", encoding="utf-8")
    (out / "index.html").write_text(_FORWARD.format(versions[0]), encoding="utf-8")


def build(out: Path, version: str) -> int:
    """Build one version of the site.

    Parameters
    ----------
    out : Path
        The folder of all versions.
    version : str
        The name of its folder.

    Returns
    -------
    int
        0, or the exit code of Sphinx, which has reported the reason.
    """
    source = out / "made" / "source"
    stage(source, {**command_pages(), **interface_pages(), "reference/engine-state/index.md": states.page()})
    os.environ["TWOLEVEL_SITE_VERSION"] = version
    words = ["-b", "html", "-W", "--keep-going", "-q", "-j", "auto", "-c", str(Path(__file__).parent)]
    code = sphinx([*words, "-d", str(out / "made" / "doctrees"), str(source), str(out / version)])
    if code == 0:
        write_versions(out)
    return code


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="folder of all versions")
    chosen = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chosen.out.mkdir(parents=True, exist_ok=True)
    code = build(chosen.out, project["version"])
    if code == 0:
        print(f"built: {chosen.out / project['version'] / 'index.html'}")
    sys.exit(code)


if __name__ == "__main__":
    main()
