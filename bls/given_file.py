"""Files that a user names: their bytes, or one clear line about why there are none."""

from __future__ import annotations

import os

from traces.errors import InputError

__all__ = ["read_given"]


def read_given(path: str | os.PathLike[str], kind: str) -> bytes:
    """All bytes of a file.

    Parameters
    ----------
    path : path-like
        As the user gave it.
    kind : str
        What it should be, as ``"workload file"``.

    Raises
    ------
    InputError
        If it is missing, a directory or not readable.
    """
    source = os.fspath(path)
    try:
        with open(source, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"{source}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{source}: is a directory, not a {kind}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{source!r}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
