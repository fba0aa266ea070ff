"""When the observers of a run look, and what they note; and which of them give additional data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TypeGuard

from bls.engine.state import NEVER
from bls.view import AdditionalData, AnyObserver, Observer, View
from traces.base.errors import RAISED_BY_PLUGINS, InputError, PluginError, raised_text, shown, whole
from traces.base.time import MAX_NS

Note = dict[str, "float | int | str"]


def gives_data(observer: object) -> TypeGuard[AdditionalData]:
    """Whether an observer computes additional data: it has a method ``value``, and not just a field of this name."""
    return isinstance(observer, AdditionalData) and callable(observer.value)


class Observers:
    """The observers of one run: ``observers`` look, and ``data`` are the additional data, by name. Raises PluginError if two
    give additional data of one name, or one looks at no interval that can be.

    ``noted`` has a row each time one noted something: its name, the instant, and what it noted. ``so_far`` shows whether
    something happened since the latest look.
    """

    def __init__(self, given: Sequence[AnyObserver]) -> None:
        self.observers = [one for one in given if isinstance(one, Observer)]
        self.data: dict[str, AdditionalData] = {}
        for giver in filter(gives_data, given):
            if giver.name in self.data:
                raise PluginError(f"observer {giver.name}: two observers give additional data of this name")
            self.data[giver.name] = giver
        self.noted: list[Note] = []
        self._next = [0 for _ in self.observers]
        self._kinds: dict[str, str] = {}
        self.so_far: tuple[int, ...] = ()
        for observer in self.observers:
            try:
                if observer.every_ns is not None:
                    whole("every_ns", observer.every_ns, 1, MAX_NS)
            except InputError as error:
                raise PluginError(
                    f"observer {observer.name}: {error.text}, or None: whenever something happened"
                ) from None

    @property
    def next_ns(self) -> int:
        """Before the first event after this instant an observer may look; ``NEVER`` if none looks."""
        return min(self._next, default=NEVER)

    def look(self, view: View, *, happened_ns: int, until_ns: int, so_far: tuple[int, ...]) -> None:
        """Let observers look whose time has come, by instant, then in the order in which they were given. ``view`` is as it is
        from ``happened_ns`` to ``until_ns``; ``so_far`` is the same as the last time if nothing happened since."""
        new, self.so_far = so_far != self.so_far, so_far
        while (at := self.next_ns) <= until_ns:
            for k, observer in enumerate(self.observers):
                if self._next[k] != at:
                    continue
                if observer.every_ns is not None:
                    self._ask(observer, view, at)
                    self._next[k] = at + int(observer.every_ns)
                else:
                    if new:
                        self._ask(observer, view, happened_ns)
                    self._next[k] = until_ns + 1
        view._now_ns = happened_ns

    def _ask(self, observer: Observer, view: View, now_ns: int) -> None:
        view._now_ns = now_ns
        where = f"observer {observer.name}, at {now_ns} ns"
        try:
            noted = observer.look(view)
        except PluginError as error:
            raise view.data.failed or PluginError(f"{where}: {error.text}") from error
        except RAISED_BY_PLUGINS as error:
            raise view.data.failed or PluginError(f"{where}: look() failed: {raised_text(error)}") from error
        if view.data.failed is not None:
            raise view.data.failed  # though the observer went on without it
        if noted is None:
            return
        if not isinstance(noted, Mapping):
            raise PluginError(f"{where}: look() gave {shown(noted)}; allowed: a mapping of names to values, or None")
        row: Note = {"observer": observer.name, "now_ns": now_ns}
        for name, value in noted.items():
            row[str(name)] = self._checked(str(name), value, where)
        self.noted.append(row)

    def _checked(self, name: str, value: object, where: str) -> float | int | str:
        # A column of the table has one type.
        if name in ("observer", "now_ns"):
            raise PluginError(f"{where}: look() gave a value {name}; there is such a column already")
        plain: float | int | str
        if isinstance(value, str):
            plain, kind = str(value), "word"
        elif isinstance(value, Integral) and -(2**63) <= int(value) < 2**63:
            plain, kind = int(value), "number"
        elif isinstance(value, Real) and not isinstance(value, Integral):
            plain, kind = float(value), "number"
        else:
            raise PluginError(f"{where}: look() gave {name} = {shown(value)}; allowed: int64, float, str")
        if (before := self._kinds.setdefault(name, kind)) != kind:
            raise PluginError(f"{where}: look() gave {name} = {shown(value)}, and before a {before}")
        return plain
