"""The loop-scheduling rules that learn nothing, each as a generator of chunk sizes, in exact arithmetic.

Whole numbers and fractions where a rule has no roots; 60 decimal digits where it has. Each rule is written as its
source writes it, and shares no code with the project. The project's ceilings leave out what lies less than 1e-9 above a
whole number, its floors count what lies less than 1e-9 below one; so do these.

The cores 0 … P-1 ask in turn, core 0 again after core P-1. A caller may send the real number of remaining tasks to a rule
before each further chunk.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import ceil, floor
from typing import Any

SLACK = Fraction(1, 10**9)
DIGITS = Context(prec=60)

#: What a rule is: it yields sizes, and may be sent what is left.
Sizes = Generator[int, int | None, None]
#: A number, or where to look for it at each request.
Number = float | Callable[[], float]

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def sizes(
    name: str,
    n: int,
    p: int,
    *,
    weights: Sequence[float] | None = None,
    mu: Number | None = None,
    sigma: Number | None = None,
    h: Number | None = None,
    **parameters: Any,
) -> Sizes:
    """The chunks of a loop of ``n`` tasks on ``p`` cores.

    ``weights``: of WF. ``mu``, ``sigma``, ``h``: in s; None is 1, 0 and 0. ``**parameters``: as after the
    technique's name; ``uniforms`` of RND is an iterable of the numbers drawn.
    """
    rule = _RULES[name.replace("-", "_")]
    given = {"weights": weights, "mu": mu, "sigma": sigma, "h": h}
    return rule(n, p, **{key: value for key, value in given.items() if value is not None}, **parameters)


def seen(number: Number) -> Decimal:
    return Decimal(number() if callable(number) else number)


def after(left: int, size: int, given: int | None) -> int:
    """Remaining tasks after a chunk: by the arithmetic, or as given."""
    return left - size if given is None else given


def clamp(size: int, left: int, least: int = 1) -> int:
    return min(max(size, least), left)


def rounded(value: Fraction, how: str) -> int:
    """By the name of the rounding; Python rounds half to even."""
    return floor(value) if how == "floor" else ceil(value) if how == "ceil" else round(value)


def up(value: Fraction | Decimal) -> int:
    if isinstance(value, Fraction):
        return ceil(value - SLACK)
    return int((value - Decimal("1e-9")).to_integral_value(ROUND_CEILING))


def down(value: Fraction | Decimal) -> int:
    if isinstance(value, Fraction):
        return floor(value + SLACK)
    return int((value + Decimal("1e-9")).to_integral_value(ROUND_FLOOR))


def by_request(n: int, size_of: Callable[[int, int], int], least: int = 1) -> Sizes:
    left, request = n, 0
    while left:
        size = clamp(size_of(request, left), left, least)
        left = after(left, size, (yield size))
        request += 1


def by_batch(n: int, p: int, size_of: Callable[[int, int], int], least: int = 1) -> Sizes:
    """A rule that gives p chunks of one size, found from the batch's number and what is left at its start."""
    left, batch = n, 0
    while left:
        of_batch = size_of(batch, left)
        for _ in range(p):
            if left:
                size = clamp(of_batch, left, least)
                left = after(left, size, (yield size))
        batch += 1


def static(n: int, p: int, round: str = "block") -> Sizes:
    if round == "ceil":
        yield from by_request(n, lambda request, left: ceil(Fraction(n, p)))
    else:
        whole, longer = divmod(n, p)
        for core in range(p):
            if core < longer or whole:
                yield whole + (core < longer)


def ss(n: int, p: int, chunk: int = 1) -> Sizes:
    return by_request(n, lambda request, left: chunk)


def fsc(n: int, p: int, sigma: Number = 0.0, h: Number = 0.0, round: str = "ceil", mu: Number = 1.0) -> Sizes:
    with localcontext(DIGITS):
        if p == 1 or seen(sigma) == 0:
            size = ceil(Fraction(n, p))
        else:
            cube = 2 * (n * seen(h) / (seen(sigma) * p)) ** 2 / Decimal(p).ln()
            exact = (cube.ln() / 3).exp() if cube else Decimal(0)
            size = up(exact) if round == "ceil" else down(exact)
    return by_request(n, lambda request, left: size)


def mfsc(n: int, p: int) -> Sizes:
    share = ceil(Fraction(n, p))
    with localcontext(DIGITS):
        size = int(Decimal("0.55") + share * Decimal(2).ln() / Decimal(share).ln()) if share > 1 else 1
    return by_request(n, lambda request, left: size)


def gss(n: int, p: int, round: str = "ceil", min: int = 1) -> Sizes:
    if round == "closed":
        return by_request(n, lambda request, left: up(closed_form(n, p, request)), min)
    return by_request(n, lambda request, left: rounded(Fraction(left, p), round), min)


def closed_form(n: int, p: int, request: int) -> Fraction:
    """(1 − 1/P)^i · N/P."""
    return Fraction((p - 1) ** request * n, p ** (request + 1))


def guided(n: int, p: int, chunk: int = 1) -> Sizes:
    def size(request: int, left: int) -> int:
        if p == 1:
            return n
        dynamic = (2 * chunk + 1) * p >= n or left < 2 * p * (chunk + 1)
        return chunk if dynamic else floor(Fraction(left, 2 * p))

    return by_request(n, size)


def tss(
    n: int,
    p: int,
    step: str = "integer",
    first: int | None = None,
    last: int = 1,
    first_round: str = "floor",
    steps: str = "ceil",
) -> Sizes:
    f = min(first, n) if first is not None else max(1, rounded(Fraction(n, 2 * p), first_round))
    smallest = min(last, f)
    count = max(2, rounded(Fraction(2 * n, f + smallest), steps))
    delta = Fraction(f - smallest, count - 1)
    if step == "integer":
        delta = Fraction(floor(delta))
    return by_request(n, lambda request, left: floor(f - request * delta), smallest)


def fac(n: int, p: int, round: str = "ceil", rule: str = "remaining", min: int = 1, merge: bool = False) -> Sizes:
    before = 0

    def size(batch: int, left: int) -> int:
        nonlocal before
        if rule == "remaining":
            exact = Fraction(left, 2 * p)
        elif rule == "closed":
            exact = Fraction(n, p * 2 ** (batch + 1))
        else:
            exact = Fraction(before, 2) if batch else Fraction(n, 2 * p)
        before = max(1, rounded(exact, round))
        return before

    def merged() -> Sizes:
        # The rules that go by the batch's number count p chunks a batch, as far as they were assigned.
        left, request = n, 0
        while left:
            of_batch = max(min, size(request // p if rule == "closed" else request, left))
            batch = left if left < p * of_batch else p * of_batch
            while batch:
                chunk = of_batch if of_batch < batch else batch
                if batch - chunk <= min:
                    chunk = batch
                left = after(left, chunk, (yield chunk))
                batch -= chunk
                request += 1

    return merged() if merge else by_batch(n, p, size, min)


def fac_mu_sigma(n: int, p: int, mu: Number = 1.0, sigma: Number = 0.0) -> Sizes:
    return by_batch(n, p, lambda batch, left: factored(p, batch, left, seen(mu), seen(sigma)))


def factored(p: int, batch: int, left: int, mu: Decimal, sigma: Decimal) -> int:
    with localcontext(DIGITS):
        b = p * sigma / (2 * Decimal(left).sqrt() * mu)
        x = 2 + b**2 + b * (b**2 + 4).sqrt() if batch else 1 + b**2 + b * (b**2 + 2).sqrt()
        return max(1, up(left / (x * p)))


def wf(n: int, p: int, weights: Sequence[float] = (), rule: str = "remaining", round: str = "ceil") -> Sizes:
    left, request, base = n, 0, 0
    while left:
        if request % p == 0:
            base = ceil(Fraction(left, 2 * p)) if rule == "remaining" or request == 0 else ceil(Fraction(base, 2))
        exact = Fraction(weights[request % p]) * base
        size = clamp(up(exact) if round == "ceil" else down(exact), left)
        yield size
        left -= size
        request += 1


def tfss(n: int, p: int) -> Sizes:
    f = ceil(Fraction(n, 2 * p))
    steps = max(2, ceil(Fraction(2 * n, f + 1)))
    delta = (f - 1) // (steps - 1)

    def size(batch: int, left: int) -> int:
        top = f - batch * p * delta
        if top < 0:
            top = f - (steps - 1) * delta
        return sum(top - k * delta for k in range(p)) // p

    return by_batch(n, p, size)


def fiss(n: int, p: int, stages: int | None = None, rest: str = "run-on") -> Sizes:
    s = max(2, p - 1) if stages is None else stages
    first = floor(Fraction(n, (2 + s) * p))
    delta = floor(2 * n * (1 - Fraction(s, s + 2)) / (p * s * (s - 1)))

    def size(batch: int, left: int) -> int:
        return ceil(Fraction(left, p)) if rest == "last" and batch >= s - 1 else first + batch * delta

    return by_batch(n, p, size)


def viss(n: int, p: int, x: int | None = None) -> Sizes:
    first = floor(Fraction(n, (p if x is None else x) * p))
    half = Fraction(1, 2)
    return by_batch(n, p, lambda batch, left: floor(first * (1 - half ** (batch + 1)) / half))


def rnd(n: int, p: int, uniforms: Iterable[float], low: int = 1, high: int | None = None) -> Sizes:
    top = max(low, ceil(Fraction(n, p))) if high is None else high
    drawn = iter(uniforms)
    return by_request(n, lambda request, left: min(top, low + floor(Fraction(next(drawn)) * (top - low + 1))))


def pls(n: int, p: int, swr: float = 0.5) -> Sizes:
    of_static = up(n * Fraction(swr) / p)
    rest = max(0, n - p * of_static)

    def size(request: int, left: int) -> int:
        if not of_static:
            return up(closed_form(n, p, request))
        return of_static if request < p else up(closed_form(rest, p, request - p))

    return by_request(n, size)


def tap(n: int, p: int, mu: Number = 1.0, sigma: Number = 0.0, alpha: float = 1.0) -> Sizes:
    def size(request: int, left: int) -> int:
        with localcontext(DIGITS):
            v = Decimal(alpha) * seen(sigma) / seen(mu)
            t = Decimal(left) / p
            return up(t + v**2 / 2 - v * (2 * t + v**2 / 4).sqrt())

    return by_request(n, size)


@dataclass
class Bold:
    """BOLD, with all chunks in progress inspected again at each request.

    ``left``: tasks not assigned. ``under_way``: core → (size of its chunk, instant of its request in s). ``tasks``:
    as the loop begins. ``ended``: tasks of chunks whose cores have asked again.
    """

    left: int
    p: int
    mu: float
    sigma: float
    h: float
    round: str = "floor"
    under_way: dict[int, tuple[int, Fraction]] = field(default_factory=dict)
    ended: int = 0

    def __post_init__(self) -> None:
        self.tasks = self.left

    def chunk(self, core: int, now_s: Fraction) -> int:
        """The size of the chunk of a core that asks at this instant: its last chunk is done."""
        self.ended += self.under_way.pop(core, (0, now_s))[0]
        size = clamp(self.wanted(now_s), self.left)
        self.under_way[core] = (size, now_s)
        self.left -= size
        return size

    def wanted(self, now_s: Fraction) -> int:
        if self.left <= self.p:
            return 1
        with localcontext(DIGITS):
            mu, sigma, h, left, p = Decimal(self.mu), Decimal(self.sigma), Decimal(self.h), Decimal(self.left), self.p
            not_ended = max(left, Decimal(self.tasks - self.ended))
            not_done = Decimal(self.tasks - self.ended)
            for size, since_s in self.under_way.values():
                passed = now_s - since_s
                seconds = Decimal(passed.numerator) / Decimal(passed.denominator)
                not_done -= seconds * size / (size * mu + h)
            r = max(left, not_done)
            t = r / p
            exact = t if sigma == 0 else Decimal(0) if h == 0 else self.varied(mu, sigma, h, t, r, not_ended)
            return down(exact) if self.round == "floor" else up(exact)

    def varied(self, mu: Decimal, sigma: Decimal, h: Decimal, t: Decimal, r: Decimal, not_ended: Decimal) -> Decimal:
        a = 2 * (sigma / mu) ** 2
        b = 8 * a * (8 * a).ln()
        c1 = h / (mu * Decimal(2).ln())
        c2 = (2 * PI).sqrt() * c1
        q = Decimal(self.left) / self.p
        v = q / (b + q)
        d = self.left / (1 + 1 / q.ln() - v)
        if d <= c2:
            return t
        s = a * (d.ln() - c2.ln()) * (1 + not_ended / (r * self.p))
        w = (v * q.ln()).ln() + b.ln() if b > 0 else q.ln().ln()
        return min(t, t + max(Decimal(0), c1 * w) + s / 2 - (s * (t + s / 4)).sqrt())


def bold(n: int, p: int, mu: float = 1.0, sigma: float = 0.0, h: float = 0.0, round: str = "floor") -> Sizes:
    state, request = Bold(n, p, mu, sigma, h, round), 0
    while state.left:
        yield state.chunk(request % p, Fraction(0))
        request += 1


_RULES: dict[str, Callable[..., Sizes]] = {
    rule.__name__: rule
    for rule in (static, ss, fsc, mfsc, gss, guided, tss, fac, fac_mu_sigma, wf, tfss, fiss, viss, rnd, pls, tap, bold)
} | {"fac2": fac, "mfac": fac_mu_sigma}
