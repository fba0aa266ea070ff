"""What the commands say that look at machine code, where it came with the package."""

from __future__ import annotations

import pytest

from bridge.cli import doctor, kernel_commands
from traces.kernels import shipped


@pytest.fixture
def _came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "units", lambda: frozenset({"als.engine.loop", "bls.engine.loop"}))
    monkeypatch.setattr("traces.compiled.jit_enabled", lambda: True)


@pytest.mark.usefixtures("_came")
def test_nothing_is_left_to_compile(capsys: pytest.CaptureFixture[str]) -> None:
    kernel_commands.warm_up_command(everything=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "machine code of all 2 modules came with the package: there is nothing to compile\n"


@pytest.mark.usefixtures("_came")
def test_the_doctor_says_where_it_is() -> None:
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["kernels"] == (f"{shipped.FOLDER}: machine code of all 2 modules came with the package", True)
