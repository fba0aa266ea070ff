"""``twolevel cite``: what ``CITATION.cff`` says, in a form to paste."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import yaml
from command_line import twolevel
from pages import ROOT

from bridge.citation import APPROACH, Person, software

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def _people(authors: list[dict[str, str]]) -> tuple[Person, ...]:
    return tuple(Person(one.get("family-names", one.get("name", "")), one.get("given-names", "")) for one in authors)


def test_it_is_what_the_citation_file_says() -> None:
    paper = CITATION["preferred-citation"]
    assert paper["type"] == "conference-paper"
    assert APPROACH.kind == "inproceedings"
    assert APPROACH.authors == _people(paper["authors"])
    assert (APPROACH.title, APPROACH.year) == (paper["title"], paper["year"])
    assert (APPROACH.conference, APPROACH.publisher) == (paper["conference"]["name"], paper["publisher"]["name"])
    assert software().authors == _people(CITATION["authors"])
    assert (software().title, software().version) == (CITATION["title"], CITATION["version"])
    assert CITATION["version"] == version("twolevel")


def test_as_text(here: Path) -> None:
    ran = twolevel("cite")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Eleliemy, A., Mohammed, A., & Ciorba, F. M. (2017). Exploring the Relation Between Two Levels of Scheduling Using a "
        "Novel Simulation Approach. International Symposium on Parallel and Distributed Computing (ISPDC). IEEE.\n"
        "\n"
        "The twolevel developers. twolevel: co-simulation of batch-level and application-level scheduling "
        f"(Version {version('twolevel')}) [Computer software].\n"
    )


def test_as_bibtex(here: Path) -> None:
    ran = twolevel("cite", "--bibtex")
    assert (ran.code, ran.err) == (0, "")
    paper, own = ran.out.strip().split("\n\n")
    for entry in (paper, own):
        assert re.fullmatch(r"@\w+\{\w+,\n(    \w+ = \{.+\},\n)+\}", entry)
        assert entry.count("{") == entry.count("}")
    assert "    author = {Eleliemy, Ahmed and Mohammed, Ali and Ciorba, Florina M.},\n" in paper
    assert "    author = {{The twolevel developers}},\n" in own
    assert "year" not in own
