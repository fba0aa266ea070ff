"""What a user says of a study: its file, the options of its cells, the files that they name."""
