"""XML as a sequence of element begins and ends, without the dangerous features of XML."""

from collections.abc import Callable
from xml.parsers import expat

from als.graphs.readers.contract import GraphRows
from traces.base.given_file import parsing

Place = Callable[[], str]  #: returns the parser's position, such as ``"line 12"``
Begin = Callable[[str, dict[str, str], Place], None]  #: gets the tag and the attributes of an element
End = Callable[[str, str, Place], None]  #: gets its tag and its text

_NO_MEMORY = expat.errors.codes[expat.errors.XML_ERROR_NO_MEMORY]


def read_xml(data: bytes, rows: GraphRows, form: str, begin: Begin, end: End) -> None:
    """Read XML as events, without keeping it. ``form`` is the expected format, such as ``"GraphML"``.

    ``begin(tag, attributes, place)`` is called where an element begins, without namespace prefixes (attributes with prefixes
    belong to other formats and are dropped), and ``end(tag, text, place)`` where it ends, with the text since the last tag.
    Raises InputError if the XML is not well-formed or declares entities, which can expand beyond any memory."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    text: list[str] = []

    def place() -> str:
        return f"line {parser.CurrentLineNumber}"

    def on_begin(tag: str, attributes: dict[str, str]) -> None:
        text.clear()
        begin(tag.rpartition(":")[2], attributes, place)

    def on_end(tag: str) -> None:
        end(tag.rpartition(":")[2], "".join(text), place)
        text.clear()

    def on_entity(name: str, *_: object) -> None:
        raise rows.error(place(), f"declares the entity {name!r}; allowed: {form} without entities of its own")

    parser.StartElementHandler = on_begin
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = on_entity
    with parsing(form, rows.source):
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: an encoding unknown to Python
            if getattr(error, "code", None) == _NO_MEMORY:
                raise MemoryError from None
            raise rows.error("", f"not well-formed {form}: {error}") from None
