"""Options are declared once: defaults, limits and names stand nowhere else, and generated pages state them."""

import ast
import inspect
import pickle
import re
from types import ModuleType
from typing import Any

import pytest
from pages import ROOT

import als.options
import bls.options
import bridge.options.declared
import traces.base.options
from bridge.cli.run_commands import COMMANDS
from bridge.cli.trace_commands import trace_app
from bridge.cli.workload_commands import workload_app
from bridge.spelling import flag, on_command_line
from tools.site.commands import command_pages
from traces import InputError
from traces.base.errors import Mention, begins_at, in_table, leading, spelled
from traces.base.options import Choice, Option, Real, Whole, number_text
from traces.base.retired import RETIRED, retired, unknown

#: Where options are declared, and the one that lets none be written elsewhere.
DECLARING = [als.options, bls.options, bridge.options.declared, traces.base.options]
_OPTIONS: dict[int, tuple[str, Option[Any]]] = {
    id(value): (f"{module.__name__}.{name}", value)
    for module in DECLARING
    for name, value in vars(module).items()
    if isinstance(value, Option)
}
DECLARED = list(_OPTIONS.values())

#: The generated pages by command.
PAGES = {text.partition("\n")[0].removeprefix("# twolevel "): text for text in command_pages().values()}


@pytest.mark.parametrize(("place", "option"), DECLARED, ids=[place for place, _ in DECLARED])
def test_a_declaration_is_whole(place: str, option: Option[Any]) -> None:
    assert option.help
    assert not option.help.endswith(".")
    assert option.name == option.name.strip()
    assert option.metavar or option.off or option.default is False
    if isinstance(option, Whole | Real):
        assert option.lowest < option.highest
        assert option.limits in option.text
        assert option.check(option.lowest) == option.lowest
        assert option.check(option.highest) == option.highest
        for outside in (option.lowest - 1, option.highest * 2):
            with pytest.raises(InputError, match=rf"^{option.keyword}=.*: .* is out of range; allowed: "):
                option.check(outside)
        if option.default is not None:
            assert option.check(option.default) == option.default
    if option.is_time:
        assert f"; a bare number is {option.unit}; " in option.text
        assert option.check(option.read("1ms")) == option.read(f"{1e-3 if option.unit == 's' else 10**6}")
        with pytest.raises(
            InputError, match=rf"^{option.keyword}: 'soon' is no time; allowed: .* number of {option.unit}$"
        ):
            option.read("soon")
    if isinstance(option, Choice):
        assert option.check(option.default) == option.default
        assert set(option.choices) <= {word.strip(",:;") for word in option.help.split()}
        with pytest.raises(InputError, match=rf"^{option.keyword}='x': unknown {option.what} 'x'; known: "):
            option.check("x")


def test_numbers_of_limits_are_short_and_exact() -> None:
    said = {0: "0", 10.0: "10", 1e-9: "1e-9", 1e-3: "0.001", 1024: "1024", 10**12: "1e12", 3600 * 10**9: "3.6e12"}
    said |= {2**20: "2^20", 2**64 - 1: "2^64 - 1", 86_400.0: "86400", 1234567.5: "1234567.5", 12345678: "12345678"}
    assert {number: number_text(number) for number in said} == said


def command_options(command: str) -> dict[str, tuple[Option[Any], Any]]:
    group, _, name = command.partition(" ")
    if name:
        commands = {"workload": workload_app, "trace": trace_app}[group].registered_commands
        function: Any = next(one.callback for one in commands if one.name == name)
    else:
        function = COMMANDS[command].function(command)
    found: dict[str, tuple[Option[Any], Any]] = getattr(function, "options", {})
    return {flag(option.name): (option, default) for option, default in found.values() if option.name.islower()}


@pytest.mark.parametrize("command", [name for name in PAGES if name != "# Commands"])
def test_the_generated_page_of_a_command_states_the_declarations(command: str) -> None:
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*) \|$", PAGES[command], re.MULTILINE)
    for name, (option, own) in command_options(command).items():
        ((head, default, meaning),) = [row for row in rows if name in re.split(r",? ", row[0])]
        meaning = meaning.replace("\\", "").replace("`", "")
        assert head.endswith(f"{name} {option.metavar}".strip()) or f"--{option.off}" in head, head
        assert option.limits in meaning, head
        assert on_command_line(option.rule) in meaning, head
        if isinstance(option, Choice):
            assert all(choice in default + meaning for choice in option.choices), head
        value = option.default if own is None else own
        if own is inspect.Parameter.empty and option.default is None:
            assert default == "needed", head
        elif option.name != "out" and value not in (None, False, "", ()) and not option.rule:
            shown = default.strip("`")
            assert shown == str(value) or float(shown) == value, head


#: Options of another program, sacct, that its readers speak of.
OF_SACCT = ("--parsable", "--parsable2", "--json", "--noheader", "--duplicates")


@pytest.mark.parametrize("package", ["als", "bls", "traces"])
def test_levels_know_no_options_of_the_command_line(package: str) -> None:
    found = [
        f"{path}:{node.lineno}: {option}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for option in re.findall(r"--[a-z][a-z0-9-]*", node.value)
        if option not in OF_SACCT or "sacct" not in path.name
    ]
    assert found == []


def test_the_change_log_lists_every_retired_option() -> None:
    page = (
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("### Retired options")[2].partition("\n### ")[0]
    )
    assert [name for name in RETIRED if not re.search(rf"`[^`]*--{name}\b", page)] == []
    assert on_command_line(retired("no_trace")) == "is now --trace none"
    assert str(unknown("option", "als_timeout_s", ["workers"], "")) == "als_timeout_s is now timeout_s"


def test_each_surface_spells_what_a_text_mentions() -> None:
    resize, preset = bls.options.RESIZE, bls.options.PRESET
    text = (
        f"{resize:none}: not with {als.options.OVERHEAD:5}, {preset:False} or {bls.options.POWER}; allowed: no {resize}"
    )
    error = InputError(text)
    assert str(error) == "resize='none': not with overhead_ns=5, preset=False or power=True; allowed: no resize"
    assert on_command_line(error.text) == (
        "--resize none: not with --overhead 5, --no-preset or --power; allowed: no --resize"
    )
    assert spelled(text, in_table) == (
        "resize = 'none': not with overhead = 5, preset = false or power = true; allowed: no resize"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert repr(error) == f"InputError({str(error)!r})"
    with pytest.raises(InputError, match=r"^resize='nobody': unknown change of widths 'nobody'; ") as caught:
        resize.check("nobody")
    assert on_command_line(caught.value.text).startswith("--resize: unknown change of widths 'nobody'; ")
    assert begins_at(caught.value.text, str(resize))
    assert not begins_at(caught.value.text, str(preset))
    assert str(InputError(f"a\ufdd0b {resize}")) == "a\\ufdd0b resize"  # half a mark, in a text of others
    assert leading(text) == (Mention("resize", "resize", "none"), text.partition("none")[2][2:])


@pytest.mark.parametrize("package", [als, bls, bridge, traces])
def test_no_signature_shows_how_options_are_marked(package: ModuleType) -> None:
    for name in package.__all__:
        public = getattr(package, name)
        shown = str(inspect.signature(public)) if inspect.isfunction(public) else repr(public)
        assert not any(0xFDD0 <= ord(character) <= 0xFDD4 for character in shown), name
