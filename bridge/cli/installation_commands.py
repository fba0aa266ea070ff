"""The commands about the installation: ``warm-up``, which compiles kernels before a run needs them, ``doctor`` and ``cite``."""

import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from bridge.options.bundles import switch
from bridge.standard_error import say
from traces.base.errors import InputError


def warm_up_command(
    everything: Annotated[
        bool, switch("--all", "Compile the kernels of all features, not only those of a plain run.")
    ] = False,
) -> None:
    """Compile the kernels of this version in advance; the first run is then faster."""
    from bridge.runs.kernels import APPLICATION, BATCH, INLINE, WORKER
    from traces.compiled import jit_enabled
    from traces.kernels.store import cache_directory, has, shipped_units, unit_names, why_unused
    from traces.kernels.units import kernel_modules, prepare

    if not jit_enabled():
        raise InputError("NUMBA_DISABLE_JIT is set: nothing is compiled; allowed: without it")
    if came := shipped_units():
        say(f"machine code of all {len(came)} modules came with the package: there is nothing to compile")
        return
    if (why := why_unused()) is not None:
        raise InputError(f"compiled kernels cannot be kept: {why}")
    wanted = BATCH | APPLICATION | INLINE | WORKER
    if everything:
        wanted |= dict.fromkeys(set(kernel_modules()).difference(wanted), 0)
    with _helpers(wanted):
        prepare(wanted)
    if lost := [module for module in wanted if not has(module)]:  # the reason was reported at compilation
        raise InputError(f"machine code of {len(lost)} of {len(wanted)} modules is not kept, in {cache_directory()}")
    usable, _ = unit_names()
    say(f"{usable} modules are compiled, in {cache_directory()}")


def doctor_command() -> None:
    """Check the installation: versions, kernel cache, OTF2 library, other packages with the same names."""
    from bridge.cli.doctor import report

    if code := report():
        raise typer.Exit(code)


def cite_command(bibtex: Annotated[bool, switch("--bibtex", "Print BibTeX.")] = False) -> None:
    """Print references to the two-level paper and to this version of the software."""
    print(references(bibtex=bibtex))


_PAPER: Final = "Exploring the Relation Between Two Levels of Scheduling Using a Novel Simulation Approach"
_CONFERENCE: Final = "International Symposium on Parallel and Distributed Computing (ISPDC)"
_SOFTWARE: Final = "twolevel: co-simulation of batch-level and application-level scheduling"

_TEXT: Final = f"""\
Eleliemy, A., Mohammed, A., & Ciorba, F. M. (2017). {_PAPER}. {_CONFERENCE}. IEEE.

The twolevel developers. {_SOFTWARE} (Version VERSION) [Computer software]."""

_BIBTEX: Final = f"""\
@inproceedings{{Eleliemy2017TwoLevels,
    author = {{Eleliemy, Ahmed and Mohammed, Ali and Ciorba, Florina M.}},
    title = {{{{{_PAPER}}}}},
    booktitle = {{{_CONFERENCE}}},
    publisher = {{IEEE}},
    year = {{2017}},
}}

@software{{twolevel,
    author = {{{{The twolevel developers}}}},
    title = {{{{{_SOFTWARE}}}}},
    version = {{VERSION}},
}}"""


def references(*, bibtex: bool) -> str:
    """Return two lines for a list of references, in APA style, or two entries of BibTeX, as in ``CITATION.cff``."""
    from importlib.metadata import version

    return (_BIBTEX if bibtex else _TEXT).replace("VERSION", version("twolevel"))


#: Number of modules per compiling process: a process takes a second to start, a module takes a second to compile.
_MODULES_EACH = 10


@contextmanager
def _helpers(wanted: Mapping[str, int]) -> Iterator[None]:
    # Compile in further processes. Each starts at another module, and loads from the store what others have compiled.
    import multiprocessing

    from bridge.workers.process_names import deaf_children, nothing_imported
    from traces.kernels.store import has

    missing = [module for module in wanted if not has(module)]
    n = max(1, min(len(os.sched_getaffinity(0)), len(missing) // _MODULES_EACH))
    context = multiprocessing.get_context("spawn")
    helpers = []
    for k in range(1, n):
        first = k * len(missing) // n
        helpers.append(context.Process(target=_compile, args=(os.getpid(), missing[first:] + missing[:first])))
    try:
        with deaf_children(), nothing_imported():
            for helper in helpers:
                helper.start()
        yield
    finally:
        for helper in helpers:
            if helper.pid is not None:
                helper.kill()
                helper.join()


def _compile(parent: int, modules: list[str]) -> None:
    from bridge.workers.process_names import die_with_parent
    from traces.kernels.units import prepare

    die_with_parent(parent)
    sys.stderr = io.StringIO()  # the main process reports the progress
    prepare(dict.fromkeys(modules, 0))
