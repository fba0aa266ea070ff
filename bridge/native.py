"""Parts in C, compiled at their first use and kept with the compiled kernels."""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from traces.base.errors import InputError
from traces.kernels import store

_LONGEST_WORDS = 300


def built(
    source: Path,
    folder: Path,
    *,
    command: str,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    included: Sequence[Path] = (),
    release: str = "",
) -> Path:
    """Compile a file in C, or take the kept result.

    Parameters
    ----------
    source : Path
    folder : Path
        An existing folder. The result is copied there, so that it is not removed while in use.
    command : str
        The command of ``twolevel`` that needs it, for errors and the name of the result.
    before, after : sequence of str
        Words of the compiler's command line before and after the names of the files.
    included : sequence of Path
        Other files on which the result depends.
    release : str
        Any text on which it depends.

    Raises
    ------
    InputError
        If it cannot be compiled.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    digest = hashlib.sha256(source.read_bytes())
    for path in included:
        digest.update(path.read_bytes())
    digest.update(repr((compiler, [*before], [*after], release, os.uname().machine)).encode())
    file = f"{command}-{source.stem}-{digest.hexdigest()[:16]}"
    kept = None if store.why_unused() is not None else store.cache_directory()
    own = folder / file
    with contextlib.suppress(OSError):
        if kept is not None and (kept / file).stat().st_uid == os.geteuid():
            shutil.copyfile(kept / file, own)
            own.chmod(0o700)
            return own
    words = [*compiler, "-O2", *before, str(source), "-o", str(own), *after]
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        what = f"a C compiler, and {words[0]} is not installed; CC can name another"
        raise InputError(f"twolevel {command} needs {what}") from None
    if said.returncode:
        error = next((line for line in said.stderr.splitlines() if "error" in line or "failed" in line), said.stderr)
        raise InputError(f"{words[0]} cannot build {source.name}: {error.strip()[:_LONGEST_WORDS]}")
    if kept is not None:
        with contextlib.suppress(OSError):  # a full disk: it is built again next time
            descriptor, fresh = tempfile.mkstemp(dir=kept, prefix=f".new-{file}-")
            os.close(descriptor)
            shutil.copyfile(own, fresh)
            os.replace(fresh, kept / file)
    return own
