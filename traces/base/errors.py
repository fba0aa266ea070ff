"""The few errors of this project, each of which says who is to blame.

A user never sees a traceback for a mistake of theirs: the command line prints :class:`TwolevelError` as one line and
exits with :attr:`TwolevelError.exit_code`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

from traces.base.mentions import in_python, spelled, with_given
from traces.base.printable import printable

#: What a plug-in's code may raise: ``sys.exit()`` in it is a fault like any other, and no end of the program.
RAISED_BY_PLUGINS: Final = (Exception, SystemExit)

#: What is known may come from a file, too: characters of a name, and names of a list, that an error shows at most.
_LONGEST_NAME, _MOST_NAMES = 60, 250


class TwolevelError(Exception):
    """Base of the errors this project raises on purpose. The message is one line, whoever's words are in it.

    Options that it mentions are keywords in the message; a surface that knows them by other names spells :attr:`text`.
    """

    exit_code = 1

    @property
    def text(self) -> str:
        """The message in which options are not spelled yet (:mod:`traces.base.mentions`): for a message around it, too."""
        return super().__str__()

    def __str__(self) -> str:
        return printable(spelled(self.text, in_python))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class InputError(TwolevelError):
    """The user's: a file, a value or an option that cannot be used. Exit code 2."""

    exit_code = 2


class PluginError(TwolevelError):
    """A policy's, an allocator's or a technique's: it suggested something impossible. The message names it."""


class PeerError(TwolevelError):
    """An application simulator's: it broke the protocol, died or did not answer. The message names the job."""


@contextmanager
def blamed_on(what: str) -> Iterator[None]:
    """Have whatever a plug-in's code raises within be the plug-in's fault.

    - ``what``: whose code it is, and which: the message begins with it, as in ``"batch policy mine: keys() failed"``.

    Raises PluginError for :data:`RAISED_BY_PLUGINS`; errors of this project, and interrupts, pass.
    """
    try:
        yield
    except TwolevelError:
        raise
    except RAISED_BY_PLUGINS as error:
        raise PluginError(f"{what}: {raised_text(error)}") from error


def shown(value: object, limit: int = 60) -> str:
    """``value`` as an error shows it: quoted, printable, and never longer than a line can bear."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write a number of thousands of digits
        return "a number of thousands of digits"
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def at(where: str, value: object) -> str:
    """``where`` as an error begins: in Python the mention of an option shows the value that was given there, too."""
    return with_given(where, shown(value))


def shown_path(path: object) -> str:
    """A file's path as an error shows it: as :func:`shown`, and longer, since who has many needs all of it."""
    return shown(str(path), 400)


def shown_name(name: str) -> str:
    """A name from somebody's file as an error shows it: as it is, unless it is too long or not printable."""
    return name if name.isprintable() and len(name) <= _LONGEST_NAME else shown(name, _LONGEST_NAME)


def listed(names: Iterable[str]) -> str:
    """Names as an error lists them, each as :func:`shown_name`; of very many, the first ones and how many more there are."""
    every = list(names)
    more = f", … and {len(every) - _MOST_NAMES:,} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(map(shown_name, every[:_MOST_NAMES])) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)``, to be put behind an error, if up to three known words are near; else nothing."""
    by_fold = {name.casefold(): name for name in known if name != word and name.isprintable()}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=3)
    *others, last = [by_fold[name] for name in near] or [""]
    return f" (did you mean {', '.join(others)}{' or ' * bool(others)}{last}?)" if last else ""


def one_of(kind: str, value: object, known: Iterable[str], where: str = "") -> InputError:
    """The error for an unknown name: the known ones, nearest first.

    - ``kind``: what was to be named, as ``"batch policy"``.
    - ``value``: what was given; a string, unless it comes from a program.
    - ``known``: what is allowed.
    - ``where``: the mention of the option, or the key, it was given in.

    Returns the error, to be raised by the caller.
    """
    names = list(known)
    near = difflib.get_close_matches(str(value).lower(), names, n=max(1, len(names)), cutoff=0.0)
    ordered = near + [name for name in names if name not in near]
    place = f"{where}: " if where else ""
    return InputError(f"{place}unknown {kind} {shown(value)}; known: {listed(ordered) or 'none'}")


#: Where the code is that is not a user's: the packages of the project, and Python's own.
_PROJECT = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_PROJECT / name) + os.sep for name in ("als", "bls", "bridge", "traces"))
_PYTHONS = os.path.dirname(os.__file__) + os.sep

#: So much of a line of a file is shown.
_SHOWN = 80


def raised_text(error: BaseException) -> str:
    """What a plug-in raised, and where: ``NameError: name 'x' is not defined (mine.py:12: return x)``."""
    text = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{where_raised(error)}"


def where_raised(error: BaseException) -> str:
    """`` (FILE:LINE: SOURCE)``, to be put behind an error: the last line of a user's file that was being run; else nothing."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        place: tuple[str, int] | None = (error.filename, error.lineno)
    else:
        place = _last_line(error.__traceback__)
    if place is None:
        return ""
    import linecache  # needed for errors only

    file, line = place
    linecache.checkcache(file)
    source = linecache.getline(file, line).strip()
    return f" ({_near(file)}:{line}{': ' if source else ''}{source if len(source) <= _SHOWN else source[: _SHOWN - 1] + '…'})"


def where_defined(function: Callable[..., object]) -> str:
    """`` (FILE:LINE: NAME)``, to be put behind an error that names no line: where a function of a user's begins."""
    code = function.__code__
    return f" ({_near(code.co_filename)}:{code.co_firstlineno}: {code.co_name})"


def _near(file: str) -> str:
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file


def _last_line(at: TracebackType | None) -> tuple[str, int] | None:
    # Of the user's own files; else of a package that is installed, as a plug-in may be.
    own: tuple[str, int] | None = None
    installed: tuple[str, int] | None = None
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if os.path.isfile(file) and not file.startswith((*_OURS, _PYTHONS)):
            if "site-packages" in file or "dist-packages" in file:
                installed = file, at.tb_lineno
            else:
                own = file, at.tb_lineno
        at = at.tb_next
    return own or installed
