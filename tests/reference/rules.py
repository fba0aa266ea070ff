"""The loop-scheduling techniques as objects that are asked whenever a core asks: what ``reference.application`` drives.

The formulas are those of ``reference.chunk_rules`` and ``reference.adaptive_rules``; this module has their inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from reference import adaptive_rules, chunk_rules, drawing

#: The purpose of the stream that random techniques draw from; a chunk has a block of four words.
CHUNKS = 2
WORDS = 4


@dataclass(frozen=True)
class Given:
    """The key of the job's random stream."""

    seed: int
    job: int

    def uniforms(self) -> Iterator[float]:
        for place, word in enumerate(drawing.words(self.seed, self.job, CHUNKS)):
            if place % WORDS == 0:
                yield drawing.uniform(word)


@dataclass(frozen=True)
class Asked:
    """A request.

    ``n``: tasks that were left when the rule began. ``core``, ``request``, ``left``: the requesting core; how many chunks
    there were since the rule began; what is left. ``now``: when the request arrives, ns. ``number``: how many
    chunks there were in the whole job. ``speeds``: of all cores, 0 for one that is not there. ``report``: of the
    core's last chunk. ``known``: µ, σ and h, s.
    """

    n: int
    core: int
    request: int
    left: int
    now: int
    number: int
    speeds: Sequence[Fraction]
    report: adaptive_rules.Report | None
    known: tuple[float, float, float]


class Rule:
    """One technique in one loop; one that learns begins again in the next time step with what it knows."""

    learns = False
    places = False

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        """Before its first request, with ``n`` tasks left."""

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        """The size of the chunk, and its first task if the rule ``places``, counted from the first one left as it began."""
        raise NotImplementedError


@dataclass
class InTurn(Rule):
    """A rule of ``chunk_rules`` for which all cores are alike."""

    name: str
    parameters: dict[str, Any]

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.n, self.p, self.given = n, len(speeds), given
        self.past: list[Asked] = []
        self.sizes: chunk_rules.Sizes | None = None

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        self.past.append(asked)
        self.asked = asked
        if self.sizes is not None:
            return self.sizes.send(asked.left), None
        known: dict[str, Any] = {}
        for place, name in enumerate(("mu", "sigma", "h")):
            if name in _FROM_THE_JOB.get(self.name, ()):
                known[name] = lambda place=place: self.asked.known[place]
        if self.name == "rnd":
            known["uniforms"] = self.uniforms()
        self.sizes = chunk_rules.sizes(self.name, self.n, self.p, **known | self.parameters)
        return next(self.sizes), None

    def uniforms(self) -> Iterator[float]:
        drawn: list[float] = []
        stream = self.given.uniforms()
        while True:
            while len(drawn) <= self.asked.number:
                drawn.append(next(stream))
            yield drawn[self.asked.number]

    def __deepcopy__(self, memo: Any) -> InTurn:
        # A generator is copied by asking a new one the same.
        other = InTurn(self.name, self.parameters)
        other.begin(self.n, [Fraction(1)] * self.p, self.given)
        for asked in self.past:
            other.ask(asked)
        return other


_FROM_THE_JOB = {"fsc": ("sigma", "h"), "fac-mu-sigma": ("mu", "sigma"), "tap": ("mu", "sigma")}


@dataclass
class Static(Rule):
    """STATIC: a block for each core, in the order in which they ask."""

    round: str = "block"

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.n, self.p = n, len(speeds)
        self.served: set[int] = set()

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        if self.round == "block":
            size = self.n // self.p + (asked.core < self.n % self.p)
            blocks = min(self.n, self.p)
        else:
            size = ceil(Fraction(self.n, self.p))
            blocks = ceil(Fraction(self.n, size))
        if size and asked.core not in self.served:
            self.served.add(asked.core)
            return min(size, asked.left), None
        return ceil(Fraction(asked.left, self.p)) if asked.request >= blocks else 0, None


@dataclass
class Dealt(Rule):
    """STATIC with chunks of one size that are dealt to the cores like cards."""

    chunk: int
    places = True

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.hands: list[list[range]] = [[] for _ in speeds]
        for number, first in enumerate(range(0, n, self.chunk)):
            self.hands[number % len(speeds)].append(range(first, min(first + self.chunk, n)))

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        if not self.hands[asked.core]:
            return 0, None
        tasks = self.hands[asked.core].pop(0)
        return len(tasks), tasks[0]


@dataclass
class Weighted(Rule):
    """WF, by the speeds as the loop begins."""

    rule: str = "remaining"
    round: str = "ceil"

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.p = len(speeds)
        self.weights = [self.p * speed / sum(speeds) for speed in speeds]
        self.base = 0

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        if asked.request % self.p == 0:
            halves = self.rule == "halving" and asked.request > 0
            self.base = ceil(Fraction(self.base, 2)) if halves else ceil(Fraction(asked.left, 2 * self.p))
        exact = self.weights[asked.core] * self.base
        size = chunk_rules.up(exact) if self.round == "ceil" else chunk_rules.down(exact)
        return chunk_rules.clamp(size, asked.left), None


@dataclass
class EachForItself(Rule):
    """mFAC: of each core, its batches so far, the last one's chunk, and what remained at its start."""

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.n, self.p = n, len(speeds)
        self.state: dict[int, tuple[int, int, int]] = {}

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        mu, sigma = (Decimal(number) for number in asked.known[:2])
        batches, chunk, left = self.state.get(asked.core, (0, 0, self.n))
        while batches <= asked.request // self.p:
            left -= self.p * chunk
            if left <= 0:
                left = asked.left
            chunk = chunk_rules.factored(self.p, batches, left, mu, sigma)
            batches += 1
        self.state[asked.core] = batches, chunk, left
        return min(chunk, asked.left), None


@dataclass
class Bold(Rule):
    """BOLD."""

    round: str = "floor"

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.state = chunk_rules.Bold(n, len(speeds), 1.0, 0.0, 0.0, self.round)

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        self.state.mu, self.state.sigma, self.state.h = asked.known
        self.state.left = asked.left
        return self.state.chunk(asked.core, Fraction(asked.now, 10**9)), None


@dataclass
class Learning(Rule):
    """AWF and its variants, AF and mAF."""

    inner: adaptive_rules.Rule
    learns: bool = True

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        if asked.report is not None:
            self.inner.learn(asked.core, asked.report)
        mean = Fraction(asked.known[0])
        p = len(asked.speeds)
        return self.inner.answer(asked.n, p, asked.core, asked.request, asked.left, mean, asked.speeds), None


@dataclass
class Stealing(Rule):
    """static-steal."""

    chunk: int = 1
    places = True
    state: adaptive_rules.Stealing = field(init=False)

    def begin(self, n: int, speeds: Sequence[Fraction], given: Given) -> None:
        self.state = adaptive_rules.Stealing(self.chunk)
        self.state.begin(n, len(speeds))

    def ask(self, asked: Asked) -> tuple[int, int | None]:
        first, size = self.state.take(asked.core, [speed > 0 for speed in asked.speeds]) or (0, 0)
        return size, first if size else None


def rule_of(text: str) -> Rule:
    """The rule of ``name`` or ``name:key=value,key=value``, as it is before a loop begins."""
    name, _, rest = text.partition(":")
    given = {key: _value(value) for key, value in (pair.split("=") for pair in rest.split(",") if pair)}
    if name == "static":
        return Dealt(**given) if "chunk" in given else Static(**given)
    if name == "wf":
        return Weighted(**given)
    if name == "mfac":
        return EachForItself()
    if name == "bold":
        return Bold(**given)
    if name == "static-steal":
        return Stealing(**given)
    if name.startswith("awf"):
        return Learning(adaptive_rules.Weights(variant=name.removeprefix("awf").removeprefix("-"), **given))
    if name in ("af", "maf"):
        known = given.pop("mu", "measured") == "known"
        return Learning(adaptive_rules.Factoring(whole=name == "maf", known=known, **given), learns=not known)
    return InTurn(name, given)


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
