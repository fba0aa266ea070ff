"""The option of what the levels exchange about running jobs: releases, and also hints."""

from traces.base.options import Choice, Panel

# fmt: off

COORDINATION = Choice(
    name="coordination", first=True, panel=Panel.BATCH, default="none", what="coordination of the levels", metavar="HOW",
    choices=("none", "release", "release:core", "release:host", "hint", "hint:core", "hint:host"),
    help="Information exchanged between the levels about running jobs: none; release or release:core (jobs return cores that "
    "they no longer need), release:host (only whole hosts); hint or hint:core (jobs also receive which of their cores the "
    "queue waits for), hint:host")
