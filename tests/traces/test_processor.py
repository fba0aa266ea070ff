"""The processor's name, from what the system says."""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

import pytest

from traces.base.processor import processor_model

X86 = """processor\t: 0
vendor_id\t: AuthenticAMD
model\t\t: 17
model name\t: AMD EPYC: 7763

processor\t: 1
model name\t: other
"""


@pytest.mark.parametrize(
    ("told", "name"), [(X86, "AMD EPYC: 7763"), ("processor\t: 0\nFeatures\t: fp\n", None), (None, None)]
)
def test_the_first_model_name_or_the_kind_of_machine(monkeypatch: Any, told: str | None, name: str | None) -> None:
    def read(path: str, **_: Any) -> io.StringIO:
        assert path == "/proc/cpuinfo"
        if told is None:
            raise FileNotFoundError(path)
        return io.StringIO(told)

    monkeypatch.setattr(builtins, "open", read)
    assert processor_model() == (name or os.uname().machine)
