"""A user's input to a study: its file, the options of its cells, the files that they name."""
