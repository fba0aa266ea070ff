"""Additional data of a run for policies and observers, which observers compute (``bls.observers``)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from traces.base.errors import RAISED_BY_PLUGINS, PluginError, one_of, raised_text


class DataOfNow(Mapping[str, Any]):
    """The additional data of a run, by name, computed when read. ``givers``: the functions by name, in the order of
    computation. ``failed``: the latest error, whichever reader caused it. ``computing``: the names that are being computed."""

    def __init__(self, givers: Mapping[str, Callable[[], Any]], now: Callable[[], int]) -> None:
        self._givers, self._now = givers, now
        self.failed: PluginError | None = None
        self._values: dict[str, Any] = {}
        self._at_ns = -1
        self.computing: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._givers:
            raise PluginError(f"view.data: {one_of('additional data', name, self._givers)}")
        if self._at_ns != (now_ns := self._now()):
            self._at_ns, self._values = now_ns, {}
        if self.computing:
            reader = self.computing[-1]
            if name not in self._values:
                earlier = ", ".join(self._values) or "none here"
                raise PluginError(f"view.data: {name} is computed after {reader}; allowed: earlier names, {earlier}")
            return self._values[name]
        for known in self._givers:
            if name in self._values:
                break
            if known not in self._values:
                self._values[known] = self._computed(known)
        return self._values[name]

    def __contains__(self, name: object) -> bool:  # without computing it
        return name in self._givers

    def __iter__(self) -> Iterator[str]:
        return iter(self._givers)

    def __len__(self) -> int:
        return len(self._givers)

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or ``default`` if there is no such name."""
        return self[name] if name in self._givers else default

    def _computed(self, name: str) -> Any:
        where = f"observer {name}, at {self._at_ns} ns"
        self.computing.append(name)
        try:
            return self._givers[name]()
        except PluginError as error:
            self.failed = PluginError(f"{where}: {error.text}")
            raise self.failed from error
        except RAISED_BY_PLUGINS as error:
            self.failed = PluginError(f"{where}: value() failed: {raised_text(error)}")
            raise self.failed from error
        finally:
            self.computing.pop()

    def __repr__(self) -> str:
        return f"<additional data: {', '.join(self._givers) or 'none'}>"
