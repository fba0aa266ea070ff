"""The few errors of this project, each of which says who is to blame; how they show values and options; and checks of numbers.

A user never sees a traceback for a mistake of theirs: the command line prints :class:`TwolevelError` as one line and
exits with :attr:`TwolevelError.exit_code`.

Code that checks an option knows neither the command line nor its caller. It writes ``f"{RESIZE:none}: needs {MALLEABLE}"``
with declared options (``traces.base.options``), and these format themselves to marks within the text, :class:`Mention`. Where
the text is shown, the marks are spelled: as an option that is typed (``bridge.spelling``), as a keyword in Python, or as a key
of a TOML table.
"""

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

_UNESCAPED = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # the punctuation of ASCII but "%"


def printable(text: str) -> str:
    r"""``text`` in one line that cannot steer a terminal: white space is a blank, what has no glyph an escape as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else sign.encode("unicode_escape").decode()
        for sign in text
    )


def escaped(text: str, *, apart: str = "") -> str:
    """Return a text as a part of a line from which :func:`unescaped` gets it back.

    It stays as it is if all of it is printable, no blank is at an end and no escape in it. Else it is percent-encoded UTF-8,
    as in addresses: blanks, control characters, letters outside ASCII, and ``%`` itself. Half of a surrogate pair becomes
    ``?``.

    - ``apart``: characters that part the fields of the line: a text with one of them is percent-encoded, too.
    """
    plain = text.isprintable() and text == text.strip() and not set(text) & set(apart) and unescaped(text) == text
    safe = "".join(sign for sign in _UNESCAPED if sign not in apart)
    return text if plain else quote(text, safe=safe, errors="replace")


def unescaped(text: str) -> str:
    """Return the text that :func:`escaped` has made a part of a line."""
    return unquote(text)


# Unicode reserves these characters for use within a program, so a text of others has none. A mark is
# _NAME name _KEYWORD keyword _SAID value _GIVEN value _END.
_NAME, _KEYWORD, _SAID, _GIVEN, _END = map(chr, range(0xFDD0, 0xFDD5))


class Mention(NamedTuple):
    """An option that a text mentions."""

    name: str  # its name on the command line, without dashes
    keyword: str  # its name in Python
    said: str = ""  # a value that belongs to the text, as on the command line; empty: none
    # a value that only Python shows, as a literal: of an option that takes none on the command line, or one that the
    # text repeats; empty: none
    given: str = ""

    def __str__(self) -> str:
        return f"{_NAME}{self.name}{_KEYWORD}{self.keyword}{_SAID}{self.said}{_GIVEN}{self.given}{_END}"


#: How a mention is written where a text is shown.
Surface: TypeAlias = Callable[[Mention], str]


def in_python(mention: Mention) -> str:
    """A mention as a keyword, ``resize='none'``."""
    value = mention.given or literal(mention.said)
    return f"{mention.keyword}={value}" if value else mention.keyword


def in_table(mention: Mention) -> str:
    """A mention as a key of a TOML table, ``resize = 'none'``."""
    if mention.given in ("True", "False"):
        return f"{mention.name.removeprefix('no-')} = {mention.given.lower()}"
    quoted = json.dumps(mention.said, ensure_ascii=False) if "'" in mention.said else f"'{mention.said}'"
    return f"{mention.name} = {literal(mention.said, quoted)}" if mention.said else mention.name


def literal(said: str, quoted: str = "") -> str:
    """A value as Python writes it, a number as it is, other words quoted (``quoted``: by others); nothing of none."""
    try:
        parse_real(said)
    except ValueError:
        return (quoted or repr(said)) if said else ""
    return said


def spelled(text: str, surface: Surface) -> str:
    """The text, in which a surface has spelled all mentions."""
    if _NAME not in text:
        return text
    before, *marked = text.split(_NAME)
    return before + "".join(
        f"{'' if mention is None else surface(mention)}{rest}" for mention, rest in map(_parsed, marked)
    )


def leading(text: str) -> tuple[Mention | None, str]:
    """The mention that a text begins with, and what follows it; None, and the text, where it begins with another word."""
    if not text.startswith(_NAME):
        return None, text
    first, *others = text[1:].split(_NAME)
    mention, rest = _parsed(first)
    return mention, _NAME.join([rest, *others])


def begins_at(text: str, where: str) -> bool:
    """Whether a text begins with ``where``, or with the same option and perhaps a value."""
    place, rest = leading(where)
    if place is None or rest:
        return text.startswith(where)
    mention, _ = leading(text)
    return mention is not None and mention.name == place.name


def with_value(where: str, value: str) -> str:
    """``where`` and a value after it, which belongs to the option if ``where`` is the mention of one."""
    mention, rest = leading(where)
    return f"{where} {value}" if mention is None or rest else str(mention._replace(said=value, given=""))


def with_given(where: str, value: str) -> str:
    """``where``, and the value that was given there, as a literal, if it is the mention of an option that has none yet."""
    mention, rest = leading(where)
    return where if mention is None or mention.given or rest else str(mention._replace(given=value))


def _parsed(marked: str) -> tuple[Mention | None, str]:
    # What follows _NAME, of a text of others perhaps no mark.
    mark, end, rest = marked.partition(_END)
    if not end:
        return None, _NAME + marked
    name, _, values = mark.partition(_KEYWORD)
    keyword, _, values = values.partition(_SAID)
    said, _, given = values.partition(_GIVEN)
    return Mention(name, keyword, said, given), rest


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
        """The message in which options are not spelled yet (:mod:`traces.base.errors`): for a message around it, too."""
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


_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)


def parse_whole(text: str) -> int:
    """Return the whole number that a text is: an optional sign and digits 0 to 9.

    Use this in place of ``int`` for a text that a user wrote. Python also takes underscores (``900_2`` is 9002), spaces
    around the number and the digits of other scripts. Raises ValueError if the text is anything else, or has more
    digits than Python converts.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_real(text: str) -> float:
    """Return the number that a text is: an optional sign, digits 0 to 9, perhaps a point and an exponent.

    Use this in place of ``float`` for a text that a user wrote, as :func:`parse_whole`. ``inf`` and ``nan`` are taken:
    the check of the range refuses them where they are not allowed. Raises ValueError if the text is anything else.
    """
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def whole(where: str, value: object, lowest: int, highest: int) -> int:
    """``value`` as an int. Raises InputError if it is no whole number from ``lowest`` to ``highest``; the message
    begins with ``where``."""
    if type(value) is int and lowest <= value <= highest:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{at(where, value)}: {shown(value)} is not a whole number; allowed: {lowest} to {highest}")
    if not lowest <= int(value) <= highest:
        raise InputError(f"{at(where, value)}: {shown(value)} is out of range; allowed: {lowest} to {highest}")
    return int(value)


def real(where: str, value: object, lowest: float, highest: float, unit: str = "") -> float:
    """``value`` as a float; messages say its ``unit``. Raises InputError if it is no number from ``lowest`` to
    ``highest``, as NaN is not; the message begins with ``where``."""
    allowed = f"allowed: {lowest:g} to {highest:g}{' ' * bool(unit)}{unit}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{at(where, value)}: {shown(value)} is not a number; {allowed}")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = float("inf")
    if not lowest <= number <= highest:
        raise InputError(f"{at(where, value)}: {shown(value)} is out of range; {allowed}")
    return number
