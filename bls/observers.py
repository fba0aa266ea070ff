"""Observers: plug-ins that watch a run and note values, or compute additional data for policies.

Source of additional data (named values such as power or temperatures): AccaSim (Galleguillos et al., Cluster Computing 2020,
doi:10.1007/s10586-019-02905-5, section 3), in which an event manager computes them and hands them to the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

from bls.engine.state import NEVER
from traces.base.errors import RAISED_BY_PLUGINS, InputError, PluginError, raised_text, shown, whole
from traces.base.time import MAX_NS

if TYPE_CHECKING:
    from bls.view import View

Note = dict[str, "float | int | str"]


@runtime_checkable
class Observer(Protocol):
    """Is called at intervals during a run and may note values."""

    @property
    def name(self) -> str:
        """Its name in the table of observations."""

    @property
    def every_ns(self) -> int | None:
        """The interval between calls, ns.

        None: after every instant with events; otherwise at every multiple, from 0 to the last end.
        """

    def look(self, view: View) -> Mapping[str, float | int | str] | None:
        """Observe the state after all events up to ``view.now_ns``.

        The returned values become a row of the run's table of observations, with the instant; None: no row. The values of a
        name are either all numbers or all words. ``view`` is read-only.
        """


@runtime_checkable
class AdditionalData(Protocol):
    """Computes a named value of the present instant for policies, observers and other additional data."""

    @property
    def name(self) -> str:
        """Its name for readers: ``view.data["power"]``."""

    def value(self, view: View) -> Any:
        """The value, of any type.

        It is called at most once per instant, when this value or a later one is first read. It may read earlier values in the
        order of names. It must change nothing but itself.
        """


#: Accepted by ``observe``: observers, sources of additional data, and objects that are both.
AnyObserver: TypeAlias = Observer | AdditionalData


def gives_data(observer: object) -> TypeGuard[AdditionalData]:
    """Whether an observer computes additional data: it has a method ``value``, and not just a field of this name."""
    return isinstance(observer, AdditionalData) and callable(observer.value)


class Observers:
    """The observers of one run, and the functions of its sources of additional data, by name (``data``). ``noted`` has a row
    for each note: name of the observer, instant, and values. ``so_far`` is the fingerprint of progress at the latest call.
    Raises PluginError if two sources have the same name, or an interval is out of range."""

    def __init__(self, given: Sequence[AnyObserver]) -> None:
        self.observers = [one for one in given if isinstance(one, Observer)]
        self.data: dict[str, Callable[[View], Any]] = {}
        for giver in filter(gives_data, given):
            if giver.name in self.data:
                raise PluginError(f"observer {giver.name}: two observers give additional data of this name")
            self.data[giver.name] = giver.value
        self.noted: list[Note] = []
        self._next = [0 for _ in self.observers]
        self._kinds: dict[str, str] = {}
        self.so_far: tuple[int, ...] = ()
        for observer in self.observers:
            try:
                if observer.every_ns is not None:
                    whole("every_ns", observer.every_ns, 1, MAX_NS)
            except InputError as error:
                raise PluginError(f"observer {observer.name}: {error.text}, or None: after every event") from None

    @property
    def next_ns(self) -> int:
        """The instant of the next call of an observer; ``NEVER`` without observers."""
        return min(self._next, default=NEVER)

    def look(self, view: View, *, happened_ns: int, until_ns: int, so_far: tuple[int, ...]) -> None:
        """Call the observers that are due, by instant, then in the given order. ``view`` is valid from ``happened_ns`` to
        ``until_ns``; ``so_far`` is unchanged if nothing has happened since the latest call."""
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
            raise view.data.failed  # the observer continued without it
        if noted is None:
            return
        if not isinstance(noted, Mapping):
            raise PluginError(f"{where}: look() gave {shown(noted)}; allowed: a mapping of names to values, or None")
        row: Note = {"observer": observer.name, "now_ns": now_ns}
        for name, value in noted.items():
            row[str(name)] = self._checked(str(name), value, where)
        self.noted.append(row)

    def _checked(self, name: str, value: object, where: str) -> float | int | str:
        # Each column of the table has one type.
        if name in ("observer", "now_ns"):
            raise PluginError(f"{where}: look() gave a value {name}; there is such a column already")
        plain: float | int | str
        if isinstance(value, str):
            plain = str(value)
        elif isinstance(value, Integral) and -(2**63) <= int(value) < 2**63:
            plain = int(value)
        elif isinstance(value, Real) and not isinstance(value, Integral):
            plain = float(value)
        else:
            raise PluginError(f"{where}: look() gave {name} = {shown(value)}; allowed: int64, float, str")
        kind = "word" if isinstance(plain, str) else "number"
        if (before := self._kinds.setdefault(name, kind)) != kind:
            raise PluginError(f"{where}: look() gave {name} = {shown(value)}, and before a {before}")
        return plain
