"""F1 to F4, policies found by regression on simulated schedules: the job with the smallest score first.

F1: log10(r)·n + 870·log10(q); F2: √r·n + 25600·log10(q); F3: r·n + 6.86e6·log10(q); F4: r·√n + 5.3e5·log10(q).
q is the submit instant since the workload's time 0, r the requested run time, both in seconds, n the requested cores.
An instant before 1 s counts as 1 s: the logarithm would be negative there and -∞ at 0, and a job that is submitted when the
log begins would go before all others for no reason but that. So does, in F1, a run time below 1 s, for which the score would
fall as the job gets wider.

Source: Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning",
SC'17; the constants are those of its re-implementations in studies of learned scheduling.
"""

from dataclasses import dataclass
from functools import partial

from bls.policies.contract import KnownJobs
from bls.policies.expression import ExpressionCode, parse, prepared, score_expression, values
from bls.policies.score_policy import ScorePolicy
from traces.compiled import Array


@dataclass(frozen=True)
class Regression:
    """Key: the score, an expression as in ``expr:EXPRESSION``."""

    name: str
    score: ExpressionCode

    def keys(self, jobs: KnownJobs) -> Array:
        """Scores, float64."""
        return values(self.score, jobs)

    def predicted(self) -> ScorePolicy:
        """The same order, scored in every pass."""
        program = parse(f"-({self.score.text})")
        return ScorePolicy(self.name, score_expression, prepare=partial(prepared, program))


F1 = Regression("f1", parse("log10(max(t, 1)) * n + 870 * log10(max(s, 1))"))
F2 = Regression("f2", parse("sqrt(t) * n + 25600 * log10(max(s, 1))"))
F3 = Regression("f3", parse("t * n + 6.86e6 * log10(max(s, 1))"))
F4 = Regression("f4", parse("t * sqrt(n) + 5.3e5 * log10(max(s, 1))"))
