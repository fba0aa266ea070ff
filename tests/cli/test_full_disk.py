"""A full disk: every command that writes names the file, ends with 2, and leaves what was there, and no half file."""
