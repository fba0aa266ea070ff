"""Pages that show what was run: one self-contained HTML file of a run, a study, a comparison or a replay.

``page.Page`` is made of ``parts``; each room of the bridge makes the pages of its own results. Nothing of this is imported by
a run.
"""
