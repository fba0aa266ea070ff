"""Texts that others wrote, parsed: whatever a parser raises of one is one clear line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from traces.base.errors import InputError, TwolevelError, shown_name

#: What Python says of a number of more digits than it converts.
_TOO_LONG = "set_int_max_str_digits"

#: So much of what a parser says is repeated, characters, and of that so much of its end.
_LONGEST, _END = 240, 60

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def parsing(form: str, source: str) -> Iterator[None]:
    """Have what a parser raises within say what is wrong with the text.

    - ``form``: what the text should be, as ``"TOML"``.
    - ``source``: its name, with which the message begins; empty if the caller adds it.

    Raises InputError for whatever the parser raises: a text that is not of this form, nested too deeply, or with a
    number that is too long.
    """
    name = f"{source}: " if source else ""
    try:
        yield
    except TwolevelError:
        raise
    except RecursionError:
        raise InputError(f"{name}not usable {form}: nested too deeply") from None
    except ArithmeticError:
        raise InputError(f"{name}not usable {form}: a number is beyond any range") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}not valid {form}: byte {error.start} is not {error.encoding.upper()}") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}not valid {form}: {error.msg} (at line {error.lineno}, column {error.colno})"
        ) from None
    except (ValueError, LookupError) as error:
        if _TOO_LONG in str(error):
            raise InputError(f"{name}not usable {form}: a number of thousands of digits") from None
        raise InputError(f"{name}not valid {form}: {_short(' '.join(str(error).split()))}") from None


def _short(said: str) -> str:
    # Parsers show what they have found, however long it is, and then where.
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - _END]}…{said[-_END:]}"


def parse_json(text: str | bytes, source: str, **how: Any) -> Any:
    """The content of a JSON text, without NaN and infinities, and with every key of an object once.

    - ``source``: as of :func:`parsing`.
    - ``**how``: parameters of :func:`json.loads`.

    Raises InputError if it is none, an object has a key twice, or it has texts that cannot be written again.
    """
    with parsing("JSON", source):
        content = json.loads(text, **{"parse_constant": _constant, "object_pairs_hook": _object, **how})
        written = text if isinstance(text, str) else text.decode("ascii", "ignore")
        if _HALF_CHARACTER.search(written):
            _check_texts(content)
        return content


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Python would keep the last value of a key and say nothing.
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        again = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{shown_name(again)}: given twice")
    return found


def _check_texts(content: Any) -> None:
    # Halves of a pair of UTF-16 are no characters: nobody could write them to a table or a terminal.
    left = [content]
    while left:
        one = left.pop()
        if isinstance(one, str) and one.encode("utf-8", "ignore").decode() != one:
            raise ValueError(f"{one!r} is no text in UTF-8")
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one
