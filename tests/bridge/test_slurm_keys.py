"""The keys of slurm.conf: the table holds all that Slurm knows, and nothing of a file is executed or loaded."""

import glob
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from slurm_here import machine, needs_slurm, replayed
from tables import table_rows, table_text

from bls.scheduler_options import ConstraintOptions
from bls.workloads.workload import Workload
from bridge.replay.configuration import Configuration, of_machine, settings
from bridge.replay.keys import NODES, OWN, PARTITIONS, TOP, Key, line_of
from bridge.replay.site import of_site
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

_MINE = "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"


def _site(folder: Path, text: str) -> str:
    path = folder / "slurm.conf"
    path.write_text(text)
    return str(path)


def _keys_of(text: str) -> set[str]:
    """The keys that Slurm finds in a file, in lower case: in each line, outside quotation marks."""
    without = re.sub(r'"[^"]*"', "", text.lower())
    return set(re.findall(r"(?:^|\s)([a-z0-9_.]+)\s*[-*+/]?=", without))


#: Finds Slurm's own tables of keys in libslurm: arrays of a name, a type, two functions and further options, 40 bytes each.
_READ_TABLES = table_text(__file__, "read_tables")

#: Slurm's number for a value that is any text.
_TEXT = 1


@pytest.fixture(scope="module")
def tables() -> list[dict[str, int]]:
    library = glob.glob("/usr/lib/*/slurm*/libslurmfull.so")[0]
    said = subprocess.run([sys.executable, "-c", _READ_TABLES, library], capture_output=True, text=True, check=True)
    found: list[dict[str, int]] = json.loads(said.stdout)
    return found


@needs_slurm
@pytest.mark.parametrize(
    ("ours", "known_by"),
    [(TOP, "SlurmctldPlugstack"), (NODES, "NodeHostname"), (PARTITIONS, "AllocNodes")],
    ids=["file", "nodes", "partitions"],
)
def test_every_key_of_libslurm_is_in_the_table_and_numbers_are_numbers(
    tables: list[dict[str, int]], ours: dict[str, Key], known_by: str
) -> None:
    (theirs,) = (one for one in tables if known_by in one)
    lines = {"NodeName", "PartitionName", "NodeSet"}
    assert sorted(set(theirs) - lines - {key.name for key in ours.values()}) == []
    for key in ours.values():
        if key.form is not None and theirs[key.name] in (3, 4, 5):  # uint16, 32, 64
            assert key.form.most, key.name
            assert key.form.takes(str(key.form.most))
            assert not key.form.takes(str(key.form.most + 1))
            assert key.form.most < 2 ** {3: 16, 4: 32, 5: 64}[theirs[key.name]]


#: And those that name a plug-in of Slurm's own by which it decides.
_CHOSEN = {"SchedulerType", "SelectType", "PriorityType"}


def test_no_further_key_sounds_like_a_program_a_plug_in_or_a_file() -> None:
    sounds = re.compile(r"prog|plug|type$|dir$|file$|loc|command|logu?e?$|log$|auth|param", re.IGNORECASE)
    passed = {key.name for key in TOP.values() if key.form is not None and sounds.search(key.name)}
    assert passed == _CHOSEN | {"SchedulerParameters", "SelectTypeParameters", "DependencyParameters"}
    for one in _CHOSEN:
        form = TOP[one.lower()].form
        assert form is not None
        assert not form.takes("../../tmp/evil")
        assert not form.takes("select/evil")


@pytest.mark.parametrize("name", table_rows(__file__, "dangerous"))
def test_a_key_that_names_a_program_a_plug_in_or_a_file_is_refused_by_set_and_replaced_in_a_file(
    tmp_path: Path, name: str
) -> None:
    for spelt in (name, name.lower(), name.upper()):
        with pytest.raises(InputError, match=f"set: {name}: is set by the replay"):
            settings([f"{spelt}=/tmp/canary"])
        found = of_site(_site(tmp_path, f"{spelt} = /tmp/canary\n{_MINE}"), {})
        assert len(found.replaced) == 1
        assert found.replaced[0].startswith(f"{name}=/tmp/canary: ")
        assert "canary" not in found.files(1)["slurm.conf"]


def _written(make: Callable[[], Configuration]) -> str:
    """The file that slurmctld gets; empty if the value is refused."""
    try:
        return make().files(1)["slurm.conf"]
    except InputError:
        return ""


@pytest.mark.parametrize("value", [value for (value,) in table_rows(__file__, "values_with_another_key")])
@pytest.mark.parametrize("quoted", ["{}", '"{}"'])
def test_a_value_does_not_go_on_as_another_key(tmp_path: Path, value: str, quoted: str) -> None:
    value = quoted.format(value)
    texts = [
        _written(lambda one=f"{key}={value}": of_machine(settings([one]), machine(2, 4)))
        for key in ("SchedulerParameters", "Licenses", "GresTypes")
    ]
    texts += [
        _written(lambda one=template: of_site(_site(tmp_path, one.format(value)), {}))
        for template in (
            "SchedulerParameters={0}\n" + _MINE,
            "NodeName=n[1-2] CPUs=4 Feature={0}\nPartitionName=p Nodes=ALL\n",
            "NodeName={0} CPUs=4\nPartitionName=p Nodes=ALL\n",
            "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL OverSubscribe={0}\n",
            "NodeName=n[1-2] CPUs=4\nPartitionName={0} Nodes=ALL\n",
            _MINE + "NodeSet={0} Nodes=n1\n",
            _MINE + "NodeSet=s Feature={0}\n",
        )
    ]
    for text in texts:
        assert _keys_of(text) <= {key.lower() for key in OWN} | set(table_rows(__file__, "written"))
        assert not re.search(r"\\\n", text)


def test_no_door_writes_a_value_that_goes_on_as_another_key() -> None:
    assert line_of({"A": "b c", "D": "", "E": "f"}) == 'A="b c" D="" E=f'
    for value in ('a"', "a\n", "a\\", "a#", "a\t"):
        with pytest.raises(InputError, match="no quotation mark"):
            line_of({"SchedulerParameters": value})


@needs_slurm
def test_slurmctld_executes_nothing_that_a_file_names(tmp_path: Path, tables: list[dict[str, int]]) -> None:
    canary, touched = tmp_path / "canary.sh", tmp_path / "touched"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {touched}\n')
    canary.chmod(0o755)
    (theirs,) = (one for one in tables if "SlurmctldPlugstack" in one)
    passed = {key.name for key in TOP.values() if key.form is not None or key.harmless}
    attack = [f"{name}={canary}" for name, kind in theirs.items() if kind == _TEXT and name not in passed]
    attack += ["HealthCheckInterval=1", "SuspendTime=1", "SlurmctldDebug=quiet", "SlurmSchedLogLevel=1"]
    attack += ["PreemptMode=REQUEUE"]
    found = of_site(_site(tmp_path, "\n".join([*attack, _MINE])), {})
    (tmp_path / "windows.toml").write_text(
        '[[reservation]]\nname = "course"\nbegin = "5min"\nend = "10min"\nhosts = "0"\njobs = "3"\n'
    )
    done = replayed(
        Workload.from_jobs([(1, 0, 60, 4, 120), (2, 10, 500, 4, 60), (3, 20, 60, 4, 120)]),
        found.platform(),
        tmp_path / "r",
        found=found,
        constraints=ConstraintOptions(windows=tmp_path / "windows.toml"),
    )
    assert list(done.result.jobs.state) == ["completed", "killed", "completed"]
    assert len(found.replaced) >= len(attack) - 1
    assert not touched.exists(), touched.read_text()


@needs_slurm
@pytest.mark.parametrize(("line", "cores"), table_rows(__file__, "nodes_have_the_cores_that_slurm_gives_them"))
def test_nodes_have_the_cores_that_slurm_gives_them(tmp_path: Path, line: str, cores: int) -> None:
    found = of_site(
        _site(tmp_path, f"{line}\nNodeSet=both Nodes=n[1-2]\nPartitionName=p Nodes=both Default=YES MaxTime=1:00:00\n"),
        {},
    )
    assert [node.cpus for node in found.nodes] == [cores, cores]
    frame = replayed([(1, 0, 60, 2 * cores, 120)], found.platform(), tmp_path / "r", found=found).result.jobs
    assert list(frame.allocation) == [f"0-{2 * cores - 1}"]


def test_what_depends_on_a_replaced_key_goes_with_it_and_the_log_is_not_silenced(tmp_path: Path) -> None:
    lines = [
        *("SlurmSchedLogFile=/var/log/sched", "SlurmSchedLogLevel=1", "PreemptMode=REQUEUE", "PreemptExemptTime=10"),
        *("GroupUpdateTime=1", "SlurmctldDebug=quiet", "SlurmctldSyslogDebug=quiet", "LogTimeFormat=clock"),
        *("DebugFlags=Agent", "PriorityWeightAge=0", "JobCompPass=secret", "JobCompType=jobcomp/mysql"),
    ]
    found = of_site(_site(tmp_path, "\n".join([*lines, _MINE])), {})
    assert found.keys == {}
    text = found.files(1)["slurm.conf"]
    assert "\nSlurmctldDebug=info\n" in text
    assert "\nLogTimeFormat=iso8601_ms\n" in text
    assert "secret" not in text
    assert "PreemptMode=REQUEUE: omitted (needs preemption, which a replay does not support)" in found.replaced
    assert not any("secret" in words or "PriorityWeightAge" in words for words in found.replaced)
    with pytest.raises(InputError, match=r"PreemptMode=SUSPEND,GANG: needs preemption.*; allowed: PreemptMode=off"):
        of_site(_site(tmp_path, f"PreemptMode=SUSPEND,GANG\n{_MINE}"), {})


_DIGITS = "9" * 5000


_NUMBERS = ("²", "1e3", "1_0", "010", "0x10", "-1", "1.0", "٣", "70000000000000000000", _DIGITS, "4K", "")
_PLACES = (
    *(f"NodeName=n1 {key}={{}}" for key in ("CPUs", "Procs", "Sockets", "RealMemory", "Weight")),
    "PartitionName=p Nodes=ALL MaxNodes={}",
    *(f"{key}={{}}" for key in ("CompleteWait", "DefMemPerCPU", "PriorityWeightJobSize", "PriorityWeightAge")),
)
#: Anything else would be a type of GPU.
_OF_GPUS = [("NodeName=n1 CPUs=2 Gres=gpu:{}", number) for number in ("²", "٣", "70000000000000000000", _DIGITS)]


@pytest.mark.parametrize(
    ("line", "number"),
    [*((line, _NUMBERS[at]) for line in _PLACES for at in (0, 9)), *((_PLACES[0], one) for one in _NUMBERS), *_OF_GPUS],
)
def test_what_is_no_number_is_one_line_of_ours(tmp_path: Path, line: str, number: str) -> None:
    text = line.format(number or '""')
    with pytest.raises(InputError, match=r"(?s)^.{,250}slurm.conf: line 1: .*; allowed: ") as error:
        of_site(_site(tmp_path, f"{text}\n{_MINE}"), {})
    said = str(error.value)
    assert len(said) < 600
    assert "invalid literal" not in said
    assert "Exceeds the limit" not in said
