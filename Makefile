# make demo    simulate the shipped workload under every combination of both levels, with a figure, a trace and a report page
# make check   linters, types and unit tests, to run while you work; about a minute and a half on two processors
# make test    every check and test; must pass for every commit
# make release slow tests: an installation into every Python, the whole site in a browser, all of SimGrid's cases
# make soak    long searches: 300 times as many examples as make test, different in each run; 100,000 runs of the bridge on a
#              simulated network (tests/bridge/test_simulated_network.py); 20 killed replays (tests/bridge/replay_soak.py); and
#              20 interrupts of a study on a Dask cluster (tests/bridge/interrupt_soak.py)
# make faults  plant the faults of tests/faults, one at a time, and run the tests that must find each (tools/faults.py)
# make bench   the benchmark, about nine minutes on two quiet processors (docs/reference/benchmarks.md)
# make wheel   a wheel with the machine code of all kernels, in dist (docs/how-to/wheels.md)
# make page    build the script and the style of report pages from tools/page into bridge/report/assets
# make docs    the site of the documentation, in build/site (tools/site)
# make clean   remove the results of the other targets
#
# Requires only Python 3.11 or newer. To use another one than python3:  make PYTHON=python3.12 …

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Number of processes for the tests; an idle process takes over half of another one's tests.
WORKERS ?= $(shell nproc)
PYTEST := $(BIN)/python -m pytest -q --numprocesses $(WORKERS) --dist worksteal

.PHONY: demo check test release soak faults bench wheel docs page clean static kernels system-packages
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	@mkdir -p demo
	$(BIN)/twolevel grid sample --variation 0,0.25 --tasks-per-core 8 --seeds 10 --out demo/grid --force
	$(BIN)/twolevel run sample --bls fcfs --als gss --variation 0.25 --tasks-per-core 8 --tasks --out demo/run --force
	$(BIN)/twolevel run sample --bls fcfs --als gss --variation 0.25 --tasks-per-core 8 --tasks --no-trace \
	    --coupling process --same-as demo/run --out demo/processes --force
	$(BIN)/twolevel gantt demo/run --jobs 97-104 -o demo/gantt.png
	$(BIN)/twolevel report demo/run -o demo/report.html --force
	@echo
	@echo "to open first         demo/report.html, in a browser: a page of one run, with its cores over time"
	@echo "twelve combinations   demo/grid/results.parquet, comparisons.parquet, figures/"
	@echo "that run in full      demo/run/run.json, jobs.parquet, tasks.parquet"
	@echo "again, in processes   demo/processes/run.json: a process for each job, the same tables"
	@echo "its cores over time   demo/gantt.png"
	@echo "its OTF2 trace        demo/run/trace/traces.otf2"

# Tests and cases start hundreds of processes; bytecode saves parsing in each.
check test release soak faults bench: export PYTHONDONTWRITEBYTECODE :=

check: $(VENV)/installed-dev system-packages
	+@$(MAKE) --no-print-directory --jobs 2 --output-sync static kernels
	$(PYTEST) --layer check

test: $(VENV)/installed-dev system-packages
	+@$(MAKE) --no-print-directory --jobs 2 --output-sync static kernels
	$(PYTEST)

release: $(VENV)/installed-dev system-packages kernels
	$(PYTEST) --layer release

soak: $(VENV)/installed-dev system-packages kernels
	$(PYTEST) --layer soak
	$(BIN)/python tests/bridge/replay_soak.py
	$(BIN)/python tests/bridge/interrupt_soak.py --times 20

static: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.words

# Once, before workers would wait for each other.
kernels: $(VENV)/installed-dev
	$(BIN)/twolevel warm-up --all

system-packages:
	@command -v otf2-print >/dev/null || tools/install_system_packages.sh otf2-tools
	@command -v $${CC:-cc} >/dev/null || tools/install_system_packages.sh gcc libc6-dev
	@command -v pj_dump >/dev/null || tools/install_system_packages.sh pajeng
	@command -v openssl >/dev/null || tools/install_system_packages.sh openssl
	@command -v chromium >/dev/null || tools/install_system_packages.sh chromium
	@{ $(BIN)/python -c 'import simgrid' || /usr/bin/python3 -c 'import simgrid'; } >/dev/null 2>&1 || \
	    tools/install_system_packages.sh python3-simgrid
	@{ PATH="$$PATH:/usr/sbin" command -v slurmctld && test -e /usr/include/slurm/slurm.h; } >/dev/null || \
	    tools/install_system_packages.sh slurmctld slurm-client slurm-wlm-basic-plugins libslurm-dev

faults: $(VENV)/installed-dev system-packages kernels
	$(BIN)/python -m tools.faults --workers $(WORKERS)

bench: $(VENV)/installed
	$(BIN)/python -m tools.bench

wheel: $(VENV)/installed-dev
	@command -v $${CC:-cc} >/dev/null || tools/install_system_packages.sh gcc libc6-dev
	$(BIN)/python -m tools.build_wheel

page: $(VENV)/installed-dev
	$(BIN)/python -m tools.build_page

docs: $(VENV)/installed-dev
	$(BIN)/python -m tools.site

clean:
	rm -rf $(VENV) build demo bench .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "twolevel needs Python 3.11 or newer, and $(PYTHON) is not; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || tools/install_system_packages.sh python3-venv
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/installed
