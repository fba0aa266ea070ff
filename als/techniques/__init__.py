"""The loop-scheduling techniques, one per file, named as the literature names them.

To add one: a file here and a line in :data:`TECHNIQUES`. Other packages add techniques under the entry-point group
``twolevel.techniques``; a run can take one from a file, ``als my.py:MY``.
"""

from typing import Any

from als.techniques.contract import PREFIX, Selection, Technique, technique_kernel
from als.techniques.openmp import from_openmp, rejoin_chunks
from traces.base.errors import InputError, parse_list, shown
from traces.base.plugins import Registry, at_its_place, resolve, split_names, split_parameters, with_parameters
from traces.base.time import parse_duration_ns

__all__ = ["TECHNIQUES", "Selection", "Technique", "spelled", "split_techniques", "technique", "technique_kernel"]

AnyTechnique = Technique | Selection  #: the scheduler of a loop: one technique, or a choice among several

TECHNIQUES = Registry[Technique](
    {
        "static": "als.techniques.fixed.static:STATIC",
        "ss": "als.techniques.fixed.ss:SS",
        "fsc": "als.techniques.fixed.fsc:FSC",
        "mfsc": "als.techniques.fixed.fsc:MFSC",
        "gss": "als.techniques.fixed.gss:GSS",
        "guided": "als.techniques.fixed.guided:GUIDED",
        "tss": "als.techniques.fixed.tss:TSS",
        "fac": "als.techniques.fixed.fac:FAC",
        "fac2": "als.techniques.fixed.fac:FAC2",
        "fac-mu-sigma": "als.techniques.fixed.fac_mu_sigma:FAC_MU_SIGMA",
        "mfac": "als.techniques.fixed.fac_mu_sigma:MFAC",
        "wf": "als.techniques.fixed.wf:WF",
        "tfss": "als.techniques.fixed.tss:TFSS",
        "fiss": "als.techniques.fixed.fiss:FISS",
        "viss": "als.techniques.fixed.fiss:VISS",
        "rnd": "als.techniques.fixed.rnd:RND",
        "pls": "als.techniques.fixed.pls:PLS",
        "tap": "als.techniques.fixed.tap:TAP",
        "bold": "als.techniques.adaptive.bold:BOLD",
        "static-steal": "als.techniques.fixed.static_steal:STATIC_STEAL",
        "awf": "als.techniques.adaptive.awf:AWF",
        "awf-b": "als.techniques.adaptive.awf:AWF_B",
        "awf-c": "als.techniques.adaptive.awf:AWF_C",
        "awf-d": "als.techniques.adaptive.awf:AWF_D",
        "awf-e": "als.techniques.adaptive.awf:AWF_E",
        "af": "als.techniques.adaptive.af:AF",
        "maf": "als.techniques.adaptive.af:MAF",
    }
)


def split_techniques(text: str) -> list[str]:
    """Split a list of techniques separated by commas.

    A comma before ``key=`` belongs to the parameters of the technique before it, and a comma before a number to an OpenMP
    schedule, as in ``static,4``. A selection takes everything that follows it, unless its candidates are in parentheses.

    >>> split_techniques("ss, fsc:h=1e-6,sigma=0.2, select:(gss,fac), tss")
    ['ss', 'fsc:h=1e-6,sigma=0.2', 'select:(gss,fac)', 'tss']
    >>> split_techniques("ss,select:gss,fac")
    ['ss', 'select:gss,fac']
    """
    names: list[str] = []
    for name in rejoin_chunks(split_names(text)):
        if names and names[-1].startswith(PREFIX) and "(" not in names[-1]:
            names[-1] += f",{name}"
        else:
            names.append(name)
    return names


def spelled(name: str) -> str:
    """Return the one spelling of a technique: no spaces, parameters by name, a schedule of OpenMP by the technique's own name.
    Other names are returned unchanged.

    >>> spelled("dynamic, 4"), spelled("fsc:sigma=20, h=1e-3"), spelled("select:(gss, fac), every=60s")
    ('ss:chunk=4', 'fsc:h=1e-3,sigma=20', 'select:gss,fac,every=60s')
    """
    if name.strip().startswith(PREFIX):
        text, every = _candidates(name.strip())
        names = [spelled(one) for one in rejoin_chunks(split_names(text))]
        return PREFIX + ",".join([*names, *([] if every is None else [f"every={every.strip()}"])])
    try:
        plain, text = split_parameters(from_openmp(name, "").strip())
    except InputError:
        return name
    pairs = [[word.strip() for word in one.split("=", 1)] for one in text.split(",")]
    if not text or "(" in text or any(len(pair) < 2 for pair in pairs):
        return f"{plain}:{text}" if text else plain
    return f"{plain}:{','.join(map('='.join, sorted(pairs)))}"


def technique(name: str, *, where: str = "name", also: tuple[str, ...] = ()) -> AnyTechnique:
    """Return the technique, or the selection, with this name.

    Parameters
    ----------
    name : str
        A name (docs/reference/techniques.md): a key of :data:`TECHNIQUES`, one that an installed package adds, or
        ``FILE.py:NAME`` (docs/how-to/techniques-plug-ins.md), with parameters; an OpenMP schedule; or ``select:NAME,NAME,…``.
    where : str
        The option or argument that gave it, for errors.
    also : tuple of str
        Further names, handled by the caller, that the error lists.

    Raises
    ------
    InputError
        If there is none (the message lists the known names, nearest first), or its parameters are invalid.
    PluginError
        If a file or a package gives something other than a technique.
    """
    if name.startswith(PREFIX):
        return _selection(name, where)
    name = from_openmp(name, where)
    plain, text = split_parameters(name)
    known, colon, rest = name.partition(":")
    if colon and not text and known in TECHNIQUES:
        raise InputError(f"{where}: {name}: {shown(rest)} is no parameter; allowed: key=value, separated by commas")
    found: Any = resolve("application technique", plain, TECHNIQUES, "twolevel.techniques", object, where, also)
    if not isinstance(found, Technique):
        from als.techniques.python_technique import PythonTechnique  # imports this package's contract

        if not callable(getattr(found, "chunk", None)):
            given = type(found).__name__
            raise InputError(
                f"{where}: {plain} is of type {given}; allowed: Technique, or a class with chunk(self, ask)"
            )
        if text:
            found = with_parameters(found, text, where, "application technique")
        return PythonTechnique(found, plain)
    made: Technique = found
    if text:
        if made.parameters is None:
            raise InputError(f"{where}: {name}: technique {made.name} has no parameters")
        with at_its_place(where):
            made = with_parameters(made.parameters, text, where, "application technique").technique()
    if plain in TECHNIQUES:
        return made
    from als.techniques.trial import try_out  # compiles, which built-in techniques do not need

    return try_out(made)


def _candidates(name: str) -> tuple[str, str | None]:
    # A selection's candidates, and its own parameter, the last one, within the parentheses or after them.
    text, every = name.removeprefix(PREFIX).strip(), None
    for _ in range(2):
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1]
        before, comma, last = text.rpartition(",")
        key, equals, value = last.partition("=")
        if every is None and comma and equals and key.strip() == "every":
            text, every = before.strip(), value
    return text, every


def _selection(name: str, where: str) -> Selection:
    text, every = _candidates(name)
    every_ns = parse_duration_ns(every, f"{where}: {name}: every") if every is not None else 0
    if text:  # without any candidate, the selection says how many there must be
        parse_list(text, f"{where}: {name}")
    candidates, written = [], rejoin_chunks(split_names(text))
    for candidate in written:
        found = technique(candidate, where=where)
        if isinstance(found, Selection):
            raise InputError(f"{where}: {name}: a selection within a selection; allowed: techniques")
        candidates.append(found)
    return Selection(tuple(candidates), every_ns, name, tuple(written))
