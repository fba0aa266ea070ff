"""F1 to F4, policies found by regression on simulated schedules: the job with the smallest score first.

F1: log10(r)·n + 870·log10(q); F2: √r·n + 25600·log10(q); F3: r·n + 6.86e6·log10(q); F4: r·√n + 5.3e5·log10(q).
q is the submit instant since the workload's time 0, r the requested run time, both in seconds, n the requested cores.
A q below 1 s counts as 1 s, since its logarithm would be negative, and -∞ at 0. In F1 an r below 1 s also counts as 1 s, since
the score would otherwise decrease with the number of cores.

Source: Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning",
SC'17; the constants are those of its re-implementations in studies of learned scheduling.
"""

from bls.policies.expression import smallest_first

F1 = smallest_first("f1", "log10(max(t, 1)) * n + 870 * log10(max(s, 1))")
F2 = smallest_first("f2", "sqrt(t) * n + 25600 * log10(max(s, 1))")
F3 = smallest_first("f3", "t * n + 6.86e6 * log10(max(s, 1))")
F4 = smallest_first("f4", "t * sqrt(n) + 5.3e5 * log10(max(s, 1))")
