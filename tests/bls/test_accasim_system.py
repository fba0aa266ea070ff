"""AccaSim's system files: groups of hosts in JSON, read as a platform."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tables import table_rows

from bls.machine.platform import HostGroup, Platform, load_platform
from traces.base.errors import InputError

# Made by hand, in the shape of those that come with AccaSim: a plain machine, and one of several kinds of host.
PLAIN: dict[str, Any] = {
    "system_name": "Small - Site",
    "start_time": 1027839845,
    "equivalence": {"processor": {"core": 2}},
    "groups": {"g0": {"core": 4, "mem": 1048576}},
    "resources": {"g0": 120},
}
MIXED: dict[str, Any] = {
    "groups": {
        "g0": {"core": 2, "mem": 4},
        "g1": {"core": 4, "gpu": 2, "mem": 8},
        "unused": {},
        "g2": {"core": 3, "mic": 1, "mem": 5},
    },
    "resources": {"g2": 8, "g0": 4, "g1": 1},
}


def load(tmp_path: Path, system: object, name: str = "my.json", **options: float) -> Platform:
    path = tmp_path / name
    path.write_text(system if isinstance(system, str) else json.dumps(system))
    return load_platform(path, **options)


def test_a_core_is_a_processor_of_the_workload(tmp_path: Path) -> None:
    found = load(tmp_path, PLAIN, "seth.config")
    assert found == Platform((HostGroup(120, 2, 93.75, {"memory_gb": 1}),), name="Small - Site")  # type: ignore[arg-type]
    assert found.n_cores == 240
    odd = PLAIN | {"groups": {"g0": {"core": 5}}}
    assert load(tmp_path, odd).n_cores == 240  # the fifth core of a host is of no use


def test_hosts_are_numbered_in_the_order_of_the_resources(tmp_path: Path) -> None:
    found = load(tmp_path, MIXED, processor_gflops=2.0)
    assert [(group.count, group.cores) for group in found.hosts] == [(8, 3), (4, 2), (1, 4)]
    assert found.resource_names == ("gpu", "memory", "mic")
    assert found.host_resources[[0, 8, 12]].tolist() == [[0, 5, 1], [0, 4, 0], [2, 8, 0]]
    assert set(found.core_speed_gflops.tolist()) == {2.0}
    assert found.name == "cluster"
    assert load(tmp_path, MIXED | {"resources": {"g0": 0, "g1": 3}}).n_hosts == 3, "a group of no hosts is left out"


@pytest.mark.parametrize(
    ("system", "message"),
    [
        *(
            (PLAIN | system if changed else system, message)
            for changed, system, message in table_rows(__file__, "refused_with_the_key_s_path")
        ),
        ("[" * 100000, "not usable JSON: "),
        ('{"start_time": ' + "9" * 5000 + "}", "not usable JSON: "),
    ],
)
def test_refused_with_the_key_s_path(tmp_path: Path, system: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, system)
    assert str(caught.value).startswith(f"{tmp_path / 'my.json'}: {message}")
    assert "\n" not in str(caught.value)


def test_bytes_and_speeds(tmp_path: Path) -> None:
    (tmp_path / "y.config").write_text("\n [x]")
    with pytest.raises(InputError, match=r"y\.config: x: unknown key 'x'; known: "):
        load_platform(tmp_path / "y.config")
    (tmp_path / "x.json").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"x\.json: not valid JSON: byte 0 is not UTF-8"):
        load_platform(tmp_path / "x.json")
    with pytest.raises(InputError, match="processor_gflops: 0 is out of range"):
        load(tmp_path, PLAIN, processor_gflops=0)
