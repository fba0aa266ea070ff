"""HTML as text: whatever comes of data is escaped here, and nowhere else."""

from __future__ import annotations

from html import escape


def text(words: str) -> str:
    """Words as they are to be read, whatever is in them."""
    return escape(words.replace("\0", "\N{REPLACEMENT CHARACTER}"), quote=True)


def element(tag: str, *content: str, **attributes: str | bool | None) -> str:
    """An element: its content is markup, the values of its attributes are words.

    An attribute's name may end in ``_``, and has ``-`` for ``_`` within; True is one without a value, None and False are none.
    """
    given = [
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    return f"<{tag}{''.join(given)}>{''.join(content)}</{tag}>"


def listed(rows: list[list[str]], head: list[str]) -> str:
    """A small table of markup, with the first cell of each row as its heading."""
    top = element("tr", *(element("th", one, scope="col") for one in head)) if any(head) else ""
    lines = [
        element("tr", element("th", row[0], scope="row"), *(element("td", one) for one in row[1:])) for row in rows
    ]
    body = element("tbody", *lines)
    table = element("table", element("thead", top) + body if top else body)
    return element("div", table, class_="wide")
