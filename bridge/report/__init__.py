"""Pages that show what was run: one self-contained HTML file of a run, a study, a comparison or a replay."""
