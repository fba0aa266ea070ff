"""Reader of Pegasus' DAX: abstract workflows in XML, versions 2 and 3.

Schema: https://pegasus.isi.edu/schema/dax-3.6.xsd; the synthetic workflows of Bharathi et al. (2008,
doi:10.1109/WORKS.2008.4723958) are DAX 2.1.
"""

from als.graphs.readers.contract import Files, GraphRows
from als.graphs.readers.xml_events import Place, read_xml
from traces.base.errors import shown

_WRITES = ("output", "inout")
_READS = ("input", "inout")
_LINKS = ("input", "output", "inout")


def read_dax(data: bytes, rows: GraphRows, core_gflops: float) -> None:
    """Read jobs as tasks named by their ``id``, and ``child``/``parent`` as edges with the files that one writes and the other
    reads. Raises InputError if it is not DAX, a job has no ``runtime``, or a file on an edge has no ``size``."""
    reader = _Dax(rows, core_gflops)
    read_xml(data, rows, "DAX", reader.begin, reader.end)
    reader.finish()


class _Dax:
    def __init__(self, rows: GraphRows, core_gflops: float) -> None:
        self._rows, self._core_gflops = rows, core_gflops
        self._depth = 0
        self._job: str | None = None
        self._child: str | None = None
        self._files = Files(rows)
        self._edges: list[tuple[str, str, str]] = []

    def begin(self, tag: str, attributes: dict[str, str], place: Place) -> None:
        self._depth += 1
        if self._depth == 2:
            if tag == "job":
                self._begin_job(attributes, place())
            elif tag in ("dag", "dax"):
                raise self._rows.error(place(), f"a {tag} within the workflow; allowed: jobs")
            elif tag == "child":
                self._child = self._reference(tag, attributes, place())
        elif self._depth == 3:
            if tag == "uses" and self._job is not None:
                self._uses(self._job, attributes, place())
            elif tag == "parent" and self._child is not None:
                self._edges.append((self._reference(tag, attributes, place()), self._child, place()))

    def end(self, tag: str, text: str, place: Place) -> None:
        if self._depth == 2:
            self._job = self._child = None
        self._depth -= 1

    def finish(self) -> None:
        for parent, child, place in self._edges:
            self._rows.add_edge(parent, child, self._files.passed(parent, child, place), place)

    def _reference(self, tag: str, attributes: dict[str, str], place: str) -> str:
        if "ref" not in attributes:
            raise self._rows.error(place, f"a {tag} without ref; allowed: the id of a job")
        return attributes["ref"]

    def _begin_job(self, attributes: dict[str, str], place: str) -> None:
        name = attributes.get("id")
        if name is None:
            raise self._rows.error(place, "a job without id")
        if "runtime" not in attributes:
            raise self._rows.error(place, f"job {shown(name)} has no runtime; allowed: seconds")
        seconds = self._rows.amount(place, f"job {shown(name)}: runtime", attributes["runtime"])
        self._rows.add_task(name, seconds * self._core_gflops, place)
        self._job = name

    def _uses(self, job: str, attributes: dict[str, str], place: str) -> None:
        file = attributes.get("file", attributes.get("name"))
        if file is None:
            raise self._rows.error(place, f"job {shown(job)}: uses without file or name")
        link, used = attributes.get("link"), f"job {shown(job)}: uses {shown(file)}"
        if link is None:
            return  # an executable or a library of DAX 3, which no job writes
        if link not in _LINKS:
            raise self._rows.error(place, f"{used}: link {shown(link)}; allowed: {', '.join(_LINKS)}")
        size = attributes.get("size")
        number = None if size is None else self._rows.amount(place, f"{used}: size", size)
        if link in _WRITES:
            self._files.written[job][file] = number
        if link in _READS:
            self._files.read[job][file] = number
