"""Citations of this software and of the paper whose approach it implements, as in ``CITATION.cff``: as text and as BibTeX."""

from dataclasses import dataclass
from importlib.metadata import version


@dataclass(frozen=True)
class Person:
    """An author."""

    family: str  # family name, or the name of a group
    given: str = ""  # given names; empty for a group

    def initials(self) -> str:
        """Return the name for a list of references, ``Ciorba, F. M.``, or the name of a group."""
        letters = " ".join(f"{word[0]}." for word in self.given.split())
        return f"{self.family}, {letters}" if letters else self.family

    def in_full(self) -> str:
        """Return the name for BibTeX, ``Ciorba, Florina M.``; braces keep the name of a group together."""
        return f"{self.family}, {self.given}" if self.given else f"{{{self.family}}}"


@dataclass(frozen=True)
class Work:
    """A publication or a program to cite."""

    # entry type and key of BibTeX
    kind: str
    key: str
    authors: tuple[Person, ...]
    title: str
    # empty if there is none
    conference: str = ""
    publisher: str = ""
    version: str = ""
    year: int = 0  # 0 for software, which is cited by its version

    def text(self) -> str:
        """Return one line for a list of references, in APA style."""
        *others, last = (one.initials() for one in self.authors)
        names = f"{', '.join(others)}, & {last}" if others else last
        year = f" ({self.year})" if self.year else ""
        title = f"{self.title} (Version {self.version}) [Computer software]" if self.version else self.title
        parts = [f"{names}{'' if names.endswith('.') or year else '.'}{year}{'.' if year else ''} {title}"]
        parts += [part for part in (self.conference, self.publisher) if part]
        return ". ".join(parts) + "."

    def bibtex(self) -> str:
        """An entry of BibTeX, four spaces before its fields."""
        fields = {
            "author": " and ".join(one.in_full() for one in self.authors),
            "title": f"{{{self.title}}}",  # its capitals are kept
            "booktitle": self.conference,
            "publisher": self.publisher,
            "version": self.version,
            "year": str(self.year or ""),
        }
        lines = [f"    {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


APPROACH = Work(
    "inproceedings",
    "Eleliemy2017TwoLevels",
    (Person("Eleliemy", "Ahmed"), Person("Mohammed", "Ali"), Person("Ciorba", "Florina M.")),
    "Exploring the Relation Between Two Levels of Scheduling Using a Novel Simulation Approach",
    conference="International Symposium on Parallel and Distributed Computing (ISPDC)",
    publisher="IEEE",
    year=2017,
)


def software() -> Work:
    """This project, in the version that is installed."""
    return Work(
        "software",
        "twolevel",
        (Person("The twolevel developers"),),
        "twolevel: co-simulation of batch-level and application-level scheduling",
        version=version("twolevel"),
    )
