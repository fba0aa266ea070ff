"""The platform: its numbers, its TOML, and an error with the key's path for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.platform import MAX_CORES, HostGroup, Network, Platform, load_platform, parse_platform
from traces.errors import InputError

MIXED = """
name = "test"
[[hosts]]
count = 2
cores = 4
speed_gflops = 100
[[hosts]]
count = 1
cores = 2
speed_gflops = 10.0
[network]
latency_ns = 0
"""


def hosts(**changes: str) -> str:
    keys = {"count": "1", "cores": "2", "speed_gflops": "3.0"} | changes
    return "[[hosts]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items() if value)


def test_the_default_is_the_papers() -> None:
    default = Platform()
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


GROUPS = st.builds(HostGroup, st.integers(1, 999), st.integers(1, 999), st.floats(1e-9, 1e15))
NETWORKS = st.builds(Network, st.just("full"), st.floats(1e-9, 1e9), st.integers(0, 10**12))
NAMES = st.text(min_size=1, max_size=100).filter(str.isprintable)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.builds(Platform, st.lists(GROUPS, min_size=1, max_size=4), NETWORKS, NAMES))
def test_toml_round_trip(platform: Platform) -> None:
    again = parse_platform(platform.to_toml())
    assert again == platform
    assert again.digest() == platform.digest()


def test_digest_differs_with_any_value() -> None:
    texts = [hosts(), hosts(count="2"), hosts(cores="3"), hosts(speed_gflops="4"), 'name = "b"\n' + hosts()]
    texts += [hosts() + "[network]\nlatency_ns = 1", hosts() + "[network]\nbandwidth_gbps = 1"]
    assert len({parse_platform(text).digest() for text in texts}) == len(texts)
    assert parse_platform(hosts()).as_dict() == {
        "name": "cluster",
        "hosts": [{"count": 1, "cores": 2, "speed_gflops": 3.0}],
        "network": {"topology": "full", "bandwidth_gbps": 50.0, "latency_ns": 500},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[platform]\nhostz = 3", "platform: unknown key 'platform'; known: "),
        (hosts(coers="3"), "hosts[0].coers: unknown key 'coers'; known: cores, "),
        (hosts() + hosts(speed="3"), "hosts[1].speed: unknown key 'speed'; known: speed_gflops, "),
        (hosts() + "[network]\nlatency = 3", "network.latency: unknown key 'latency'; known: latency_ns, "),
        (hosts(cores=""), "hosts[0].cores: missing"),
        (hosts(count="0"), "hosts[0].count: 0 is out of range; allowed: 1 to "),
        (hosts(cores="-4"), "hosts[0].cores: -4 is out of range"),
        (hosts(cores="9" * 30), "hosts[0].cores: 999999999999999999999999999999 is out of range"),
        (hosts(cores="64.0"), "hosts[0].cores: 64.0 is not a whole number"),
        (hosts(count="true"), "hosts[0].count: True is not a whole number"),
        (hosts(count="'4'"), "hosts[0].count: '4' is not a whole number"),
        (hosts(speed_gflops="nan"), "hosts[0].speed_gflops: nan is out of range"),
        (hosts(speed_gflops="inf"), "hosts[0].speed_gflops: inf is out of range"),
        (hosts(speed_gflops="0"), "hosts[0].speed_gflops: 0 is out of range"),
        (hosts(speed_gflops="-3e3"), "hosts[0].speed_gflops: -3000.0 is out of range"),
        (hosts(speed_gflops="1e400"), "hosts[0].speed_gflops: inf is out of range"),
        (hosts(speed_gflops="9" * 400), "hosts[0].speed_gflops: 9999"),
        (hosts(speed_gflops="true"), "hosts[0].speed_gflops: True is not a number"),
        (hosts(speed_gflops="[3]"), "hosts[0].speed_gflops: [3] is not a number"),
        (hosts(count="2", cores=str(MAX_CORES)), "hosts: 33554432 cores in all are too many; allowed: 1 to "),
        (
            hosts() + "[network]\ntopology = 'torus'",
            "network.topology: unknown topology 'torus'; known: full",
        ),
        (hosts() + "[network]\ntopology = 3", "network.topology: 3 is not a string; known: full"),
        (hosts() + "[network]\nlatency_ns = 0.5", "network.latency_ns: 0.5 is not a whole number"),
        (hosts() + "[network]\nlatency_ns = -1", "network.latency_ns: -1 is out of range; allowed: 0 to "),
        (hosts() + "[network]\nbandwidth_gbps = 0", "network.bandwidth_gbps: 0 is out of range"),
        ("network = 3\n" + hosts(), "network: 3 is not a table; allowed: a [network] table"),
        ("", "hosts: empty; "),
        ("hosts = []", "hosts: empty; "),
        ("hosts = [3]", "hosts: [3] is no list of tables; allowed: [[hosts]] tables"),
        ("[hosts]\ncount = 4", "hosts: {'count': 4} is no list of tables"),
        ("name = 3\n" + hosts(), "name: 3 is no name"),
        ("name = ''\n" + hosts(), "name: '' is no name"),
        ('name = "a\\u001b[31m"\n' + hosts(), "name: 'a\\x1b[31m' is no name"),
        ('"a\\nb" = 1', "'a\\nb': unknown key 'a\\nb'"),
        ("[[hosts]\ncount = 4", "not valid TOML: "),
        ("count = = 4", "not valid TOML: Invalid value (at line 1, column 9)"),
        ("x = " + "[" * 5000, "not usable TOML: "),
        ("x = " + "9" * 5000, "not usable TOML: "),
    ],
)
def test_refused_with_the_keys_path(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_platform(text, "my.toml")
    assert str(caught.value).startswith(f"my.toml: {message}")
    assert "\n" not in str(caught.value)


def test_values_are_checked_where_they_are_built() -> None:
    with pytest.raises(InputError, match=r"^cores: 0 is out of range"):
        HostGroup(count=1, cores=0, speed_gflops=1.0)
    with pytest.raises(InputError, match=r"^latency_ns: True is not"):
        Network(latency_ns=True)
    with pytest.raises(InputError, match=r"^hosts: empty"):
        Platform(hosts=())
    assert isinstance(HostGroup(1, 1, 5).speed_gflops, float)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(MIXED, encoding="utf-8-sig")
    assert load_platform(path) == parse_platform(MIXED)
    with pytest.raises(InputError, match=r"none\.toml: no such file"):
        load_platform(tmp_path / "none.toml")
    with pytest.raises(InputError, match="is a directory, not a platform file"):
        load_platform(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        load_platform("a\0b")
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(InputError, match=r"my\.toml: not valid TOML: byte 8 is not UTF-8"):
        load_platform(path)
