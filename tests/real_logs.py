"""Where the real logs and other tools' answers are."""

import os
from pathlib import Path

#: The folder that ``TWOLEVEL_SHARED`` names, or ``shared`` next to the checkout; there may be none.
SHARED = Path(os.environ.get("TWOLEVEL_SHARED") or Path(__file__).resolve().parents[2] / "shared")
