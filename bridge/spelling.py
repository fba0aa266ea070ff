"""Names of options as typed on the command line."""

from traces.base.errors import spelled


def flag(name: str) -> str:
    """Return ``--resize`` for an option ``resize``; arguments, which have capital letters, are unchanged."""
    return name if name[:1].isupper() else f"--{name}"


def on_command_line(text: str) -> str:
    """Return the text with the options that it mentions (``traces.base.errors``) spelled as they are typed."""
    return spelled(text, lambda mention: f"{flag(mention.name)} {mention.said}".rstrip())
