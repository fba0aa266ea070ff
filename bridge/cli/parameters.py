"""Declarations of commands: parameters of one command in one line each, parameters of several, and groups of commands.

Commands import most of what they need when they are called, so that ``--help`` is quick.
"""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from bridge.options.bundles import bundled


def option(metavar: str, text: str, *names: str) -> Any:
    """An option with a value; ``names`` if they are not that of the parameter."""
    return typer.Option(*names, metavar=metavar, help=text)


def switch(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text)


def argument(metavar: str, text: str) -> Any:
    """A word without a name."""
    return typer.Argument(metavar=metavar, help=text)


RUN = Annotated[str, argument("DIR", "Results of twolevel run.")]
AS_JSON = Annotated[bool, switch("--json", "Print JSON.")]
REPLACE_FILE = Annotated[bool, switch("--force", "Replace an existing FILE.")]


def group(name: str, text: str, *commands: tuple[Callable[..., None], str, str]) -> typer.Typer:
    """Make a group of commands, each with its line in the list of commands and the words of its example."""
    made = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    for function, short, words in commands:
        command = function.__name__.removesuffix("_command")
        made.command(command, short_help=short, epilog=f"Example: twolevel {name} {command} {words}")(bundled(function))
    return made
