"""The work of jobs' tasks on each kind of workers, for programs with graphs whose files state it."""

from als.programs.table import ProgramTable
from traces.compiled import compiled
from traces.kernels.signatures import Floats, Ints


@compiled()
def fill_works(works: Floats, lengths: Floats, part_first: Ints, table: ProgramTable, place: int) -> None:
    """Write the work of each task of a job with a program on cores and on each kind of workers, kind by kind."""
    first, stop = table.phase_first[place], table.phase_stop[place]
    for part in range(part_first.size - 1):
        phase, begin = first + part % (stop - first), part_first[part]
        n, given = part_first[part + 1] - begin, table.works_first[phase]
        for kind in range(table.work_kinds[place]):
            for k in range(n):
                work = lengths[begin + k]
                if given >= 0:  # scaled as its work on cores is
                    on_cores = table.graphs.gflop[table.graphs.tasks_first[table.graph_row[phase]] + k]
                    scale = work / on_cores if on_cores > 0.0 else 1.0
                    work = table.works[given + kind * n + k] * scale
                works[kind * lengths.size + begin + k] = work
