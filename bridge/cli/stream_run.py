"""``twolevel run --stream``: a log that is read, simulated and written as simulated time goes on."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from bls.stream import ArrivingJobs, check_streamed, in_blocks
from bls.workloads import format_of, read_workload, sample_path
from bls.workloads.columns import rejects_text
from bls.workloads.readers.swf import swf_blocks
from bridge.live.progress import Progress
from bridge.runs.directory import fresh_directory, write_record
from bridge.runs.record import run_record
from bridge.runs.result import summary_rows
from bridge.runs.stream import run_stream
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.remarks import held_words, log_words, machine_words, time_limit_words
from bridge.scenarios.scenario import Scenario, platform_for
from bridge.standard_error import lined_up, say


def stream_run(target: Path, force: bool, options: Scenario, arguments: Mapping[str, object]) -> None:
    """Simulate a log and write the table of jobs and the record of the run, which states the ``arguments``. Raises
    InputError if an option needs all jobs at once, or something cannot be used."""
    workload, platform = str(options.workload.source), options.machine.platform
    log = sample_path() if workload == "sample" else Path(workload)
    begins: bool | None = None
    found = "swf" if workload == "sample" else format_of(log)
    if found == "swf":
        blocks = swf_blocks(log)
        begin = next(blocks)  # with the header
        blocks = chain([begin], blocks)
    else:
        begin = read_workload(log)
        blocks, begins = in_blocks(begin), bool(begin.held.any())
        say(f"workload: a log in {found} is read as a whole before the run; jobs in SWF are read as they are submitted")
    machine = platform_for(platform, begin, replayed=True)
    arrivals = ArrivingJobs(blocks, machine, options.workload.oversize, options.batch.memory, begins)
    scenario = ReadyScenario.of(arrivals.first(), machine, options)
    check_streamed(scenario.policy, options.batch, scenario.constraints)
    with fresh_directory(target, force) as folder:
        with Progress(None) as watch:
            result = run_stream(scenario, arrivals, folder / "jobs.parquet", watch)
        record = run_record(scenario, {**arguments, "stream": True}, result.workload, result.metrics)
        record |= {"decisions": result.decisions, "coupling": result.coupling}
        write_record(folder / "run.json", record)
    account = result.workload
    rejected = "rejected: " if any(account["rejects"].values()) else ""
    say(f"workload: {account['jobs']} jobs; {account['lines']} lines, {rejected}{rejects_text(account['rejects'])}")
    for remark in begin.remarks:
        say(f"workload: {remark}")
    whole = replace(begin, n_lines=arrivals.n_lines, rejects=arrivals.rejects)
    for words in machine_words(whole, machine, platform, replayed=True):
        say(words)
    of_log = [held_words(arrivals.held)] if found == "swf" else log_words(begin, machine, [options])
    for words in filter(None, of_log):
        say(words)
    if not arrivals.limited and (words := time_limit_words(begin, [options])):
        say(words)
    print(lined_up(summary_rows(scenario, result.metrics, machine.n_cores, {})))
    say(f"results: {target}")
