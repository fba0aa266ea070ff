"""``python -m bridge.adapters.simgrid``: an application process that simulates with SimGrid; a bridge starts it."""

import argparse
import sys
from pathlib import Path

from bridge.adapters.simgrid.peer import SimGridPeer
from bridge.adapters.simgrid.process import find_simgrid
from bridge.workers.worker import run_peer
from traces.base.errors import InputError


def main() -> None:
    """Find SimGrid, and serve the bridge that has started this process."""
    about = "An application simulator for twolevel run --als-command: SimGrid."
    parser = argparse.ArgumentParser(prog="python -m bridge.adapters.simgrid", description=about)
    of_python = "the Python that has SimGrid; default: this one, or the system's"
    parser.add_argument("--python", metavar="PROGRAM", help=of_python)
    of_platform = "a SimGrid platform file: its network becomes the network of the machine"
    parser.add_argument("--platform", type=Path, metavar="FILE.xml", help=of_platform)
    given = parser.parse_args()
    try:
        if given.platform is not None and not given.platform.is_file():
            raise InputError(f"--platform: {given.platform}: no such file")
        peer = SimGridPeer(find_simgrid(given.python), given.platform)
    except InputError as error:
        sys.exit(f"simgrid: {error}")
    try:
        run_peer(peer)
    finally:
        peer.close()


if __name__ == "__main__":
    main()
