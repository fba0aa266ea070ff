"""Becomes a scheduler: run as a script, ``launch.py PARENT PIPE PROGRAM ARGUMENT…``, with the standard library alone.

That a process is to die with its parent it must say itself, before its program runs; and code of ours between ``fork`` and
``exec`` could wait for a lock that another thread held as the process was forked. Here there is one thread.
"""

import ctypes
import os
import signal
import sys

#: Of Linux's <sys/prctl.h>. What is set so outlives ``exec``, but not the program of another user.
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Have this process killed when its parent dies, then run the program; where it cannot be run, say the error's number."""
    parent, pipe, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it died before that was asked for
        os._exit(1)
    os.set_inheritable(pipe, False)  # it closes as the program runs
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program would, too
    try:
        os.execvp(words[0], words)
    except OSError as error:
        os.write(pipe, str(error.errno).encode())
        os._exit(127)


if __name__ == "__main__":
    main()
