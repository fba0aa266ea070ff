"""Options that several commands of the command line have in common, written once: as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["bundled"]


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose arguments that are dataclasses stand for their fields: each field is an option of its own.

    Parameters
    ----------
    command : callable
        A command as Typer takes it. An argument that is annotated with a dataclass, of fields as
        ``Annotated[type, typer.Option(…)]`` with defaults, is given an instance of it.

    Returns
    -------
    callable
        The same, with the fields in place of such an argument.
    """
    bundles: dict[str, Any] = {}
    arguments: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for argument in inspect.signature(command).parameters.values():
        kind = hints[argument.name]
        if is_dataclass(kind):
            bundles[argument.name] = kind
            types = get_type_hints(kind, include_extras=True)
            given = [(one.name, types[one.name], one.default) for one in fields(kind)]
        else:
            given = [(argument.name, kind, argument.default)]
        for name, hint, default in given:
            missing = default is MISSING or default is inspect.Parameter.empty
            arguments.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if missing else default,
                    annotation=hint,
                )
            )

    @wraps(command)
    def flat(**values: Any) -> None:
        for name, kind in bundles.items():
            values[name] = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
        command(**values)

    del flat.__wrapped__
    flat.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    flat.__annotations__ = {one.name: one.annotation for one in arguments}
    return flat
