"""Additional data: named values that observers compute and that policies read, as power or temperatures.

Source: the "additional data" of AccaSim (Galleguillos et al., Cluster Computing 2020, doi:10.1007/s10586-019-02905-5,
section 3), which an event manager computes and hands to the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from traces.base.errors import RAISED_BY_PLUGINS, PluginError, one_of, raised_text


class DataOfNow(Mapping[str, Any]):
    """The additional data of a run, by name, computed as they are read; only names are known before. ``givers``: what computes
    each, by name, in the order in which they are computed. ``failed``: what went wrong with them, whoever read them."""

    def __init__(self, givers: Mapping[str, Callable[[], Any]], now: Callable[[], int]) -> None:
        self._givers, self._now = givers, now
        self.failed: PluginError | None = None
        self._values: dict[str, Any] = {}
        self._at_ns = -1
        self._computing: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._givers:
            raise PluginError(f"view.data: {one_of('additional data', name, self._givers)}")
        if self._at_ns != (now_ns := self._now()):
            self._at_ns, self._values = now_ns, {}
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
            return self._givers[name]()
        except PluginError as error:
            self.failed = PluginError(f"{where}: {error.text}")
            raise self.failed from error
        except RAISED_BY_PLUGINS as error:
            self.failed = PluginError(f"{where}: value() failed: {raised_text(error)}")
            raise self.failed from error
        finally:
            self._computing.pop()

    def __repr__(self) -> str:
        return f"<additional data: {', '.join(self._givers) or 'none'}>"
