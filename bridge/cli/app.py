"""The command line. Data goes to stdout or files, messages to stderr; a mistake of the user gives one line and exit code 2."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
from difflib import get_close_matches
from types import FrameType
from typing import Any

import typer

from bridge.cli import INTERRUPTED
from bridge.cli.run_commands import command_line
from bridge.standard_error import say
from traces.base.errors import TwolevelError
from traces.base.process import INTERRUPTS
from traces.base.retired import retired
from traces.base.written_file import code_of, of_system

_STDOUT = 1
_NOBODY_READS = 1  #: exit code if the reader of stdout has closed it, as ``head`` does
_DEBUG = "--debug"  #: this option may stand anywhere, as any command may end with an error
_CLEARING_S = 3.0  #: time after an interrupt in which further ones are ignored while unfinished files are removed, s
_AGAIN_S = 0.02  #: time after which a lost interrupt is repeated, s
_OBJECTS_BETWEEN = 50_000  #: number of new objects between two garbage collections


def _hear_interrupts() -> None:
    # A terminated run removes its unfinished files, as an interrupted run does. A second interrupt, which a terminal or
    # a batch system often sends, does not prevent this.
    last_s = -_CLEARING_S

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= _CLEARING_S:
            last_s = now_s
            INTERRUPTS.came(frame)

    def lost(given: sys.UnraisableHookArgs) -> None:
        # It arrived in a finalizer or a callback of the garbage collector, where Python drops exceptions.
        nonlocal last_s
        if issubclass(given.exc_type, KeyboardInterrupt):
            last_s = -_CLEARING_S
            threading.Timer(_AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        else:
            sys.__unraisablehook__(given)

    sys.unraisablehook = lost
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)


def _completed_command() -> str:
    # The command whose words a shell completes; the shell passes the line in one of two environment variables.
    said = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    command, following, _ = said.partition(" ")[2].lstrip().partition(" ")
    return command if following else ""


class _Warnings(logging.Handler):
    # Prints log messages of the bridge, one line each.

    def emit(self, record: logging.LogRecord) -> None:
        say(f"twolevel: {_one_line(record.getMessage())}")


def _show_warnings() -> None:
    log = logging.getLogger("twolevel")
    if not any(isinstance(handler, _Warnings) for handler in log.handlers):
        log.addHandler(_Warnings(logging.WARNING))


def main() -> None:
    """Entry point of the ``twolevel`` command."""
    words = sys.argv[1:]
    ours = words.index("--") if "--" in words else len(words)  # the words of another program may follow
    words = [word for word in words[:ours] if word != _DEBUG] + words[ours:]
    debug = len(words) < len(sys.argv) - 1
    try:
        _hear_interrupts()
        code = _run(words, debug)
        lost = _lost_output()
        _leave_interrupts()
    except (typer.Abort, KeyboardInterrupt):
        code, lost = _fault("interrupted; nothing was written", INTERRUPTED), 0
    _leave_interrupts()
    sys.exit(code or lost)


def _leave_interrupts() -> None:
    # The command is done; Python's own exit must not be interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _run(words: list[str], debug: bool) -> Any:
    # Typer exports only this error of wrong command lines; its base class covers all of them.
    usage_error: Any = typer.BadParameter.__bases__[0]
    try:
        # Loaded modules are thousands of permanent objects. Searching them for garbage again and again would take as long
        # as a small run.
        gc.set_threshold(_OBJECTS_BETWEEN, *gc.get_threshold()[1:])
        _show_warnings()
        first = words[0] if words else _completed_command()
        code = command_line(first)(words, standalone_mode=False)
        if code == INTERRUPTED:  # typer makes a code of an interrupt
            raise KeyboardInterrupt
        return code
    except usage_error as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group of commands without a command
            for line in error.format_message().splitlines():
                say(line)
            return 2
        return _fault(_usage(error), 2)
    except typer.Abort:
        raise
    except BrokenPipeError:
        return _NOBODY_READS
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):
            return _NOBODY_READS
        if error.code == INTERRUPTED or any(name.endswith("_COMPLETE") for name in os.environ):
            return error.code  # a study has reported everything; or a shell has requested completions
        return _fault(f"a plug-in, or what it uses, called sys.exit({error.code!r})", 1)
    except ImportError as error:
        return _fault(f"{error}; twolevel doctor checks the installation", 1)
    except Exception as error:
        if not isinstance(error, TwolevelError | OSError):
            raise
        if debug:
            _show_traceback(error)
        return _fault(error.text if isinstance(error, TwolevelError) else of_system(error), code_of(error))


_NEAR = 0.75  #: least similarity of an option or a command that the error about a wrong one suggests; 1: equal


def _usage(error: Any) -> str:
    # The message about a wrong command line; for a retired option, its replacement.

    message, context = str(error.format_message()), error.ctx
    command = (
        "twolevel" if context is None else f"twolevel{context.command_path.removeprefix(context.find_root().info_name)}"
    )
    if type(error).__name__ == "NoSuchOption":
        name = error.option_name
        known = {one.lstrip("-"): one for part in context.command.params for one in (*part.opts, *part.secondary_opts)}
        if replaced := retired(name.lstrip("-"), known):
            return f"{name} {replaced}"
        words = get_close_matches(name.lstrip("-"), known, cutoff=_NEAR)
        words = words or [word for word in known if sorted(word) == sorted(name.lstrip("-"))]  # short names, as bsl
        near = [known[word] for word in words]
        lists = "--help" if hasattr(context.command, "commands") else "--help-all"
        which = f"did you mean {' or '.join(near)}?" if near else f"{command} {lists} lists all options"
        return f"No such option: {name}; {which}"
    if message.startswith("No such command"):
        name = message.split("'")[1]
        commands = context.command.commands
        groups = {one: group.commands for one, group in commands.items() if hasattr(group, "commands")}
        if meant := [f"{command} {one} {name}" for one, group in groups.items() if name in group]:
            return f"No such command '{name}'; did you mean {' or '.join(meant)}?"
        if "mean" not in message:  # no similar one is suggested
            return f"No such command '{name}'; known: {', '.join(commands)}"
    return message


def _lost_output() -> int:
    # Flush stdout; returns the exit code if this fails, else 0. Otherwise Python would notice only at its
    # exit, with its own message and the exit code 120.
    if sys.stdout is None:
        return 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _NOBODY_READS
    except OSError as error:
        code = _fault(of_system(error), code_of(error))
    else:
        return 0
    # Python would try again at its exit, and complain.
    if sys.stdout is sys.__stdout__:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, _STDOUT)
        os.close(nothing)
    return code


def _show_traceback(error: BaseException) -> None:
    import traceback

    cause: BaseException | None = error
    while cause is not None:  # with its causes, which the one-line message summarises
        cause.__suppress_context__ = False
        cause = cause.__cause__ or cause.__context__
    traceback.print_exception(error)


def _fault(message: str, code: int) -> int:
    say(f"twolevel: {_one_line(message)}")
    return code


def _one_line(message: str) -> str:
    # Includes texts of peers, plug-ins and the system.
    return " ".join(message.split())
