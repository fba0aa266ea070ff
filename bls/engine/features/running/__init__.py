"""What running jobs do of themselves, and what is told them: releases, widths, requests for cores, hints, speeds and ends."""
