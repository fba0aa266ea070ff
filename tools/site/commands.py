"""The pages of the command line: all options of every command, from the declarations that ``--help-all`` shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from bridge.cli.run_commands import command_line
from bridge.options.bundles import MANY
from traces.base.options import Panel

_FOLDER = "reference/commands"


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        words = f"{before}{name}"
        if hasattr(command, "commands"):
            yield from _commands(command, f"{words} ")
        else:
            yield words, command


def _cell(text: str) -> str:
    # Escape characters with a meaning in Markdown or in tables; write options and paths as code.
    escaped = re.sub(r"([\\|*_<>\[\]`$#])", r"\\\1", text)
    return re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", escaped)


def _rows(records: list[tuple[str, str]]) -> list[str]:
    rows = []
    for names, words in records:
        text, _, default = words.partition("[default: ")
        text, required, _ = text.partition("[required]")
        default = default.rstrip("]").removeprefix("(").removesuffix(")")
        value = "needed" if required else f"`{default}`" if default else ""
        option = names.replace("|", r"\|")
        rows.append(f"| `{option}` | {value} | {_cell(text.strip())} |")
    return rows


def _page(words: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"twolevel {words}", parent=None)
    # The options below the headings of --help-all; a command with few options has one heading.
    sections: dict[str, list[tuple[str, str]]] = {}
    parameters = command.get_params(context)
    for one in parameters:
        if record := one.get_help_record(context):
            panel = str((len(parameters) >= MANY and getattr(one, "rich_help_panel", None)) or "Other options")
            sections.setdefault("Arguments" if one.param_type_name == "argument" else panel, []).append(record)
    if "Arguments" in sections:
        sections = {"Arguments": sections.pop("Arguments"), **sections}
    if (last := sections.pop("Other options", None)) is not None:
        sections["Other options" if len(sections) > 1 else "Options"] = last
    usage = " ".join(command.collect_usage_pieces(context))
    example = (command.epilog or "").removeprefix("Example: ")
    lines = [f"# twolevel {words}", "", _cell(command.help or command.short_help), ""]
    lines += ["```text", f"twolevel {words} {usage}", "```", ""]
    if example:
        lines += ["Example:", "", "```bash", example, "```", ""]
    when = {str(panel): panel.when for panel in Panel}
    for heading, records in sections.items():
        lines += [
            f"## {heading}",
            "",
            *([when[heading], ""] if when.get(heading) else []),
            f"| {'argument' if heading == 'Arguments' else 'option'} | default | what it is for |",
            "|---|---|---|",
            *_rows(records),
            "",
        ]
    anchor = f"twolevel-{words.replace(' ', '-')}"
    lines += [f"Examples and details: [the command line](../cli.md#{anchor}).", ""]
    return "\n".join(lines)


def command_pages() -> dict[str, str]:
    """A page for each command, and the index of these pages, by place on the site."""
    root = typer.main.get_command(command_line(""))
    commands = dict(_commands(root))
    pages = {f"{_FOLDER}/{words.replace(' ', '-')}.md": _page(words, one) for words, one in commands.items()}
    rows = [
        f"| [{words}]({words.replace(' ', '-')}.md) | {_cell(one.short_help or (one.help or '').partition(chr(10))[0])} |"
        for words, one in commands.items()
    ]
    tree = ["```{toctree}", ":hidden:", "", *(f"{words} <{words.replace(' ', '-')}>" for words in commands), "```"]
    index = ["# Commands", "", "Every command with all of its options, by topic, as `--help-all` prints them.", ""]
    index += ["| `twolevel …` | what it does |", "|---|---|", *rows, "", *tree, ""]
    return {f"{_FOLDER}/index.md": "\n".join(index), **pages}
