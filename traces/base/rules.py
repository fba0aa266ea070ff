"""The compiled rules of plug-ins: functions of a signature that a contract fixes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from traces.base.errors import InputError
from traces.compiled import compiled, types


def compiled_rule(
    function: Callable[..., Any], decorator: str, *forms: tuple[types.Signature, tuple[str, ...]]
) -> Callable[..., Any]:
    """Compile a rule to the one of several signatures that takes as many arguments.

    - ``decorator``: what it was decorated with, for the error.
    - ``*forms``: a signature each, and the names of its arguments.

    Raises InputError if it has as many arguments as none.
    """
    count = len(inspect.signature(function).parameters)
    for signature, arguments in forms:
        if count == len(arguments):
            return compiled(signature)(function)
    allowed = "; or ".join(", ".join(arguments) for _, arguments in forms)
    raise InputError(f"{decorator}: {function.__name__} takes {count} arguments; allowed: {allowed}")
