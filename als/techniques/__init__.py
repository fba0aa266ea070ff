"""The loop-scheduling techniques, one a file, named as the literature names them.

To add one: a file here, a line in :data:`TECHNIQUES`. Outside packages add theirs under the entry-point group
``twolevel.techniques``; a single run can take one from a file, ``--als my.py:MY``.
"""

from __future__ import annotations

from als.techniques.contract import NEXT_CHUNK, Technique, technique_kernel
from als.techniques.fac import FAC
from als.techniques.gss import GSS
from als.techniques.ss import SS
from als.techniques.static import STATIC
from traces.plugins import resolve

__all__ = ["NEXT_CHUNK", "TECHNIQUES", "Technique", "technique", "technique_kernel"]

TECHNIQUES: dict[str, Technique] = {
    "static": STATIC,
    "ss": SS,
    "gss": GSS,
    "fac": FAC,
}


def technique(name: str, *, where: str = "--als", also: tuple[str, ...] = ()) -> Technique:
    """The technique of this name.

    Parameters
    ----------
    name : str
        A name in :data:`TECHNIQUES`, one that an installed package adds, or ``FILE.py:NAME``.
    where : str
        The option it was given in, for the error.
    also : tuple of str
        Further names that the caller understands itself; the error lists them.

    Raises
    ------
    InputError
        If there is none; the message lists the known ones, nearest first.
    """
    return resolve("application technique", name, TECHNIQUES, "twolevel.techniques", Technique, where, also)
