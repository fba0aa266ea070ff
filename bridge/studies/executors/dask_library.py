"""The one door to Dask's libraries, which are an extra: ``pip install 'twolevel[cluster]'``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from traces.base.errors import InputError

__all__ = ["dask_library"]


def dask_library(name: str) -> Any:
    """A module of Dask, by its name.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"--cluster: {error}; pip install 'twolevel[cluster]' brings what it needs") from None
