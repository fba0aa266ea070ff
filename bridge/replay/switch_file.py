"""Switches: Slurm's topology.conf, read and written; and the tables ``[[switches]]`` of platform files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bls.machine.partitions import Switch, topology
from bridge.replay.host_names import compressed, expanded, is_plain
from traces.base.errors import InputError, shown
from traces.base.given_file import check_keys, list_of_tables, parse_toml, read_text
from traces.intervals import parse_intervals

_WORD = re.compile(r"([A-Za-z]\w*)\s*=\s*(\S*)")
_OWN = "[[switches]]"


@dataclass(frozen=True)
class NamedSwitch:
    """A switch, and the names of its children: nodes of a leaf, else switches."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


def given_switches(switches: Sequence[Switch], nodes: Sequence[str]) -> tuple[NamedSwitch, ...]:
    """The switches of a platform, whose hosts have these names; a name that Slurm refuses becomes ``s`` and its index."""
    name = {one.name: one.name if is_plain(one.name) else f"s{at}" for at, one in enumerate(switches)}
    found = []
    for one in switches:
        hosts = [host for lo, hi in parse_intervals(one.hosts, "hosts", len(nodes)) for host in range(lo, hi)]
        below = tuple(name.get(other, other) for other in one.switches)
        found.append(NamedSwitch(name[one.name], tuple(nodes[host] for host in hosts), below))
    return tuple(found)


def read_switches(path: str, nodes: Sequence[str], where: str = "--topology") -> tuple[NamedSwitch, ...]:
    """A file of switches: Slurm's topology.conf, or TOML with tables ``[[switches]]`` as in a platform. Raises InputError
    with the file and the line."""
    text = read_text(path, "file of switches", "topology.conf")
    if any(line.strip() == _OWN for line in text.splitlines()):
        return _own(text, path, nodes)
    known, found = set(nodes), []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if line:
            found.append(_switch(line, f"{where}: {path}: line {number}", nodes, known))
    names = {one.name for one in found}
    for one in found:
        if lost := [name for name in one.switches if name not in names]:
            raise InputError(f"{where}: {path}: switch {one.name}: there is no switch {shown(lost[0])} below it")
    if not found:
        raise InputError(f"{where}: {path}: has no SwitchName; allowed: Slurm's topology.conf, or TOML with {_OWN}")
    return tuple(found)


def _switch(line: str, where: str, nodes: Sequence[str], known: set[str]) -> NamedSwitch:
    words = {key.lower(): value for key, value in _WORD.findall(line)}
    for key in words:
        if key not in ("switchname", "nodes", "switches", "linkspeed"):
            raise InputError(f"{where}: {key}: is unknown; allowed: SwitchName, Nodes, Switches, LinkSpeed")
    if "switchname" not in words or ("nodes" in words) == ("switches" in words):
        allowed = "SwitchName=NAME and either Nodes=NODES or Switches=SWITCHES"
        raise InputError(f"{where}: {shown(line)}; allowed: {allowed}")
    if not is_plain(words["switchname"]):
        raise InputError(f"{where}: {shown(words['switchname'])} is not a name; allowed: letters, digits, _, . and -")
    try:
        below = tuple(expanded(words.get("nodes", words.get("switches", ""))))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    if "switches" in words:
        return NamedSwitch(words["switchname"], switches=below)
    if lost := [name for name in below if name not in known]:
        raise InputError(f"{where}: node {shown(lost[0])} does not belong to the machine; allowed: {compressed(nodes)}")
    return NamedSwitch(words["switchname"], nodes=below)


def _own(text: str, path: str, nodes: Sequence[str]) -> tuple[NamedSwitch, ...]:
    table = parse_toml(text, path)
    check_keys(table, ("switches",), f"{path}: ")
    found = []
    for where, one in list_of_tables(table, "switches", path):
        check_keys(one, ("name", "hosts", "switches"), where)
        try:
            found.append(Switch(**one))
        except (InputError, TypeError) as error:
            raise InputError(f"{where}{error}") from None
    topology(found, len(nodes))
    return given_switches(found, nodes)


def switches_text(switches: Iterable[NamedSwitch]) -> str:
    """The text of a topology.conf."""
    lines = []
    for one in switches:
        below = f"Nodes={compressed(one.nodes)}" if one.nodes else f"Switches={compressed(one.switches)}"
        lines.append(f"SwitchName={one.name} {below}\n")
    return "".join(lines)


def switches_of(switches: Sequence[NamedSwitch], nodes: Sequence[str]) -> tuple[Switch, ...]:
    """The switches of a platform. Raises InputError if it cannot have them: a node is on no leaf, or on two."""
    place = {name: at for at, name in enumerate(nodes)}
    found = []
    for one in switches:
        hosts = sorted(place[name] for name in one.nodes)
        found.append(Switch(one.name, " ".join(map(str, hosts)), one.switches))
    topology(found, len(nodes))
    return tuple(found)
