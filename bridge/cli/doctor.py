"""Checks of ``twolevel doctor``: versions, kernels, the OTF2 library, our package names, and what is optional."""

import importlib.util
import os
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from bridge.runs.library_versions import NOT_INSTALLED, versions, versions_of
from bridge.standard_error import lined_up

Finding = tuple[str, str, bool]  #: (checked item, finding, whether it is all right)

#: The project's top-level packages, by the imported name.
_PACKAGES = {"bls": "bls", "als": "als", "bridge": "bridge", "traces": "traces", "twolevel": "twolevel.py"}


def _cache() -> Finding:
    try:
        from traces.compiled import jit_enabled
        from traces.kernels.store import SHIPPED, cache_directory, shipped_units, unit_names, why_unused
    except ImportError as error:
        return "kernels", f"cannot be looked at: {error}", False
    if not jit_enabled():
        return "kernels", "NUMBA_DISABLE_JIT is set: nothing is compiled, kernels run as plain Python (slow)", True
    if came := shipped_units():
        return "kernels", f"{SHIPPED}: machine code of all {len(came)} modules came with the package", True
    if (why := why_unused()) is not None:
        return "kernels", f"compiled again in every run: {why}", False
    usable, damaged = unit_names()
    state = f"machine code of {usable} modules can be used" if usable else "none yet: the first run compiles them"
    if damaged:
        state += f", {damaged} of these are damaged and will be compiled again"
    return "kernels", f"{cache_directory()}: {state}", True


def _otf2_library() -> Finding:
    try:
        from traces.exporters.otf2.library import c_functions

        functions = c_functions()
    except Exception as error:
        return "OTF2 library", f"cannot be used: {type(error).__name__}: {error}", False
    return "OTF2 library", f"otf2 {versions()['otf2']}, {len(functions)} C functions found", True


def _slurm() -> str:
    try:
        from bridge.replay.installed import installed_slurm
        from traces.base.errors import InputError
    except ImportError as error:
        return f"cannot be looked at: {error}"
    try:
        slurm = installed_slurm()
    except InputError as error:
        return f"none that `twolevel replay` can use: {error.text}"
    return f"{slurm.release} in {slurm.slurmctld}: a release that `twolevel replay` knows"


def _openmp() -> str:
    try:
        from bridge.measure.openmp import installed_openmp
        from traces.base.errors import InputError
    except ImportError as error:
        return f"cannot be looked at: {error}"
    try:
        return f"{installed_openmp().library}, with the interface that `twolevel measure` needs"
    except InputError as error:
        return f"none that `twolevel measure` can use: {error.text}"


def _optional() -> list[Finding]:
    # Needed by some commands only; its absence is no problem.
    command = shlex.split(os.environ.get("CC", "cc")) or ["cc"]
    compiler = shutil.which(command[0]) or f"no {command[0]}, which `twolevel replay` and `measure` need"
    cp = versions_of(("ortools",))["ortools"]
    without = "; --bls hcp19, pcp19, pcp20 and cp-classes need it but for search=lns and list (extra cp)"
    return [
        ("Slurm (optional)", _slurm(), True),
        ("OpenMP runtime (optional)", _openmp(), True),
        ("C compiler (optional)", compiler, True),
        ("OR-Tools (optional)", cp + without * (cp == NOT_INSTALLED), True),
    ]


def _shadows() -> list[Finding]:
    # Our package names are short, and other packages may have the same: report which code each name imports.
    ours = Path(__file__).resolve().parents[2]
    findings: list[Finding] = []
    owners = packages_distributions()
    for name, file in _PACKAGES.items():
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or [spec.origin or "a built-in"]) if spec else ["nothing"]
        place = Path(places[0]).resolve()
        others = [other for other in owners.get(name, []) if other != "twolevel"]
        if place != ours / file:
            findings.append((f"package {name}", f"{place} shadows ours in {ours}", False))
        elif others:
            findings.append((f"package {name}", f"also installed by {', '.join(others)}: uninstall one of them", False))
        else:
            findings.append((f"package {name}", str(place), True))
    return findings


def examine() -> list[Finding]:
    """Return all findings; the third item of each is False if something is wrong."""
    from traces.kernels.store import shipped_units

    try:
        installed = f"{distribution('twolevel').version} on {sys.executable}"
    except PackageNotFoundError:
        installed = "not installed: running from a source tree"
    findings = [("twolevel", installed, True)]
    spared = ("numba", "llvmlite") if shipped_units() else ()  # machine code came with the package
    libraries = ((name, text) for name, text in versions().items() if name != "twolevel")
    findings += [(name, text, text != NOT_INSTALLED or name in spared) for name, text in libraries]
    return [*findings, *_shadows(), _cache(), _otf2_library(), *_optional()]


def report() -> int:
    """Print what :func:`examine` has found; the exit code of the command."""
    findings = examine()
    print(lined_up([(name, text if well else f"PROBLEM: {text}") for name, text, well in findings]))
    return 0 if all(well for _, _, well in findings) else 1
