# make demo    simulate the included workload under every combination of both levels; write figures, a trace and a page
# make check   linters, types and unit tests, for use while you work (1.5 minutes on two processors)
# make test    every check and test; required for every commit
# make release slow tests: an installation into every Python, the whole site in a browser, all SimGrid cases
# make soak    search for new failures: 300 times the examples of make test, different each time; 100,000 runs on a simulated
#              network (tests/bridge/test_simulated_network.py); 20 killed replays (tests/bridge/replay_soak.py); 20 interrupts
#              of a study on a Dask cluster (tests/bridge/interrupt_soak.py)
# make faults  plant each fault of tests/faults and run the tests that must find it (tools/faults.py)
# make bench   the benchmark, about nine minutes on two idle processors (docs/reference/benchmarks.md)
# make wheel   build a wheel with the machine code of all kernels in dist (docs/how-to/wheels.md)
# make page    build the script and the style of report pages from tools/page in bridge/report/assets
# make docs    build the site of the documentation in build/site (tools/site)
# make clean   remove all that these commands made
#
# Requires Python 3.11 or newer; to choose another than python3:  make PYTHON=python3.12 …

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Number of test processes; an idle process takes over half of another's tests.
WORKERS ?= $(shell nproc)
PYTEST := $(BIN)/python -m pytest -q --numprocesses $(WORKERS) --dist worksteal

.PHONY: demo check test release soak faults bench native wheel docs page clean static kernels system-packages
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	@mkdir -p demo
	$(BIN)/twolevel grid sample --variation 0,0.25 --tasks-per-core 8 --seeds 10 --out demo/grid --force
	$(BIN)/twolevel run sample --bls fcfs --als gss --variation 0.25 --tasks-per-core 8 --tasks --out demo/run --force
	$(BIN)/twolevel run sample --bls fcfs --als gss --variation 0.25 --tasks-per-core 8 --tasks --trace none \
	    --coupling process --same-as demo/run --out demo/processes --force
	$(BIN)/twolevel gantt demo/run --jobs 97-104 -o demo/gantt.png
	$(BIN)/twolevel report demo/run -o demo/report.html --force
	@echo
	@echo "open this first       demo/report.html, in a browser: one run (fcfs × gss), with its cores over time"
	@echo "twelve combinations   demo/grid/results.parquet, comparisons.parquet, figures/"
	@echo "tables of the run     demo/run/run.json, jobs.parquet, tasks.parquet"
	@echo "the same run again    demo/processes/run.json: one process per application, identical tables"
	@echo "its cores over time   demo/gantt.png"
	@echo "its OTF2 trace        demo/run/trace/traces.otf2"

# Tests start hundreds of processes; cached bytecode saves parsing the modules again.
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

# Compile once, before test processes that would wait for each other.
kernels: $(VENV)/installed-dev
	$(BIN)/twolevel warm-up --all

system-packages:
	@command -v otf2-print >/dev/null || tools/install_system_packages.sh otf2-tools
	@command -v $${CC:-cc} >/dev/null || tools/install_system_packages.sh gcc libc6-dev
	@ls /usr/lib/llvm-*/lib/clang/*/include/omp-tools.h >/dev/null 2>&1 || tools/install_system_packages.sh libomp-19-dev
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

native: $(VENV)/installed system-packages
	$(BIN)/python -m tools.native
	$(BIN)/python -m tools.sections docs/explanation/native.md

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
