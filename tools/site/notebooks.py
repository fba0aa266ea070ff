"""Run the notebooks of the tutorials, and store their output in them.

    python -m tools.site.notebooks [NAME …]

Readers of the plain files and of the site see results without running anything; the site itself is built without running them.
The output of a notebook is the same on every machine; tests/docs/test_built.py runs each and compares. Times, counts of
executions and stderr are not stored.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

from tools.site.pages import DOCS, ROOT

FOLDER = DOCS / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def _smaller(picture: str) -> str:
    # Figures have few colours, and these files are in the repository.
    small = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(128).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def _kept(outputs: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for one in outputs:
        if one.output_type == "stream":
            if one.name == "stdout" and kept and kept[-1].output_type == "stream":
                kept[-1].text += one.text  # the output arrived in pieces
            elif one.name == "stdout":
                kept.append(one)
            continue
        if one.output_type == "execute_result":
            one.execution_count = None
        if "image/png" in one.data:
            one.data["image/png"] = _smaller(one.data["image/png"])
        if "text/html" in one.data:
            one.data["text/html"] = one.data["text/html"].replace(f"{ROOT}/", "")  # the path of the shipped workload
        if len(one.data) > 1:
            one.data.pop("text/plain", None)
        kept.append(one)
    return kept


def executed(path: Path, folder: Path) -> Any:
    """A notebook with the outputs of this run.

    Parameters
    ----------
    path : Path
        The notebook; it is only read.
    folder : Path
        Working directory, for written files.
    """
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = _kept(cell.outputs)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def printed(notebook: Any) -> list[str]:
    """The printed output of each cell of a notebook, without HTML and pictures."""
    return [
        "".join(one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> None:
    """Entry point."""
    for path in [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
