"""Additional data: named values that observers compute and that policies read, as power or temperatures.

Source: the "additional data" of AccaSim (Galleguillos et al., Cluster Computing 2020, doi:10.1007/s10586-019-02905-5,
section 3), which an event manager computes and hands to the dispatcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

from traces.base.errors import RAISED_BY_PLUGINS, PluginError, one_of, raised_text

if TYPE_CHECKING:
    from bls.view import View


@runtime_checkable
class AdditionalData(Protocol):
    """Computes a named value of the present instant, for policies, observers and other additional data to read."""

    @property
    def name(self) -> str:
        """What it is read by: ``view.data["power"]``."""
        ...

    def value(self, view: View) -> Any:
        """The value, of any type.

        Called at most once an instant, when it is first read then, or one that is named after it is. It may read
        those that are named before it. It must not change anything but itself.
        """
        ...


def gives_data(observer: object) -> TypeGuard[AdditionalData]:
    """Whether an observer computes additional data: it has a method ``value``, and not just a field of this name."""
    return isinstance(observer, AdditionalData) and callable(observer.value)


def data_by_name(observers: Iterable[object]) -> dict[str, AdditionalData]:
    """Those of some observers that compute additional data, in their order.

    Raises
    ------
    PluginError
        If two have one name.
    """
    found: dict[str, AdditionalData] = {}
    for observer in filter(gives_data, observers):
        if observer.name in found:
            raise PluginError(f"observer {observer.name}: two observers give additional data of this name")
        found[observer.name] = observer
    return found


class DataOfNow(Mapping[str, Any]):
    """The additional data of a run, by name, computed as they are read; only names are known before.

    Parameters
    ----------
    givers : mapping of str to AdditionalData
        By name, in the order in which they are computed.
    view : View
        What they are shown.
    """

    def __init__(self, givers: Mapping[str, AdditionalData], view: View) -> None:
        self._givers = givers
        self._view = view
        self._values: dict[str, Any] = {}
        self._at_ns = -1
        self._computing: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._givers:
            raise PluginError(f"view.data: {one_of('additional data', name, self._givers)}")
        if self._at_ns != self._view.now_ns:
            self._at_ns, self._values = self._view.now_ns, {}
        if self._computing:
            reader = self._computing[-1]
            if name not in self._values:
                raise PluginError(
                    f"view.data: {name} is computed after {reader}; allowed: what is named before, "
                    f"{', '.join(self._values) or 'nothing'}"
                )
            return self._values[name]
        for known in self._givers:
            if name in self._values:
                break
            if known not in self._values:
                self._values[known] = self._computed(known)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._givers

    def __iter__(self) -> Iterator[str]:
        return iter(self._givers)

    def __len__(self) -> int:
        return len(self._givers)

    @property
    def is_computing(self) -> bool:
        """Whether one of them is being computed."""
        return bool(self._computing)

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or ``default`` if nobody gives this name."""
        return self[name] if name in self._givers else default

    def _computed(self, name: str) -> Any:
        where = f"observer {name}, at {self._at_ns} ns"
        self._computing.append(name)
        try:
            return self._givers[name].value(self._view)
        except PluginError as error:
            self._view._failed = PluginError(f"{where}: {error.text}")
            raise self._view._failed from error
        except RAISED_BY_PLUGINS as error:
            self._view._failed = PluginError(f"{where}: value() failed: {raised_text(error)}")
            raise self._view._failed from error
        finally:
            self._computing.pop()

    def __repr__(self) -> str:
        return f"<additional data: {', '.join(self._givers) or 'none'}>"
