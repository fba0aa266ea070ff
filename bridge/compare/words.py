"""Output of ``twolevel compare``: a summary, a line for each chain, and the whole chain of one job."""

from collections.abc import Mapping, Sequence

import numpy as np

from bls.engine.features.records import START_DELAY
from bridge.compare.comparison import DELAY_COLUMNS, RUNS, Comparison, Link, chain, overtakers, ranked
from bridge.compare.delay_causes import LINKS
from bridge.standard_error import text_table
from traces.base.time import NS_PER_S, format_ns
from traces.records.events import counted
from traces.tables import CUT_BECAUSE, STARTED_BECAUSE

#: Last line of a comparison of runs that depend on the seed.
ONE_SAMPLE = "This compares two single runs. Use several seeds for a confidence interval (twolevel grid --seeds)."
_NAMED = 3  #: most named links of a chain, and most named overtaking jobs


def _signed(ns: int) -> str:
    return f"{'+' if ns > 0 else '−' if ns < 0 else ''}{format_ns(abs(ns))}"


def _seconds(ns: int) -> str:
    """Exact, in s."""
    whole, part = divmod(abs(ns), NS_PER_S)
    return f"{'+' if ns > 0 else '−' if ns < 0 else ''}{whole}.{part:09d}"


def summary_rows(compared: Comparison, metrics: Mapping[str, Sequence[float | None]]) -> list[tuple[str, str]]:
    """Rows of the summary table. ``metrics`` are the values of A and B, None if a record lacks them."""
    counts, delta = compared.counts, compared.delays["start_delta_ns"]
    rows = [("compared", counted(counts["compared"], "job"))]
    for name, words in (
        ("only_a", "only in A"),
        ("only_b", "only in B"),
        ("started_only_a", "started only in A"),
        ("started_only_b", "started only in B"),
        ("never_started", "started in neither"),
    ):
        if counts[name]:
            rows.append(("not compared", f"{counted(counts[name], 'job')} {words}"))
    for name, far in (("later", delta.max()), ("earlier", delta.min())):
        most = f", at most {format_ns(abs(int(far)))}" if counts[name] else ""
        rows.append((f"{name} in B", f"{counted(counts[name], 'job')}{most}"))
    rows.append(("same start", counted(counts["same"], "job")))
    for name, words in (("makespan_ns", "makespan"), ("mean_wait_ns", "mean wait")):
        known = ["unknown" if x is None else f"{format_ns(round(x))} ({round(x)} ns)" for x in metrics[name]]
        rows.append((words, f"A {known[0]}, B {known[1]}"))
    return rows


def _cut(compared: Comparison, row: int) -> str:
    # The run in which a compared job lost all its cores, and how; empty if both runs agree.
    return _in_each(compared, row, CUT_BECAUSE, "cut in")


def _said(compared: Comparison, row: int) -> str:
    # The reasons that the policies gave for the start of a compared job; empty if both runs agree.
    return _in_each(compared, row, STARTED_BECAUSE, "reason of the policy in")


def _delayed(compared: Comparison, row: int, run: str) -> str:
    """The delay of a compared job that had its cores, in the run of a chain; empty if there was none."""
    if DELAY_COLUMNS["A"] not in compared.delays:
        return ""
    waits = {name: int(compared.delays[column].iloc[row]) for name, column in DELAY_COLUMNS.items()}
    other = RUNS[1 - RUNS.index(run)]
    too = f" ({format_ns(waits[other])} in {other})" if waits[other] else ""
    return f"waited {format_ns(waits[run])} for its {START_DELAY.awaited}{too}" if waits[run] else ""


def _in_each(compared: Comparison, row: int, column: str, words: str) -> str:
    delays = compared.delays
    said = [str(delays[name].iloc[row]) if name in delays else "" for name in (f"{column}_a", f"{column}_b")]
    if said[0] == said[1]:
        return ""
    return ", ".join(f"{words} {run}: {because}" for run, because in zip(RUNS, said, strict=True) if because)


def _cut_before(compared: Comparison, link: Link) -> str:
    """The reason for an attempt that only one run has, from the last attempt that both have."""
    delays = compared.delays
    rows = np.flatnonzero((delays["job_id"] == link.cause_job) & (delays["attempt"] < link.cause_attempt))
    if not len(rows):
        return ""
    last = int(rows[np.argmax(delays["attempt"].to_numpy()[rows])])
    because = _cut(compared, last)
    return because and f"job {compared.called(link.cause_job, int(delays['attempt'].iloc[last]))} was {because}"


def _cause_text(compared: Comparison, link: Link, row: int, run: str) -> str:
    """The cause of a link, the compared job ``row``, with its differences between the runs."""
    delta = link.cause_run_delta_ns
    parts = [f"ran {format_ns(abs(delta))} {'longer' if delta > 0 else 'shorter'}" if delta else "same run time"]
    parts += [part for part in (_delayed(compared, row, run), _cut(compared, row)) if part]
    parts += [f"order {_signed(link.order_ns)}"] if link.order_ns else []
    return f"job {compared.called(link.cause_job, link.cause_attempt)} ({'; '.join(parts)})"


def _no_link(compared: Comparison, link: Link, run: str) -> str:
    before = _cut_before(compared, link) if link.cause == "unmatched" else ""
    cause = compared.called(link.cause_job, link.cause_attempt)
    on = f"it started on cores that job {cause}, still running,"
    words = {
        "submit": "it started at its submit",
        "eligible": "it started as soon as it was eligible",
        "unmatched": f"it waited for job {cause}, which ran only in {run}{before and f', because {before}'}",
        START_DELAY.cause: "it had its cores as soon as it was eligible",
        "pass": "no job ended when it started",
        "hinted": f"{on} released after a hint",
        "asked": f"it started on cores that the scheduler requested from job {cause}, still running",
        "wished": f"{on} had offered",
        "freed": f"{on} released early",
    }
    return f"in {run} {words[link.cause]}"


def _delay_line(compared: Comparison, row: int) -> str:
    links = chain(compared, row)
    run = str(compared.delays["chain_of"].iloc[row])
    first, root = links[0], links[-1]
    held = links[:-1]
    parts = [f"job {compared.called(first.job_id, first.attempt)} {_moved(first)}"]
    if not held:
        parts.append(_no_link(compared, first, run))
    else:
        pairs = zip(held[:_NAMED], links[1:], strict=False)
        causes = [_cause_text(compared, link, cause.row, run) for link, cause in pairs]
        more = len(held) - _NAMED
        text = f"in {run} it waited for " + ", which waited for ".join(causes)
        text += f", and so on over {counted(more, 'more job')}" if more > 0 else ""
        back = f", back to job {compared.called(root.job_id, root.attempt)}" if len(held) > 1 else ""
        parts += [f"{text}{back}, which {_moved(root)}", *([_sums(held, compared)] if more > 0 else [])]
    if delayed := _delayed(compared, first.row, run):
        parts.append(f"in {run} it {delayed}")
    parts += [part for part in (_overtaken(compared, first, run), _said(compared, first.row)) if part]
    return f"{parts[0]}: {'; '.join(parts[1:])}"


def _moved(link: Link) -> str:
    delta = link.start_delta_ns
    if not delta:
        return "started at the same time in both"
    return f"started {format_ns(abs(delta))} {'later' if delta > 0 else 'earlier'} in B"


def _sums(links: Sequence[Link], compared: Comparison) -> str:
    """Sums over a chain that is too long to name all its links, and the run that changed most."""
    runs, order = (sum(getattr(link, name) for link in links) for name in ("cause_run_delta_ns", "order_ns"))
    most = max(links, key=lambda link: abs(link.cause_run_delta_ns))
    named = compared.called(most.cause_job, most.cause_attempt)
    text = f"run times account for {_signed(runs)}"
    text += f" (most: job {named}, {_signed(most.cause_run_delta_ns)})" if most.cause_run_delta_ns else ""
    return text + (f", the order for {_signed(order)}" if order else "")


def _overtaken(compared: Comparison, link: Link, run: str) -> str:
    """The jobs that overtook a job, if its place in the order differs between the runs."""
    if link.cause in LINKS and not link.order_ns:
        return ""
    passed = overtakers(compared, link.row, run)
    if not passed:
        return ""
    rows = compared.delays.iloc[passed[:_NAMED]][["job_id", "attempt", "cores"]].to_numpy().tolist()
    named = ", ".join(f"{compared.called(job, attempt)} ({cores} cores)" for job, attempt, cores in rows)
    return f"overtaken by {counted(len(passed), 'job')}: {named}{', …' if len(passed) > _NAMED else ''}"


def delay_lines(compared: Comparison, top: int, *, later: bool) -> list[str]:
    """One line for each of the ``top`` jobs with the largest delays in B, or the largest gains."""
    return [_delay_line(compared, row) for row in ranked(compared, "start_delta_ns", top, later=later)]


def overrun_lines(compared: Comparison, top: int, *, later: bool) -> list[str]:
    """One line for each of the ``top`` jobs whose longer runs delayed other jobs most, or whose shorter runs advanced them."""
    delays = compared.delays
    which, word = ("later", "longer") if later else ("earlier", "shorter")
    lines = []
    for row in ranked(compared, f"{which}_ns", top, later=later):
        job = delays.iloc[row]
        own, in_all = format_ns(abs(int(job["run_delta_ns"]))), format_ns(round(abs(job[f"{which}_ns"])))
        moved = "delayed" if later else "advanced"
        others = f"{moved} {counted(int(job[f'{which}_jobs']), 'job')}, by {in_all} in total"
        cut = _cut(compared, row)
        name = compared.called(int(job["job_id"]), int(job["attempt"]))
        lines.append(f"job {name} ran {own} {word}{cut and f' ({cut})'}: {others}")
    return lines


def chain_table(compared: Comparison, row: int) -> str:
    """The whole chain of a job, one line per link, with the terms of its delay, which add up."""
    links = chain(compared, row)
    delays = compared.delays.iloc[row]
    lines = [("job", "cores", "start B−A", "cause", "of job", "its run B−A", "its start B−A", "order")]
    for link in links:
        own = compared.called(link.job_id, link.attempt), str(link.cores), _seconds(link.start_delta_ns), link.cause
        cause = compared.called(link.cause_job, link.cause_attempt) if link.cause_job >= 0 else ""
        terms = [_seconds(ns) for ns in (link.cause_run_delta_ns, link.cause_start_delta_ns, link.order_ns)]
        lines.append((*own, cause, *(terms if link.cause in LINKS else ("", "", ""))))
    root = compared.called(links[-1].job_id, links[-1].attempt)
    sums = (
        f"{_seconds(links[0].start_delta_ns)} s = runs {_seconds(int(delays['chain_run_ns']))} s + order "
        f"{_seconds(int(delays['chain_order_ns']))} s + start of {root} {_seconds(int(delays['root_start_delta_ns']))} s"
    )
    run = str(delays["chain_of"])
    named = [(f"job {compared.called(link.job_id, link.attempt)}", link) for link in links]
    further = [f"{name} was {cut}" for name, link in named if (cut := _cut(compared, link.row))]
    further += [f"{name} {delayed} in {run}" for name, link in named if (delayed := _delayed(compared, link.row, run))]
    if links[-1].cause == "unmatched" and (before := _cut_before(compared, links[-1])):
        further.append(before)
    further += [f"{name} {passed}" for name, link in named if (passed := _overtaken(compared, link, run))]
    further += [f"{name}: {words}" for name, link in named if (words := _said(compared, link.row))]
    title = f"chain of job {compared.called(links[0].job_id, links[0].attempt)} in {run}, times in s"
    return "\n".join([title, text_table(lines), sums, *further])
