"""The pages for Sphinx: copied into one folder, with valid links there and in the order of the indexes.

The pages are written for readers of plain Markdown, and are not changed. In the copies, a link to a page elsewhere in
the project (CONTRIBUTING, the protocol) leads to its copy, and a link to a source file becomes text. Every index page gets a
hidden list of its pages, from which Sphinx makes the navigation, with the order, names and headings of the
index.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

#: The groups of pages, and their names on the site; each is a folder of ``docs`` with an index.
GROUPS = {"tutorials": "Tutorials", "how-to": "How-to", "reference": "Reference", "explanation": "Explanation"}

#: Pages outside of ``docs``, and their places on the site.
ELSEWHERE = {
    ROOT / "README.md": "project/readme.md",
    ROOT / "CONTRIBUTING.md": "project/contributing.md",
    ROOT / "CHANGELOG.md": "project/changelog.md",
    ROOT / "bridge" / "PROTOCOL.md": "reference/protocol.md",
}

#: The index of these pages; it exists only on the site.
PROJECT = """# Project

| page | answers |
|---|---|
| [README](readme.md) | what is it, how do I install it, a first run and a first study |
| [Contributing](contributing.md) | how to work on it, and how to add to it |
| [Changelog](changelog.md) | what has changed |
"""

#: Settings of the theme for the first page, with sections as cards.
_NO_CONTENTS = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n"

#: Search words, and the pages that a search for them finds first.
KEYWORDS = {
    "how-to/sacct.md": ("sacct", "slurm log"),
    "how-to/replay.md": ("slurmctld", "slurm"),
    "how-to/which-policy.md": ("policy", "which policy"),
    "how-to/choosing-a-technique.md": ("technique", "which technique"),
}

#: Dotted public names in code, with arguments, which become links to their documentation.
_API = re.compile(r"`((?:bridge|bls|als|traces)\.(\w+))(\([^`]*\))?`")

_FENCES = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINKS = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_CONTENTS = re.compile(r"^1\. \[[^\n]* · 2\. (?:.+\n)+\n", re.MULTILINE)
_NAMED = re.compile(r"\[([^\[\]]+)\]\(([\w-]+(?:/index)?)\.(?:md|ipynb)\)")


def _place(file: Path) -> str | None:
    # The place of a file of the project on the site.
    if file in ELSEWHERE:
        return ELSEWHERE[file]
    return file.relative_to(DOCS).as_posix() if file.is_relative_to(DOCS) and file.is_file() else None


def _relinked(text: str, page: Path, place: str) -> str:
    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        name, hash_mark, anchor = target.partition("#")
        if not name or re.match(r"[a-z]+:", name):
            return found[0]
        there = _place(Path(os.path.normpath(page.parent / name)))
        if there is None:
            return str(words)  # a source file
        return f"{picture}[{words}]({os.path.relpath(there, Path(place).parent)}{hash_mark}{anchor})"

    # Remove a page's list of sections, since the site has one next to each page. Fenced blocks are every
    # second part of the split text.
    parts = _FENCES.split(_CONTENTS.sub("", text, count=1))
    return "".join(part if n % 2 else _LINKS.sub(link, _with_api_links(part)) for n, part in enumerate(parts))


def _with_api_links(text: str) -> str:
    # Headings keep their anchors, and links keep their words.
    def name(found: re.Match[str]) -> str:
        package, _, attribute = found[1].partition(".")
        if attribute not in importlib.import_module(package).__all__:
            return found[0]
        return f"{{py:obj}}`{found[1]}{found[3] or ''} <{found[1]}>`"

    def linked(line: str) -> str:
        ends = [0, *(end for found in _LINKS.finditer(line) for end in found.span()), len(line)]
        parts = [line[a:b] for a, b in pairwise(ends)]
        return "".join(part if k % 2 else _API.sub(name, part) for k, part in enumerate(parts))

    return "\n".join(line if line.startswith("#") else linked(line) for line in text.split("\n"))


def _relinked_notebook(text: str, page: Path, place: str) -> str:
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _relinked("".join(cell["source"]), page, place).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def listed(index: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The pages in its folder that an index names: (words of the link, name of the file without ending), by heading.

    Parameters
    ----------
    index : str
        The text of the index. Repeated pages are omitted.
    """
    sections: list[tuple[str, list[tuple[str, str]]]] = [("", [])]
    seen: set[str] = set()
    for line in index.splitlines():
        if line.startswith("## "):
            sections.append((line.removeprefix("## "), []))
        for words, name in _NAMED.findall(line):
            if name not in seen:
                seen.add(name)
                sections[-1][1].append((words, name))
    return [(heading, pages) for heading, pages in sections if pages]


def _trees(sections: list[tuple[str, list[tuple[str, str]]]]) -> str:
    lines: list[str] = []
    for heading, pages in sections:
        lines += ["", "```{toctree}", ":hidden:", *([f":caption: {heading}"] if heading else [])]
        lines += ["", *(f"{words} <{name}>" for words, name in pages), "```"]
    return "\n".join(lines) + "\n"


def _contents(made: Mapping[str, str]) -> dict[str, bytes]:
    # All files of the folder, by place.
    texts = {"project/index.md": PROJECT}
    contents = {}
    for file in [*sorted(DOCS.rglob("*")), *ELSEWHERE]:
        place = _place(file)
        if place is None:
            continue
        if file.suffix == ".md":
            texts[place] = _relinked(file.read_text(encoding="utf-8"), file, place)
        elif file.suffix == ".ipynb":
            texts[place] = _relinked_notebook(file.read_text(encoding="utf-8"), file, place)
        else:
            contents[place] = file.read_bytes()
    indexes = [f"{group}/index.md" for group in (*GROUPS, "project")]
    further = [
        place for place in made if place.startswith("reference/") and place.count("/") == 2 and "/index." in place
    ]
    title, sections, rest = texts["reference/index.md"].partition("## ")
    texts["reference/index.md"] = title + _made(further, made) + sections + rest
    for place in indexes:
        texts[place] += _trees(listed(texts[place]))
    for place, words in KEYWORDS.items():
        title, rest = texts[place].split("\n", 1)
        texts[place] = "\n".join([title, "", *(f"```{{index}} {word}\n```\n" for word in words), rest])
    top = [
        *((title, f"{group}/index") for group, title in GROUPS.items()),
        ("FAQ", "faq"),
        ("Project", "project/index"),
    ]
    texts["index.md"] = _NO_CONTENTS + texts["index.md"] + _trees([("", top)])
    return contents | {place: text.encode() for place, text in {**texts, **made}.items()}


def _made(indexes: list[str], made: Mapping[str, str]) -> str:
    # The part of the reference's index about pages made from the code.
    rows = []
    for place in indexes:
        title, _, about = made[place].partition("\n\n")
        first = " ".join(about.partition("\n\n")[0].split())
        rows.append(f"| [{title.removeprefix('# ')}]({place.removeprefix('reference/')}) | {first} |")
    return "\n".join(["## Made from the code", "", "| pages | what they are |", "|---|---|", *rows, "", ""])


def stage(folder: Path, made: Mapping[str, str]) -> None:
    """Copy all pages, and their pictures, into a folder; remove files that are no longer part of the site.

    Parameters
    ----------
    folder : Path
        It need not exist. Unchanged files are not written, so Sphinx does not read them again.
    made : mapping of str to str
        Further pages, made from the code, by place. ``reference/NAME/index.md`` is named in the index of the
        reference, by its heading and its first paragraph.
    """
    contents = _contents(made)
    for place, content in contents.items():
        copy = folder / place
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        if file.relative_to(folder).as_posix() not in contents:
            file.unlink()
