"""The errors of this project, each with its cause (user, plug-in, peer); how they show values and options; checks of numbers.

The command line prints :class:`TwolevelError` as one line and exits with :attr:`TwolevelError.exit_code`. Code that checks an
option writes ``f"{RESIZE:none}: needs {MALLEABLE}"`` with declared options (``traces.base.options``), which format themselves
to marks within the text, :class:`Mention`. When the text is shown, the marks are spelled: as an option of the command line
(``bridge.standard_error``), as a keyword in Python, or as a key of a TOML table.
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

_UNESCAPED = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # ASCII punctuation except "%"


def printable(text: str) -> str:
    r"""Return ``text`` as one line without control codes: white space becomes a blank, unprintable characters ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else sign.encode("unicode_escape").decode()
        for sign in text
    )


def escaped(text: str, *, apart: str = "") -> str:
    """Return a text as a part of a line from which :func:`unescaped` restores it. It is unchanged if it is printable, has no
    blanks at its ends, and contains neither an escape nor one of the separators ``apart``. Otherwise it is percent-encoded
    UTF-8, as in addresses: blanks, control characters, letters outside ASCII, and ``%``. Half of a surrogate pair becomes
    ``?``."""
    plain = text.isprintable() and text == text.strip() and not set(text) & set(apart) and unescaped(text) == text
    safe = "".join(sign for sign in _UNESCAPED if sign not in apart)
    return text if plain else quote(text, safe=safe, errors="replace")


unescaped = unquote  #: restores the text from :func:`escaped`

# Unicode reserves these characters for use within a program, so texts from outside contain none. A mark is
# _NAME name _KEYWORD keyword _SAID value _GIVEN value _END.
_NAME, _KEYWORD, _SAID, _GIVEN, _END = map(chr, range(0xFDD0, 0xFDD5))


class Mention(NamedTuple):
    """An option mentioned in a text."""

    name: str  # its name on the command line, without dashes
    keyword: str  # its name in Python
    said: str = ""  # a value that is part of the text, as on the command line; empty: none
    # a value that only Python shows, as a literal: if the option has no value on the command line, or the text repeats it;
    # empty: none
    given: str = ""

    def __str__(self) -> str:
        return f"{_NAME}{self.name}{_KEYWORD}{self.keyword}{_SAID}{self.said}{_GIVEN}{self.given}{_END}"


Surface: TypeAlias = Callable[[Mention], str]  #: how a mention is spelled when a text is shown


def in_python(mention: Mention) -> str:
    """Spell a mention as a keyword, ``resize='none'``."""
    value = mention.given or literal(mention.said)
    return f"{mention.keyword}={value}" if value else mention.keyword


def in_table(mention: Mention) -> str:
    """Spell a mention as a key of a TOML table, ``resize = 'none'``."""
    if mention.given in ("True", "False"):
        return f"{mention.name.removeprefix('no-')} = {mention.given.lower()}"
    quoted = json.dumps(mention.said, ensure_ascii=False) if "'" in mention.said else f"'{mention.said}'"
    return f"{mention.name} = {literal(mention.said, quoted)}" if mention.said else mention.name


def literal(said: str, quoted: str = "") -> str:
    """Return a value as a Python literal: numbers unchanged, words quoted (or ``quoted``); empty for no value."""
    try:
        parse_real(said)
    except ValueError:
        return (quoted or repr(said)) if said else ""
    return said


def spelled(text: str, surface: Surface) -> str:
    """Return the text with all mentions spelled for a surface."""
    if _NAME not in text:
        return text
    before, *marked = text.split(_NAME)
    parts = (f"{'' if mention is None else surface(mention)}{rest}" for mention, rest in map(_parsed, marked))
    return before + "".join(parts)


def mentioned(text: str) -> set[str]:
    """Return the names of all options that a text mentions."""
    return {mention.name for mention, _ in map(_parsed, text.split(_NAME)[1:]) if mention is not None}


def leading(text: str) -> tuple[Mention | None, str]:
    """Return the mention at the beginning of a text and the rest; None and the text if it begins with another word."""
    if not text.startswith(_NAME):
        return None, text
    first, *others = text[1:].split(_NAME)
    mention, rest = _parsed(first)
    return mention, _NAME.join([rest, *others])


def begins_at(text: str, where: str) -> bool:
    """Return whether a text begins with ``where``, or with the same option, possibly with a value."""
    place, rest = leading(where)
    if place is None or rest:
        return text.startswith(where)
    mention, _ = leading(text)
    return mention is not None and mention.name == place.name


def with_value(where: str, value: str) -> str:
    """Return ``where`` followed by a value; if ``where`` is a mention, the value becomes part of it."""
    mention, rest = leading(where)
    return f"{where} {value}" if mention is None or rest else str(mention._replace(said=value, given=""))


def _parsed(marked: str) -> tuple[Mention | None, str]:
    # The text after _NAME; a text from outside may contain no mark.
    mark, end, rest = marked.partition(_END)
    if not end:
        return None, _NAME + marked
    name, _, values = mark.partition(_KEYWORD)
    keyword, _, values = values.partition(_SAID)
    said, _, given = values.partition(_GIVEN)
    return Mention(name, keyword, said, given), rest


#: Exceptions of a plug-in's code: ``sys.exit()`` in it is a fault like any other and does not end the program.
RAISED_BY_PLUGINS: Final = (Exception, SystemExit)

#: Known names may come from a file: limits of an error's characters per name and names per list.
_LONGEST_NAME, _MOST_NAMES = 60, 250


class TwolevelError(Exception):
    """Base of the errors that this project raises on purpose. The message is one line.

    Options in the message are spelled as keywords; another surface spells :attr:`text` itself.
    """

    exit_code = 1

    @property
    def text(self) -> str:
        """The message with unspelled options (:mod:`traces.base.errors`); also for including it in another message."""
        return super().__str__()

    def __str__(self) -> str:
        return printable(spelled(self.text, in_python))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class InputError(TwolevelError):
    """A mistake of the user: a file, a value or an option is invalid. Exit code 2."""

    exit_code = 2


class PluginError(TwolevelError):
    """A fault of a policy, an allocator or a technique: it returned something impossible. The message names it."""


class PeerError(TwolevelError):
    """A fault of an application simulator: it broke the protocol, died or did not answer. The message names the job."""


@contextmanager
def blamed_on(what: str) -> Iterator[None]:
    """Turn exceptions of a plug-in's code in this context, :data:`RAISED_BY_PLUGINS`, into PluginError; errors of this project
    and interrupts pass. ``what``: the beginning of the message, as ``"batch policy mine: keys() failed"``."""
    try:
        yield
    except TwolevelError:
        raise
    except RAISED_BY_PLUGINS as error:
        raise PluginError(f"{what}: {raised_text(error)}") from error


def shown(value: object, limit: int = 60) -> str:
    """Return ``value`` for an error: quoted, printable, and of limited length."""
    try:
        text = repr(value)
    except ValueError:  # Python does not convert numbers of thousands of digits
        return "a number of thousands of digits"
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def at(where: str, value: object) -> str:
    """Return ``where`` as the beginning of an error: in Python the mention of an option also shows the given value, if it has
    none."""
    mention, rest = leading(where)
    return where if mention is None or mention.given or rest else str(mention._replace(given=shown(value)))


def shown_path(path: object) -> str:
    """Return a file's path for an error: as :func:`shown`, but longer, since users with many files need the whole path."""
    return shown(str(path), 400)


def shown_name(name: str) -> str:
    """Return a name from a file for an error: unchanged unless it is too long or not printable."""
    return name if name.isprintable() and len(name) <= _LONGEST_NAME else shown(name, _LONGEST_NAME)


def listed(names: Iterable[str]) -> str:
    """Return names for an error, each as :func:`shown_name`; of very many, the first ones and the number of others."""
    every = list(names)
    more = f", … and {len(every) - _MOST_NAMES:,} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(map(shown_name, every[:_MOST_NAMES])) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean X?)`` for the end of an error, if up to three known words are similar; else nothing."""
    by_fold = {name.casefold(): name for name in known if name != word and name.isprintable()}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=3)
    *others, last = [by_fold[name] for name in near] or [""]
    return f" (did you mean {', '.join(others)}{' or ' * bool(others)}{last}?)" if last else ""


_LONG = 12  #: number of names up to which all are shown
_SIMILAR = 0.41  #: the least similarity of names that come first: more than one common letter of two and three


def one_of(kind: str, value: object, known: Iterable[str], where: str = "", *, page: str = "") -> InputError:
    """Return the error for an unknown name, with the known ones: similar ones first, then the others in their order.

    ``kind``: the kind of name, as ``"batch policy"``. ``value``: a string, unless it comes from a program. ``where``: the
    mention of the option, or the key, that gave it. ``page``: the place of a long list; only its similar names are shown.
    """
    names = list(known)
    near = difflib.get_close_matches(str(value).lower(), names, n=3, cutoff=_SIMILAR)
    if page and len(names) > _LONG:
        known_words = f"similar: {listed(near)}; " * bool(near) + f"{page} lists all"
    else:
        known_words = f"known: {listed(near + [name for name in names if name not in near]) or 'none'}"
    return InputError(f"{f'{where}: ' * bool(where)}unknown {kind} {shown(value)}; {known_words}")


#: Folders of code that is not a user's: the packages of the project, and Python's own.
_PROJECT = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_PROJECT / name) + os.sep for name in ("als", "bls", "bridge", "traces"))
_PYTHONS = os.path.dirname(os.__file__) + os.sep

_SHOWN = 80  #: characters of a file's line that are shown


def raised_text(error: BaseException) -> str:
    """Return a plug-in's exception and its place: ``NameError: name 'x' is not defined (mine.py:12: return x)``."""
    text = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{where_raised(error)}"


def where_raised(error: BaseException) -> str:
    """Return `` (FILE:LINE: SOURCE)`` for the end of an error: the last executed line of a user's file; else nothing."""
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
    """Return `` (FILE:LINE: NAME)`` for the end of an error without a line: the first line of a user's function."""
    code = function.__code__
    return f" ({_near(code.co_filename)}:{code.co_firstlineno}: {code.co_name})"


def _near(file: str) -> str:
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file


def _last_line(at: TracebackType | None) -> tuple[str, int] | None:
    # In the user's own files; else in an installed package, which may contain a plug-in.
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
    """Parse a whole number: an optional sign and digits 0 to 9. For texts of users: ``int`` also accepts underscores (``900_2``
    is 9002), spaces and the digits of other scripts. Raises ValueError for anything else, or more digits than Python converts.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_list(text: str, where: str) -> list[str]:
    """Split a text at its commas, and strip its items. Raises InputError if one is empty; the message begins with ``where``."""
    items = [item.strip() for item in text.split(",")]
    if "" in items:
        raise InputError(f"{where}: {shown(text)} has an empty item; allowed: one or more, separated by commas")
    return items


def parse_real(text: str) -> float:
    """Parse a number: an optional sign, digits 0 to 9, optionally a point and an exponent; also ``inf`` and ``nan``, which
    checks of the range refuse if necessary. Raises ValueError for anything else."""
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def whole(where: str, value: object, lowest: int, highest: int) -> int:
    """Return ``value`` as an int. Raises InputError unless it is a whole number from ``lowest`` to ``highest``; the message
    begins with ``where``."""
    if type(value) is int and lowest <= value <= highest:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{at(where, value)}: {shown(value)} is not a whole number; allowed: {lowest} to {highest}")
    if not lowest <= int(value) <= highest:
        raise InputError(f"{at(where, value)}: {shown(value)} is out of range; allowed: {lowest} to {highest}")
    return int(value)


def real(where: str, value: object, lowest: float, highest: float, unit: str = "") -> float:
    """Return ``value`` as a float; messages include its ``unit``. Raises InputError unless it is a number from ``lowest`` to
    ``highest`` (NaN is not); the message begins with ``where``."""
    allowed = f"allowed: {lowest:g} to {highest:g}{' ' * bool(unit)}{unit}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{at(where, value)}: {shown(value)} is not a number; {allowed}")
    try:
        number = float(value)
    except OverflowError:  # an integer too large for a float
        number = float("inf")
    if not lowest <= number <= highest:
        raise InputError(f"{at(where, value)}: {shown(value)} is out of range; {allowed}")
    return number
