"""The platform: its numbers, its TOML, AccaSim's system files, and an error with the key's path for everything else."""

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest
from refusing import refusals
from tables import kept, table_text

from bls.machine.partitions import Switch, topology
from bls.machine.platform import TOPOLOGIES, HostGroup, Network, Platform, load_platform, parse_platform

MIXED = table_text(__file__, "mixed")


def hosts(**changes: str) -> str:
    keys = {"count": "1", "cores": "2", "speed_gflops": "3.0"} | changes
    return "[[hosts]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items() if value)


def test_the_default_is_the_papers() -> None:
    default = Platform()
    assert default.digest() == "7ce4043860e87360"
    assert (default.n_hosts, default.n_cores, default.slowest_gflops) == (4, 256, 46.875)
    assert set(default.core_speed_gflops.tolist()) == {46.875}
    assert default.network == Network("full", 50.0, 500)
    machine = default.machine()
    assert machine.host_names == ("host 0", "host 1", "host 2", "host 3")
    assert machine.first_core.tolist() == [0, 64, 128, 192, 256]


def test_groups_may_differ() -> None:
    mixed = parse_platform(MIXED)
    assert (mixed.name, mixed.n_hosts, mixed.n_cores, mixed.slowest_gflops) == ("test", 3, 10, 5.0)
    assert mixed.core_speed_gflops.tolist() == [25.0] * 8 + [5.0] * 2
    assert mixed.machine().first_core.tolist() == [0, 4, 8, 10]
    assert mixed.machine().host_names[2] == "host 2"
    assert mixed.network == Network(latency_ns=0)
    with pytest.raises(ValueError, match="read-only"):
        mixed.core_speed_gflops[0] = 1.0


TREE = "fat-tree:down=4x4,up=1x2,cables=1x1"


RICH = Path(__file__).with_name("tables").joinpath("rich_platform.toml").read_text("utf-8")


def test_resources_of_hosts_and_machine() -> None:
    made = parse_platform(RICH)
    assert tomllib.loads(made.to_toml()) == made.as_dict()
    assert hash(made) == hash(pickle.loads(pickle.dumps(made)))
    assert parse_platform(made.to_toml()) == made
    assert made.resource_names == ("fpga", "gpu", "memory")
    assert made.host_resources.tolist() == [[0, 4, 2 * 2**20], [0, 4, 2 * 2**20], [1, 0, 3 * 2**10]]
    assert (made.licence_names, made.licence_amounts.tolist()) == (("matlab",), [20])
    assert made.first_core.tolist() == [0, 4, 8, 10]
    assert [p.hosts for p in made.partitions] == ["0-1", ""]
    assert [p.max_time_ns for p in made.partitions] == [5400 * 10**9, 1500 * 10**9]
    assert made.as_dict()["partitions"] == [
        {"name": "short", "hosts": "0-1", "swf_queues": [1, 2], "max_cores": 8, "max_time": "5400s"},
        {"name": "rest", "default": True, "priority": -1, "max_time": "1500s"},
    ]
    assert made.as_dict()["hosts"][0]["resources"] == {"gpu": 4, "memory_kb": 2 * 2**20}
    assert Platform().host_resources.shape == (4, 0)
    assert Platform().licence_amounts.shape == (0,)
    assert Platform().topology.names == ()
    with pytest.raises(ValueError, match="read-only"):
        made.host_resources[0, 0] = 1


def test_numbered_gpus() -> None:
    text = hosts(gpus="4", gpu="'a100'", gpu_memory_gb="40") + hosts() + hosts(count="2", gpus="2", gpu="'2080.Ti'")
    made = parse_platform(text)
    assert (made.n_gpus, made.gpu_kinds) == (8, ("2080.Ti", "a100"))
    assert made.as_dict()["hosts"] == [
        {"count": 1, "cores": 2, "speed_gflops": 3.0, "gpus": 4, "gpu": "a100", "gpu_memory_gb": 40},
        {"count": 1, "cores": 2, "speed_gflops": 3.0},
        {"count": 2, "cores": 2, "speed_gflops": 3.0, "gpus": 2, "gpu": "2080.Ti"},
    ]
    assert parse_platform(made.to_toml()) == made
    assert "gpus = 4                     # of one host" in made.to_toml()
    limits = "[[partitions]]\nname = 'p'\nmax_gpus = 3\nmax_running_gpus = 0.07\nmax_gpus_per_user = 1e9\n"
    limited = parse_platform(text + limits)
    assert parse_platform(limited.to_toml()) == limited
    table = limited.partition_table
    assert [*table.max_gpus, *table.max_running_gpus, *table.max_gpus_per_user] == [70, 70, 10**12]
    unnamed = parse_platform(hosts(gpus="1") + hosts(resources="{ memory_gb = 1 }"))
    assert (unnamed.n_gpus, unnamed.gpu_kinds) == (1, ("",))
    assert (Platform().n_gpus, Platform().gpu_kinds) == (0, ())


def test_the_table_of_a_network() -> None:
    text = hosts() + f'[network]\ntopology = "{TREE}"\nmemory_gbps = 400\n'
    platform = parse_platform(text)
    assert platform.network == Network(TREE, memory_gbps=400.0)
    assert platform.as_dict()["network"] == {
        "topology": TREE, "bandwidth_gbps": 50.0, "latency_ns": 500, "memory_gbps": 400.0
    }  # fmt: skip
    lines = platform.to_toml().splitlines()
    assert f'topology = "{TREE}"            # of each level, lowest first: nodes below a switch, ' in "\n".join(lines)
    assert "memory_gbps = 400.0           # of transfers within a host, Gbit/s" in lines
    assert "memory_gbps" not in Platform().to_toml()
    for name in TOPOLOGIES:  # each has its comment
        assert f'topology = "{name}" ' in Platform(network=Network(name)).to_toml()


def test_digest_differs_with_any_value() -> None:
    texts = [hosts(), hosts(count="2"), hosts(cores="3"), hosts(speed_gflops="4"), 'name = "b"\n' + hosts()]
    texts += [hosts() + more for more in (
        "resources.gpu = 1", "gpus = 1", "gpus = 1\ngpu = 'a'", "gpus = 1\ngpu_memory_gb = 8",
        "[licences]\na = 1", "[[partitions]]\nname = 'a'", "[[switches]]\nname = 'a'\nhosts = '0'"
    )]  # fmt: skip
    texts += [hosts() + "[network]\n" + more for more in (
        "latency_ns = 1", "bandwidth_gbps = 1", "memory_gbps = 50", "topology = 'star'", f"topology = '{TREE}'"
    )]  # fmt: skip
    assert len({parse_platform(text).digest() for text in texts}) == len(texts)
    assert parse_platform(hosts()).as_dict() == {
        "name": "cluster",
        "hosts": [{"count": 1, "cores": 2, "speed_gflops": 3.0}],
        "network": {"topology": "full", "bandwidth_gbps": 50.0, "latency_ns": 500},
    }


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(MIXED, encoding="utf-8-sig")
    assert load_platform(path) == parse_platform(MIXED)


def switch(name: str, below: str) -> Switch:
    """A leaf of the hosts ``0-3``, or a switch above ``a b``."""
    return Switch(name, below) if below[0].isdigit() else Switch(name, switches=tuple(below.split()))


def made(**below: str) -> list[Switch]:
    return [switch(name, value) for name, value in below.items()]


def test_leaves_come_first_then_levels_then_hosts() -> None:
    found = topology(made(root="x y", y="s2 s1", s2="4", s0="0-1", s1="2-3", x="s0"), 5)
    assert found.names == ("s0", "s1", "s2", "x", "y", "root")
    assert found.lo.tolist() == [0, 2, 4, 0, 2, 0]
    assert found.hi.tolist() == [2, 4, 5, 2, 5, 5]
    assert found.level.tolist() == [0, 0, 0, 1, 1, 2]
    assert (found.n_leaves, len(found)) == (3, 6)
    with pytest.raises(ValueError, match="read-only"):
        found.lo[0] = 1


def test_hosts_below_a_switch_need_not_be_neighbours() -> None:
    found = topology(made(top="d c", c="b a", a="5 0-1", b="3", d="e", e="2 4"), 6)
    assert found.names == ("a", "e", "b", "c", "d", "top")
    assert found.hosts.tolist() == [0, 1, 5, 3, 2, 4]
    assert found.lo.tolist() == [0, 4, 3, 0, 4, 0]
    assert found.hi.tolist() == [3, 6, 4, 4, 6, 6]
    assert [found.below(row).tolist() for row in range(4)] == [[0, 1, 5], [2, 4], [3], [0, 1, 3, 5]]
    assert found.leaf_of_host.tolist() == [0, 0, 1, 2, 1, 0]


# Made by hand, in the shape of those that come with AccaSim: a plain machine, and one of several kinds of host.
SYSTEM: dict[str, Any] = kept(__file__, "system")
SEVERAL_KINDS: dict[str, Any] = kept(__file__, "several_kinds")


def load(tmp_path: Path, system: object, name: str = "my.json", **options: float) -> Platform:
    path = tmp_path / name
    path.write_text(system if isinstance(system, str) else json.dumps(system))
    return load_platform(path, **options)


def test_a_core_is_a_processor_of_the_workload(tmp_path: Path) -> None:
    found = load(tmp_path, SYSTEM, "seth.config")
    assert found == Platform((HostGroup(120, 2, 93.75, {"memory_gb": 1}),), name="Small - Site")  # type: ignore[arg-type]
    assert found.n_cores == 240
    odd = SYSTEM | {"groups": {"g0": {"core": 5}}}
    assert load(tmp_path, odd).n_cores == 240  # the fifth core of a host is of no use


def test_hosts_are_numbered_in_the_order_of_the_resources(tmp_path: Path) -> None:
    found = load(tmp_path, SEVERAL_KINDS, processor_gflops=2.0)
    assert [(group.count, group.cores) for group in found.hosts] == [(8, 3), (4, 2), (1, 4)]
    assert found.resource_names == ("gpu", "memory", "mic")
    assert found.host_resources[[0, 8, 12]].tolist() == [[0, 5, 1], [0, 4, 0], [2, 8, 0]]
    assert set(found.core_speed_gflops.tolist()) == {2.0}
    assert found.name == "cluster"
    assert load(tmp_path, SEVERAL_KINDS | {"resources": {"g0": 0, "g1": 3}}).n_hosts == 3, (
        "a group of no hosts is left out"
    )


def rich(text: str | list[str]) -> str:
    """The rich platform with some texts replaced, each by the one after it; or a text of its own."""
    if isinstance(text, str):
        return text
    changed = RICH
    for old, new in zip(text[::2], text[1::2], strict=True):
        assert old in changed
        changed = changed.replace(old, new, 1)
    return changed


def of_file(name: str, data: bytes) -> object:
    Path(name).write_bytes(data)
    return load_platform(name)


test_bad_input_is_refused = refusals(
    __file__,
    {
        "resources_partitions_and_switches_are_refused_with_the_key_s_path": (
            lambda text: parse_platform(rich(text), "my.toml"),
            "my.toml: ",
        ),
        "refused_with_the_keys_path": (lambda text: parse_platform(text, "my.toml"), "my.toml: "),
        "names": load_platform,
        "files": of_file,
        "what_is_no_tree_is_refused": lambda below: topology(made(**below), 5),
        "switches": lambda switches: topology(switches, 2),
        "a_switch_checks_its_values": lambda values: Switch("s", **values),
        "refused_with_the_key_s_path": (
            lambda changed, system: load(Path(), SYSTEM | system if changed else system),
            "my.json: ",
        ),
        "speeds": lambda speed: load(Path(), SYSTEM, processor_gflops=speed),
    },
    {
        "refused_with_the_keys_path": [
            (hosts(speed_gflops="9" * 400), "hosts[0].speed_gflops: 9999"),
            (hosts() + f"[network]\ntopology = 'star:a={'b' * 500}'", "network.topology: 'star:a=bbb"),
            ("x = " + "[" * 5000, "not usable TOML: "),
            ("x = " + "9" * 5000, "not usable TOML: "),
        ],
        "names": [
            ("none.toml", "none.toml: no such file"),
            (".", "is a directory, not a platform file"),
            ("a\0b", "cannot be read"),
        ],
        "files": [
            ("my.toml", b"name = '\xff'", "my.toml: not valid TOML: byte 8 is not UTF-8"),
            ("y.config", b"\n [x]", "y.config: x: unknown key 'x'; known: "),
            ("x.json", b"\xff", "x.json: not valid JSON: byte 0 is not UTF-8"),
        ],
        "switches": [([Switch("a", "0"), Switch("a", "1")], "switches[1].name: 'a' is the name of two switches")],
        "refused_with_the_key_s_path": [
            (False, "[" * 100000, "not usable JSON: "),
            (False, '{"start_time": ' + "9" * 5000 + "}", "not usable JSON: "),
        ],
        "speeds": [(0, "processor_gflops: 0 is out of range")],
    },
)
