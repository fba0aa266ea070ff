"""The pages say what the code says: names, columns, metrics, options, files, links."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import succeeds
from pages import PAGES, ROOT, anchors, blocks, links, section, table

import bridge
from als.engine.state import ApplicationState
from als.lengths import LENGTHS
from als.metrics.loops import LOOP_METRICS, application_metrics
from als.options import ASSIGNMENT
from als.techniques import TECHNIQUES
from bls import HostGroup, Platform, sample_path
from bls.engine.state import BatchState
from bls.machine.host_power import HostPower
from bls.power.options import Power
from bls.workloads.workload import REASONS
from bridge.couplings import COUPLINGS
from bridge.couplings.inline_state import InlineState
from tools import sections, states
from tools.site.commands import command_pages
from traces.kernels.state import State, fields_of
from traces.tables import JOB_COLUMNS

DOCS = ROOT / "docs"
GROUPS = ("tutorials", "how-to", "reference", "explanation")
RESULTS = DOCS / "reference/results.md"


def unquoted(cell: str) -> str:
    return cell.strip("`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    for target in links(page):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name}: {target}"
        assert file.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}"


@pytest.mark.parametrize("group", GROUPS)
def test_the_index_of_a_group_names_every_page_of_it(group: str) -> None:
    named = {(DOCS / group / target).resolve() for target in links(DOCS / group / "index.md")}
    pages = {page for kind in ("*.md", "*.ipynb") for page in (DOCS / group).glob(kind)}
    assert pages - {DOCS / group / "index.md"} <= named


def test_every_page_is_in_a_group() -> None:
    assert {page.name for page in DOCS.glob("*.md")} == {"index.md", "faq.md"}
    named = {(DOCS / target).resolve() for target in links(DOCS / "index.md")}
    assert {DOCS / "faq.md", *(DOCS / group / "index.md" for group in GROUPS)} <= named


def test_code_names_pages_where_they_are() -> None:
    for folder in ("als", "bls", "bridge", "traces", "tools", "tests", "docs"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".md", ".toml"):
                for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|ipynb)\b", file.read_text(encoding="utf-8")):
                    assert (ROOT / name).is_file(), f"{file.relative_to(ROOT)}: {name}"
    for file in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml"):
        for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|ipynb)\b", (ROOT / file).read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), f"{file}: {name}"


@pytest.mark.parametrize("package", ["traces", "bls", "als", "bridge", "twolevel"])
def test_the_public_names_are_those_of_the_page(package: str) -> None:
    module = importlib.import_module(package)
    listed = [unquoted(row[0]) for row in table(section(DOCS / "reference/api.md", package))]
    assert sorted(listed) == sorted(module.__all__)
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert getattr(module, name).__doc__
    assert sorted(dir(module)) == sorted(module.__all__)  # what an editor completes
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with everything that a run can write."""
    folder = tmp_path_factory.mktemp("result") / "r"
    words = ("--select", "first:10", "--coupling", "pool", "--workers", 1, "--tasks", "--out", folder)
    succeeds("run", "sample", "--nodes", "--decisions", *words)
    return folder


@pytest.mark.parametrize("name", ["jobs", "tasks", "nodes", "decisions"])
def test_the_columns_are_those_of_the_page(result: Path, name: str) -> None:
    rows = [row for row in table(section(RESULTS, f"{name}.parquet")) if row[2] != "J"]  # energies need --power
    schema = pq.read_schema(result / f"{name}.parquet")
    assert [unquoted(row[0]) for row in rows] == schema.names
    assert [row[1] for row in rows] == [str(schema.field(column).type) for column in schema.names]
    for row in rows:
        assert (row[2] == "ns") == row[0].endswith("_ns`"), row
        assert row[3]


def test_the_metrics_are_those_of_the_page() -> None:
    ran = bridge.simulate(sample_path(), select="first:5")
    jobs = ran.ledger.jobs
    text = section(RESULTS, "Metrics")
    batch = [name for row in table(text) for name in re.findall(r"`(\w+)`", row[1])]
    rows = table(text[text.index("| metric |") :])
    loops = np.zeros((len(LOOP_METRICS), len(jobs)))
    application = application_metrics(jobs.tasks, jobs.chunks, jobs.imbalance, jobs.cov, loops, 1.0)
    assert [unquoted(row[0]) for row in rows] == list(application)
    assert len(set(batch)) == len(batch)
    assert set(batch) == set(ran.metrics) - set(application)
    for row in rows:
        assert (row[1] == "ns") == row[0].endswith("_ns`"), row


def test_the_records_keys_are_those_of_the_page(result: Path) -> None:
    record = json.loads((result / "run.json").read_text())
    rows = {unquoted(row[0]): set(re.findall(r"`(\w+)`", row[1])) for row in table(section(RESULTS, "run.json"))}
    assert list(rows) == list(record)
    assert rows["arguments"] == set(record["arguments"])
    for key in ("machine", "workload", "coupling", "decisions"):
        assert rows[key] == set(record[key]), key
    options = bridge.Scenario().names()
    assert set(options) < rows["arguments"]


def test_the_further_columns_of_the_jobs_are_those_of_the_page(tmp_path: Path) -> None:
    # What there is only with a map, or with a choice among techniques, is said below the table.
    (tmp_path / "apps.toml").write_text('[default]\nals = "select:gss,fac"\n')
    text = section(RESULTS, "jobs.parquet")
    plain, mapped, recorded = (
        set(bridge.simulate(sample_path(), select="first:5", als=als, applications=one).stored_jobs)
        for als, one in (("ss", None), ("ss", tmp_path / "apps.toml"), ("recorded", None))
    )
    assert {unquoted(row[0]) for row in table(text)} == plain
    assert set(JOB_COLUMNS) == recorded
    loop = [name for name, _ in LOOP_METRICS if name not in (*JOB_COLUMNS, "rounds")]
    assert plain - recorded == set(loop)
    assert [unquoted(row[0]) for row in table(text)][-len(loop) :] == loop
    assert "The last nine are" in text
    assert len(loop) == 9
    below = set(re.findall(r"`(\w+)`\s+\((?:string|int64)[,)]", text))
    assert (
        mapped - plain
        == {"application", "chosen", "ahead_chunks"}
        == below
        - {
            *("allowed", "begin_ns", "boot_wait_ns", "planned_ns", "rejected_because"),
            *("started_because", "name", "cut_because", "gpus", "gpu_allocation"),
        }
    )


def test_what_power_adds_is_on_the_page(tmp_path: Path) -> None:
    """Columns of jobs and of nodes, and metrics."""
    machine = Platform((HostGroup(4, 64, 3000.0 * 64, power=HostPower(1, [(1, 4)])),))
    said = {"select": "first:5", "platform": machine, "als": "recorded"}
    plain = bridge.simulate(sample_path(), **said)
    draws = {"job_id": [1], "power": [0.5], "memory_bound": [0.5]}
    predicted = {"job_power": draws, "estimates": "platform", "sleep_after_ns": 10**9}
    power = Power(limits=[(0, 10**9, 10**6)], fallback="hold", **predicted)
    limited = bridge.simulate(sample_path(), **said, power=power)
    jobs, nodes, metrics = (section(RESULTS, name) for name in ("jobs.parquet", "nodes.parquet", "Metrics"))
    assert list(limited.jobs.columns.drop(plain.jobs.columns)) == re.findall(
        r"`(energy_j|power|memory_bound|predicted_power|allowed|boot_wait_ns)`\s+\((?:double|int64)[,)]", jobs
    )
    energies = [unquoted(row[0]) for row in table(nodes) if row[2] == "J"]
    assert energies == list(limited.nodes.columns.drop(plain.nodes.columns))
    said_below = re.search(r"With `--power` or `--limits` there are (.*)", metrics)
    assert said_below is not None
    assert re.findall(r"`(\w+)`", said_below[1]) == [name for name in limited.metrics if name not in plain.metrics]


def test_the_page_of_the_command_line_has_every_command_and_names_its_options() -> None:
    page = DOCS / "reference/cli.md"
    generated = {text.partition("\n")[0].removeprefix("# "): text for text in command_pages().values()}
    headings = re.findall(r"^## (twolevel .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(name for name in generated if name != "Commands")
    for command in headings:
        prose = re.sub(r"```.*?```", "", section(page, command), flags=re.DOTALL)
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", prose))
        assert named - set(re.findall(r"--[a-z][\w-]*", generated[command])) <= {"--tasks"}, command
    text = section(page, "twolevel run")
    for option in re.findall(r"^\| `(?:-\w, )?(--[a-z][\w-]*)", generated["twolevel run"], re.MULTILINE):
        assert f"`{option}`" in text or f"`{option} " in text or option in UNEXPLAINED, option


#: Options of ``run`` about which the page adds nothing to the help.
UNEXPLAINED = ("--out", "--seed", "--kill-at-walltime", "--force", "--help")


def test_what_the_model_page_lists_is_what_there_is() -> None:
    page = DOCS / "explanation/model.md"
    named = [name for row in table(section(page, "Application level")) for name in re.findall(r"`([\w-]+)`", row[1])]
    assert sorted(named) == sorted(TECHNIQUES)
    tour = section(DOCS / "tutorials/tour.md", "The application level")
    assert f"{len(TECHNIQUES) - 1} techniques" in tour  # fac2 is fac
    assert len(LOOP_METRICS) == 12
    assert "Twelve" in tour
    assert len(LENGTHS) == 13
    assert "thirteen distributions" in " ".join(tour.split())
    costs = section(page, "Application level").partition("### What a chunk costs")[2]
    assert tuple(unquoted(row[0]) for row in table(costs)) == ASSIGNMENT.choices
    workload = section(page, "Workload")
    assert tuple(row[0] for row in table(workload[workload.index("| reason") :])) == REASONS
    platform = blocks(page, "toml")[0]
    assert tomllib.loads(platform) == Platform().as_dict()
    assert platform == "\n".join(Platform().to_toml().splitlines()[1:]) + "\n"
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "explanation/couplings.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(COUPLINGS)


def test_the_files_of_the_contributing_page_exist() -> None:
    rows = table(section(ROOT / "CONTRIBUTING.md", "How to add …"))
    assert len(rows) == 14
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for kind, file, line, _, group in rows:
        registry, place = re.findall(r"`([^`]+)`", line)
        module = importlib.import_module(place.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        assert getattr(module, registry), kind
        # A variant is a file in the registry's folder, or in one below it, or a line of the registry.
        assert file == "a line only" or Path(place).parent in Path(unquoted(file)).parents
        assert (ROOT / place).is_file()
        assert not group or unquoted(group) in project
    text = section(ROOT / "CONTRIBUTING.md", "How to add …")
    others = table(text[text.index("| | file | line in | row in |") :])
    assert len(others) == 7
    for kind, file, line, _ in others:
        *names, place = re.findall(r"`([^`]+)`", line)
        if (ROOT / place).is_file():
            module = importlib.import_module(place.removesuffix(".py").replace("/", "."))
            assert names, kind
            assert getattr(module, names[0]), kind
        else:
            assert (ROOT / place).is_dir(), kind
        assert file == "a line only" or (ROOT / unquoted(file)).parent.is_dir(), kind


def test_no_page_names_a_machine() -> None:
    for page in (*PAGES, *DOCS.rglob("*.ipynb")):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/(home|root|tmp|work)/", text), page.name


def test_the_shares_of_examples_are_those_of_conftest() -> None:
    rows = {row[0]: row[2] for row in table(section(ROOT / "CONTRIBUTING.md", "Tests"))}
    (shares,) = re.findall(r"^LAYERS = (\{.*\})$", (ROOT / "tests/conftest.py").read_text("utf-8"), re.MULTILINE)
    for name, share in json.loads(shares).items():
        said = rows[f"`make {name}`"]
        assert said.startswith(f"{share:.0%}".replace("%", " %") if share < 1 else f"{share:g} times"), name


def test_the_pages_show_their_data() -> None:
    assert sections.main(["--check"]) == 0  # python -m tools.sections


@pytest.mark.parametrize("root", [BatchState, ApplicationState, InlineState])
def test_every_field_of_a_state_has_a_meaning(root: type[State]) -> None:
    for name, declared in states.listed(root).items():
        if not declared.__module__.endswith(".contract"):
            meanings = {field: meaning for _, field, _, meaning in states.rows(declared)}
            assert meanings.keys() == fields_of(declared).keys(), name
            assert all(meanings.values()), (name, meanings)
            assert "Attributes" not in (declared.__doc__ or ""), name  # said once


def test_pages_have_the_tables_of_the_declarations() -> None:
    for name in states.TABLES:  # python -m tools.states
        assert (states.DOCS / "reference" / name).read_text(encoding="utf-8") == states.with_tables(name)


def test_the_page_on_coordination_names_the_techniques_that_serve_wanted_cores_last() -> None:
    names = ", ".join(f"`{name}`" for name, technique in TECHNIQUES.items() if technique.places)
    page = (DOCS / "explanation/coordination.md").read_text("utf-8")
    assert f"| {names}, which chooses tasks by their place | as without hints |" in page


PACKAGES = "als|bls|bridge|traces|tools|tests"
_DOTTED = re.compile(rf"`~?((?:{PACKAGES})(?:\.(?!otf2|def)\w+)+)[`(\[]")
_PATH = re.compile(rf"\b((?:{PACKAGES}|docs)/[\w/.-]+\.(?:py|pyi|md|toml|csv|json|c))\b")
TEXTS = [page for page in PAGES if page.name != "CHANGELOG.md"]
SOURCES = [path for package in PACKAGES.split("|")[:4] for path in sorted((ROOT / package).rglob("*.py"))]


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or a name in the source of one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:n])
        source = next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)
        if source is not None:
            text = source.read_text(encoding="utf-8")
            stub = source.with_suffix(".pyi")
            text += stub.read_text(encoding="utf-8") if stub.is_file() else ""
            return n == len(parts) or re.search(rf"\b{parts[n]}\b", text) is not None
    return False


@pytest.mark.parametrize("files", [TEXTS, SOURCES], ids=["pages", "sources"])
def test_named_modules_and_files_exist(files: list[Path]) -> None:
    missing = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        missing += [f"{file.relative_to(ROOT)}: {name}" for name in _DOTTED.findall(text) if not resolves(name)]
        paths = (name for name in _PATH.findall(text) if not re.search(r"[A-Z]{3}", name.rpartition("/")[2]))
        missing += [f"{file.relative_to(ROOT)}: {name}" for name in paths if not (ROOT / name).is_file()]
    assert not missing, "\n".join(missing)
