"""Numbers that a user writes are read in one place: no underscore, no digit of another script, no space, no other base."""

import inspect
import re
from pathlib import Path

import pytest
from command_line import twolevel
from tables import table_rows
from typer.main import get_command

from bridge.cli.run_commands import command_line
from bridge.options.bundles import NUMBERS, _kind
from bridge.standard_error import on_command_line
from traces.base.errors import InputError, parse_real, parse_whole

ROOT = Path(__file__).parents[2]

#: Texts that Python's ``int`` or ``float`` takes, and that are no numbers here.
ODD = ("1_0", "\uff11", "\u0661", " 1", "1 ", "1\n", "1_0.5", "0_0")


@pytest.mark.parametrize("text", [*ODD, "", "+", "0x1F", "1e3_0", "1e", "²", "--1"])
def test_texts_that_are_no_numbers(text: str) -> None:
    for parse in (parse_whole, parse_real):
        with pytest.raises(ValueError, match="number"):
            parse(text)


def test_texts_that_are_numbers() -> None:
    assert [parse_whole(text) for text in ("0", "-7", "+7", "007", "9" * 40)] == [0, -7, 7, 7, int("9" * 40)]
    reals = {"0": 0, "-.5": -0.5, "5.": 5, "1e3": 1e3, "2.5E-3": 2.5e-3, "inf": float("inf")}
    assert {text: parse_real(text) for text in reals} == reals


def test_every_number_of_every_command() -> None:
    tried, groups = 0, [get_command(command_line(""))]
    for one in (one for group in groups for one in group.commands.values()):  # type: ignore[attr-defined]
        if hasattr(one, "commands"):
            groups.append(one)
            continue
        annotations = inspect.signature(one.callback, eval_str=True).parameters
        for option in (option for option in one.params if option.name in annotations):
            annotation = annotations[option.name].annotation
            if _kind(annotation) not in NUMBERS:
                assert not {"int", "float"} & set(re.findall(r"\w+", str(annotation))), (one.name, option.name)
                continue
            declared, _ = getattr(one.callback, "options", {}).get(option.name, (None, None))
            for text in ODD:
                if text.strip() == "1" and declared is not None and declared.is_time:
                    continue  # a time may have spaces around it
                with pytest.raises(InputError) as caught:
                    one.make_context(one.name, [option.opts[0], text])
                assert on_command_line(caught.value.text).startswith(f"{max(option.opts, key=len)}: ")
                tried += 1
    assert tried > 400


@pytest.mark.parametrize("words", [words for (words,) in table_rows(__file__, "refused")])
def test_odd_numbers_within_words(here: Path, words: str) -> None:
    ran = twolevel(*words.split())
    assert (ran.code, ran.out) == (2, ""), ran
    assert ran.err.count("\n") == 1
