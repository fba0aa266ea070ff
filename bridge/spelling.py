"""How the command line spells options."""

from traces.base.errors import Mention, spelled


def flag(name: str) -> str:
    """The name of an option as it is typed, ``--resize``; an argument, which has capital letters, as it is."""
    return name if name[:1].isupper() else f"--{name}"


def on_command_line(text: str) -> str:
    """The text, in which options that it mentions (``traces.base.errors``) are spelled as they are typed."""
    return spelled(text, _typed)


def _typed(mention: Mention) -> str:
    return f"{flag(mention.name)} {mention.said}" if mention.said else flag(mention.name)
