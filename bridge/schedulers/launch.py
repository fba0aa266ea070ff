"""Start a scheduler's program: run as a script, ``launch.py PARENT PIPE PROGRAM ARGUMENT…``, with the standard library only.

A process must request to be killed when its parent dies. Between ``fork`` and ``exec`` it could wait for a lock of a thread.
"""

import ctypes
import os
import signal
import sys

#: From Linux's <sys/prctl.h>. The setting outlives ``exec``, except for programs that run as another user.
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Have this process killed when its parent dies, then run the program; on failure, write the error number to the pipe."""
    parent, pipe, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it died before the request above
        os._exit(1)
    os.set_inheritable(pipe, False)  # exec closes it
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would inherit that
    try:
        os.execvp(words[0], words)
    except OSError as error:
        os.write(pipe, str(error.errno).encode())
        os._exit(127)


if __name__ == "__main__":
    main()
