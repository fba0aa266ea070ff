"""Running jobs: their releases, widths, requests for cores, hints, speeds and ends."""
