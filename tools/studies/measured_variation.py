"""An application map with the measured variation of 100 training jobs.

    python -m tools.studies.measured_variation pai-coefficient_variation.csv.gz > tools/studies/measured-variation-pai.toml

The file has the coefficient of variation of the times of one mini-batch over a job's ten workers, a row for each job and a
column for each iteration (alibaba/clusterdata, cluster-trace-gpu-v2020, mini-batch-time). A job's variation is the median over
its iterations.
"""

import gzip
import sys

import numpy as np

HEAD = """\
# The variation of 100 real training jobs, each with a hundredth of the jobs: the median over iterations of the coefficient of
# variation of a mini-batch over ten workers. Made by python -m tools.studies.measured_variation from alibaba/clusterdata,
# cluster-trace-gpu-v2020/mini-batch-time.
"""


def main(path: str) -> None:
    """Print the map of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1:]
    print(HEAD)
    for name, *values in rows:
        cov = float(np.median([float(value) for value in values if value]))
        print("[[application]]")
        print(f'name = "{name.replace("_", "-")}"\nmatch = {{ share = 0.01 }}\nlengths = "lognormal:cov={cov:.4f}"\n')


if __name__ == "__main__":
    main(sys.argv[1])
