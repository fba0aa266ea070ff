"""Pages that show what was run: one HTML file of a run, a study, a comparison or a replay. No run imports this."""
