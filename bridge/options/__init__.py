"""Options that several commands have in common, declared once."""
