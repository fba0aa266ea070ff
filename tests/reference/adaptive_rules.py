"""The adaptive techniques again, slowly: whole histories, exact fractions.

Nothing is shared with the kernels. Each class is the rule of one loop or job.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

GUARD = Fraction(1, 10**9)


def rounded(exact: Fraction, how: str) -> int:
    if how == "up":
        return ceil(exact - GUARD)
    return floor(exact + GUARD + (Fraction(55, 100) if how == "half" else 0))


def up(numerator: int, denominator: int) -> int:
    return ceil(Fraction(numerator, denominator))


@dataclass(frozen=True)
class Report:
    """A chunk that a core has finished."""

    step: int
    size: int
    work_ns: Fraction
    total_ns: Fraction
    squares: Fraction


@dataclass
class Rule:
    """Common part of the rules: the reports of each core."""

    min: int = 1
    round: str = "up"
    history: dict[int, list[Report]] = field(default_factory=dict)

    def learn(self, core: int, report: Report) -> None:
        self.history.setdefault(core, []).append(report)

    def answer(
        self, n: int, p: int, core: int, request: int, left: int, mean: Fraction, speeds: Sequence[Fraction]
    ) -> int:
        """The size of a core's next chunk; 0 if nothing is left."""
        if left == 0:
            return 0
        size = self.size(n, p, core, request, left, mean, speeds)
        return min(max(size, self.min), left)

    def size(
        self, n: int, p: int, core: int, request: int, left: int, mean: Fraction, speeds: Sequence[Fraction]
    ) -> int:
        raise NotImplementedError


@dataclass
class Weights(Rule):
    """AWF (``variant`` "") and AWF-B … AWF-E ("b" … "e")."""

    variant: str = ""
    time: str = "work"
    start: str = "half"
    unmeasured: str = "wait"
    base: str = "remaining"
    ever: bool = False
    batch: int = 0
    frozen: dict[int, Fraction] = field(default_factory=dict)

    def pi(self, core: int) -> Fraction | None:
        top = bottom = Fraction(0)
        for number, report in enumerate(self.history.get(core, []), start=1):
            k = report.step + 1 if self.variant == "" else number
            whole = self.variant in ("d", "e") or self.time == "total"
            top += k * (report.total_ns if whole else report.work_ns)
            bottom += k * report.size
        return top / bottom if bottom else None

    def weights(self, speeds: Sequence[Fraction]) -> dict[int, Fraction]:
        there = [c for c, v in enumerate(speeds) if v > 0]
        known = [c for c in there if self.pi(c) is not None]
        if not known or (len(known) < len(there) and self.unmeasured == "wait" and not self.ever):
            return {}
        self.ever = True
        # An absent core that may return has been measured, too: it is compared with the present ones.
        ratio = {c: pi for c in range(len(speeds)) if (pi := self.pi(c)) is not None}
        mean = sum((ratio[c] for c in known), Fraction(0)) / len(known)
        raw = {c: mean / each for c, each in ratio.items()}
        together = sum((raw[c] for c in known), Fraction(0))
        return {c: each * len(known) / together for c, each in raw.items()}

    def size(
        self, n: int, p: int, core: int, request: int, left: int, mean: Fraction, speeds: Sequence[Fraction]
    ) -> int:
        by_chunk = self.variant in ("c", "e")
        begins = by_chunk or request % p == 0
        if begins if self.variant else request == 0:
            self.frozen = self.weights(speeds)
        if begins:
            if self.start == "tenth" and not self.ever:
                self.batch = up(n, 10 * p)
            elif self.base == "halving":
                self.batch = up(n, 2 * p) if request == 0 else up(self.batch, 2)
            else:
                self.batch = up(left, 2 * p)
        return rounded(self.frozen.get(core, Fraction(1)) * self.batch, self.round)


@dataclass
class Factoring(Rule):
    """AF and mAF (``whole``); µ is known where ``known``, and σ where ``sigma``, in s, is given."""

    whole: bool = False
    known: bool = False
    sigma: float | None = None
    start: str = "tenth"
    first: int | None = None
    unmeasured: str = "wait"
    spread: str = "variance"
    cap: bool = False
    ever: bool = False
    speed_then: Fraction = Fraction(0)

    def moments(self, core: int, mean: Fraction, speeds: Sequence[Fraction]) -> tuple[Fraction, Fraction] | None:
        given = None if self.sigma is None else Fraction(self.sigma) ** 2
        if self.known:
            assert given is not None
            return mean * self.speed_then / speeds[core], given
        reports = self.history.get(core, [])
        if not reports:
            return None
        count = sum(report.size for report in reports)
        total = squares = Fraction(0)
        for report in reports:
            time = (report.total_ns if self.whole else report.work_ns) / 10**9
            total += time
            squares += report.squares / 10**18 + time**2 / report.size
        variance = (squares - total**2 / count) / (count - 1) if count > 1 else Fraction(0)
        return total / count, variance if given is None else given

    def size(
        self, n: int, p: int, core: int, request: int, left: int, mean: Fraction, speeds: Sequence[Fraction]
    ) -> int:
        there = [c for c, v in enumerate(speeds) if v > 0]
        if request == 0:
            self.speed_then = sum(speeds, Fraction(0)) / len(there)
        mine = self.moments(core, mean, speeds)
        others = [self.moments(c, mean, speeds) for c in there]
        early = self.known and request < p and self.start != "none"
        if early or mine is None or (None in others and self.unmeasured == "wait" and not self.ever):
            if self.first is not None:
                return self.first
            return up(left, 2 * p) if self.start == "half" else up(n, 10 * p)
        self.ever = True
        with localcontext() as context:
            context.prec = 60
            d = inverse = Decimal(0)
            for other in others:
                if other is None and self.unmeasured == "wait":
                    continue
                mu, variance = (decimal(number) for number in other or mine)
                d += (variance if self.spread == "variance" else variance.sqrt()) / mu
                inverse += 1 / mu
            ideal = left / inverse
            exact = (d + 2 * ideal - (d * d + 4 * d * ideal).sqrt()) / (2 * decimal(mine[0]))
        size = rounded(Fraction(exact), self.round)
        return min(size, up(n, 2 * p)) if self.cap else size


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


@dataclass
class Stealing:
    """static-steal: each core's chunks as a list of (first task, size)."""

    chunk: int = 1
    lists: list[list[tuple[int, int]]] = field(default_factory=list)
    victim: list[int] = field(default_factory=list)

    def begin(self, n: int, p: int) -> None:
        starts = list(range(0, n, self.chunk))
        pieces = [(start, min(self.chunk, n - start)) for start in starts]
        if len(pieces) < p:
            ends = [0]
            for c in range(p):
                ends.append(ends[-1] + n // p + (c < n % p))
            pieces = [(a, b - a) for a, b in pairwise(ends) if b > a]
        self.lists = [[] for _ in range(p)]
        each, more = divmod(len(pieces), p)
        for c in range(p):
            for _ in range(each + (c < more)):
                self.lists[c].append(pieces.pop(0))
        self.victim = [(c + 1) % p for c in range(p)]

    def take(self, core: int, there: Sequence[bool]) -> tuple[int, int] | None:
        """The first task and the size of the core's next chunk."""
        p = len(self.lists)
        if not self.lists[core]:
            order = [(self.victim[core] + k) % p for k in range(p)]
            enough = [c for c in order if c != core and len(self.lists[c]) >= (2 if there[c] else 1)]
            if not enough:
                return None
            left = self.lists[enough[0]]
            share = len(left) // 4 if len(left) > 3 else 1
            self.lists[core] = left[-share:]
            self.lists[enough[0]] = left[:-share]
            self.victim[core] = enough[0]
        return self.lists[core].pop(0)
