"""Every reader of texts that others write, with texts that were good until something happened to them."""

from __future__ import annotations

import functools
import json
import re
import resource
import signal
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outside_texts import READ, whole_texts

from traces.base.errors import TwolevelError, shown

pytestmark = pytest.mark.whole

#: Each example spoils so many texts; of the soak, which takes twenty times as many examples, these are 350,000 in all.
EXAMPLES, TEXTS = 60, 10

#: Seconds of processor time that nothing as small as these texts may take, and MiB that no reader may need for them all.
LONGEST_S, LARGEST_MIB = 20, 400

#: So many words of a text become so long: longer than any name of a file, and with digits than any float, yet a number.
WORDS, LONG = 200, 3000

#: Bytes that are found in texts now and then, and matter to some reader.
ODD_BYTES = (
    b"\xff", b"\0", b"\xef\xbb\xbf", b"\r", b"\n", b"\xe2\x80\xae", b"\x1b[31m", b"\x85", b"\xe2\x80\xa8", b'"', b"'", b"'''",
    b"\\", b"\\u", b"#", b";", b",", b"|", b"[", b"{", b"]", b"}", b"<", b">", b"&", b"=", b":", b"-", b"/", b"%s", b"$(",
    b"\t",    b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"a" * 70_000,
)  # fmt: skip

#: What may stand for a word or a number.
ODD_WORDS = (
    b"-1", b"0", b"-0", b"0.5", b"1e-320", b"1e308", b"1e400", b"nan", b"-inf", b"NaN", b"Infinity", b"2147483648",
    b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"1" * 40, b"9" * 5000, b"1_0", b"0x10", b"1e3",
    b"\xd9\xa1", b"true", b"null", b'""', b'"a"', b"'", b"[]", b"{}", b"[[]]", b'["a"]', b"{a = 1}", b"1979-05-27",
    b"07:32:00", b'"1h"', b'"0-3"', b'"3-1"', b'"-"', b"sample", b'"sample"', b"x.py:y", b'"x.py:y"', b"/dev/null/x", b"..",
    b"a b", b"None", b"__class__", b"a" * 300, b'"\x1b[31m"', b'"\\u0007"', b'"\\ud800"', b'"\\n"',
)  # fmt: skip

ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e308, 2**31, 2**63 - 1, 2**63, 10**400, "", "a", "1", "\0", "\x1b[31m", "\u202e", "\n", "-", [],
    {},    [[]], [1], ["a"], {"a": 1}, [None], "a" * 300, -(2**63) - 1,
)  # fmt: skip

WORD = re.compile(rb'[\w.+-]+|"[^"\n]*"|\s+|.', re.DOTALL)


def flip(text: bytes, at: int, what: int) -> bytes:
    at %= max(1, len(text))
    return text[:at] + bytes([text[at] ^ 1 << what % 8]) + text[at + 1 :] if text else b""


def insert(text: bytes, at: int, what: int) -> bytes:
    at %= len(text) + 1
    return text[:at] + ODD_BYTES[what % len(ODD_BYTES)] + text[at:]


def remove(text: bytes, at: int, what: int) -> bytes:
    at %= len(text) + 1
    return text[:at] + text[at + 1 + what % 40 :]


def cut(text: bytes, at: int, what: int) -> bytes:
    return text[: at % (len(text) + 1)]


def repeat(text: bytes, at: int, what: int) -> bytes:
    at %= len(text) + 1
    return text[: at + 1 + what % 200] + text[at:]


def word_by_odd(text: bytes, at: int, what: int) -> bytes:
    return _words(text, at, lambda words, one: [ODD_WORDS[what % len(ODD_WORDS)]])


def word_by_other(text: bytes, at: int, what: int) -> bytes:
    return _words(text, at, lambda words, one: [words[what % len(words)]])


def word_removed(text: bytes, at: int, what: int) -> bytes:
    return _words(text, at, lambda words, one: [])


def _words(text: bytes, at: int, new: Callable[[list[bytes], bytes], list[bytes]]) -> bytes:
    words = WORD.findall(text[:100_000])
    solid = [k for k, word in enumerate(words) if not word.isspace()]
    if not solid:
        return text
    k = solid[at % len(solid)]
    return b"".join([*words[:k], *new([words[one] for one in solid], words[k]), *words[k + 1 :]])


def line_moved(text: bytes, at: int, what: int) -> bytes:
    lines = text.splitlines(keepends=True)
    lines.insert(what % (len(lines) or 1), lines.pop(at % len(lines)) if lines else b"")
    return b"".join(lines)


def line_repeated(text: bytes, at: int, what: int) -> bytes:
    lines = text.splitlines(keepends=True) or [b""]
    at %= len(lines)
    times = (1, 2, 3, 300)[what % 4] if len(text) < 100_000 else 1  # or four times 300 would be beyond any memory
    return b"".join([*lines[:at], *[lines[at]] * times, *lines[at:]])


def value_by_odd(text: bytes, at: int, what: int) -> bytes:
    return _value(text, at, lambda holder, key: holder.__setitem__(key, ODD_VALUES[what % len(ODD_VALUES)]))


def value_removed(text: bytes, at: int, what: int) -> bytes:
    return _value(text, at, lambda holder, key: holder.__delitem__(key))


def value_renamed(text: bytes, at: int, what: int) -> bytes:
    return _value(
        text, at, lambda holder, key: holder.__setitem__(str(ODD_VALUES[what % len(ODD_VALUES)]), holder.pop(key))
    )


def value_by_other(text: bytes, at: int, what: int) -> bytes:
    def other(holder: Any, key: Any) -> None:
        found = _places(content)
        there, of = found[what % len(found)]
        holder[key] = json.loads(json.dumps(there[of]))

    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return word_by_other(text, at, what)
    return _value(text, at, other)


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every value within a JSON text, by what holds it and where."""
    found, left = [], [content]
    while left:
        one = left.pop()
        inner = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        found += [(one, key) for key in inner]
        left += [one[key] for key in inner]
    return found


def _value(text: bytes, at: int, change: Callable[[Any, Any], object]) -> bytes:
    """A JSON text with one value changed; another text with one word changed."""
    try:
        content = json.loads(text)
        places = _places(content)
    except (ValueError, RecursionError):
        return word_by_odd(text, at, at // 7)
    if not places:
        return text
    holder, key = places[at % len(places)]
    try:
        change(holder, key)
    except (AttributeError, TypeError):  # an element of a list has no name
        return text
    return json.dumps(content).encode()


Spoil = Callable[[bytes, int, int], bytes]

#: What may happen to a text: of its bytes, its words, its lines, its values.
SPOILS: tuple[Spoil, ...] = (
    flip, insert, remove, cut, repeat, word_by_odd, word_by_odd, word_by_odd, word_by_other, word_removed, line_moved,
    line_repeated, value_by_odd, value_by_odd, value_removed, value_renamed, value_by_other,
)  # fmt: skip


@functools.cache
def whole() -> dict[str, list[bytes]]:
    """What each reader takes. No fixture: of an example that fails all arguments are printed."""
    return whole_texts()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a text is written in every example."""
    return tmp_path_factory.mktemp("spoilt")


@pytest.fixture(scope="module", autouse=True)
def _bounded() -> Iterator[None]:
    """What takes too long is interrupted, as far as Python can; what has needed too much memory is seen at the end."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"more than {LONGEST_S} s of processor time")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handler = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < LARGEST_MIB * 1024


def read(reader: str, path: Path, text: bytes) -> str:
    """What a reader says against a text; nothing if it takes it."""
    path.write_bytes(text)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        READ[reader](path)
    except TwolevelError as error:
        return str(error) or "nothing"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {shown(str(error))} of {text[:5000]!r}") from error
    return ""


def check(reader: str, path: Path, text: bytes) -> None:
    """That a text is taken, or refused in one line, not too long, that names the file."""
    said, folder = read(reader, path, text), str(path.parent)
    told = f"{said[:2000]!r} of {text[:5000]!r}"
    assert said.isprintable(), told
    assert len(said) < 900 + 2 * len(folder), told
    assert not said or reader == "program" or folder in said, told


@pytest.mark.parametrize("reader", READ)
def test_whole_texts_are_taken(tmp_path: Path, reader: str) -> None:
    assert whole()[reader]
    for text in whole()[reader]:
        assert read(reader, tmp_path / "x.txt", text) == ""


@pytest.mark.parametrize("reader", READ)
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**64 - 1))
def test_a_spoilt_text_is_taken_or_refused_in_one_line(folder: Path, reader: str, seed: int) -> None:
    draw = Random(seed)
    for _ in range(TEXTS):
        text = draw.choice(whole()[reader])
        for _ in range(draw.randint(1, 4)):
            text = draw.choice(SPOILS)(text, draw.randrange(20_000), draw.randrange(200))
        check(reader, folder / "x.txt", text)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.release)])
@pytest.mark.parametrize("reader", READ)
def test_a_word_of_any_length_anywhere(folder: Path, reader: str, every: int) -> None:
    for text in whole()[reader]:
        words = WORD.findall(text[:100_000])
        solid = [k for k, word in enumerate(words) if not word.isspace()][:WORDS]
        for k, how in list(product(solid, range(3)))[::every]:
            longer = words[k][:-1] + b"a" * LONG + words[k][-1:]
            new = (longer, b"9" * LONG, b'"' + b"a" * LONG + b'"')[how]
            check(reader, folder / "x.txt", b"".join([*words[:k], new, *words[k + 1 :]]))
