"""A site's slurm.conf: what of it holds here, and a list of what was replaced or left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bridge.replay.configuration import Configuration, Node, over
from bridge.replay.host_names import expanded
from bridge.replay.keys import LINES, OF_NODES, OWN, OWN_OF_NODES, OWN_OF_PARTITIONS, refusal
from traces.base.errors import InputError, shown

__all__ = ["of_site"]

#: The file of switches, beside slurm.conf.
_SWITCHES = "topology.conf"

_WORD = re.compile(r'([A-Za-z][\w/]*)\s*=\s*("[^"]*"|\S*)')


def _lines(path: str) -> Iterable[tuple[int, str]]:
    # Without comments, and joined where one ends in a backslash.
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"--slurm-conf: {path}: is no text in UTF-8") from None
    except OSError as error:
        raise InputError(f"--slurm-conf: {path}: {error.strerror}") from None
    joined, begin = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?<!\\)#.*", "", raw).strip()
        begin = begin or number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        if (joined + line).strip():
            yield begin, (joined + line).strip()
        joined, begin = "", 0


def of_site(path: str, given: Mapping[str, str]) -> Configuration:
    """A site's slurm.conf; what is ``given`` holds in any case.

    Raises
    ------
    InputError
        If it cannot be read, or asks for what is not here.
    """
    own = {key.lower(): key for key in OWN}
    keys: dict[str, str] = {}
    nodes: list[Node] = []
    partitions: list[str] = []
    replaced: list[str] = []
    node_default: dict[str, str] = {}
    switches = ""
    for number, line in _lines(path):
        where = f"--slurm-conf: {path}: line {number}"
        words = [(key, value.strip('"')) for key, value in _WORD.findall(line)]
        if line.lower().startswith("include"):
            raise InputError(f"{where}: Include: other files are not read; allowed: one file with all of it")
        if not words:
            raise InputError(f"{where}: {shown(line)}; allowed: KEY=VALUE")
        first = words[0][0].lower()
        if first == "nodename":
            nodes += _nodes(words, node_default, replaced, where, number)
        elif first == "partitionname":
            partitions.append(_partition(words, replaced))
        elif first in LINES:
            replaced.append(f"{words[0][0]}: left out")
        else:
            for key, value in words:
                if key.lower() == "topologyplugin" and _has_switches(value, path):
                    switches = str(Path(path).with_name(_SWITCHES))
                elif key.lower() in own:
                    instead = OWN[own[key.lower()]]
                    replaced.append(
                        f"{key}={value}: " + ("left out" if instead is None else f"{instead or 'of the replay'}")
                    )
                else:
                    keys[key] = value
    keys = over(keys, given)
    for key, value in keys.items():
        if found := refusal(key, value):
            raise InputError(f"--slurm-conf: {path}: {found} (--set KEY=VALUE)")
    if not nodes:
        raise InputError(f"--slurm-conf: {path}: has no NodeName; allowed: a file with the nodes of the machine")
    if not partitions:
        raise InputError(f"--slurm-conf: {path}: has no PartitionName; allowed: a file with at least one partition")
    found_here = Configuration(keys, tuple(nodes), tuple(partitions), tuple(dict.fromkeys(replaced)), site=True)
    return found_here.with_switches(switches, "--slurm-conf") if switches else found_here


def _has_switches(plugin: str, path: str) -> bool:
    return plugin.lower() in ("topology/tree", "tree") and Path(path).with_name(_SWITCHES).is_file()


def _nodes(
    words: Sequence[tuple[str, str]], default: dict[str, str], replaced: list[str], where: str, number: int
) -> Iterable[Node]:
    kept = {key.lower(): key for key in OF_NODES}
    own = {key.lower() for key in OWN_OF_NODES}
    said: dict[str, str] = {}
    for key, value in words[1:]:
        if key.lower() in kept:
            said[kept[key.lower()]] = value
        elif key.lower() in own:
            replaced.append(f"{key} of nodes: of the replay")
        else:
            raise InputError(f"{where}: {key}: is not known of nodes; allowed: {', '.join((*OF_NODES, *OWN_OF_NODES))}")
    if words[0][1].upper() == "DEFAULT":
        default |= said
        return
    said = default | said
    try:
        names = expanded(words[0][1])
        cpus = _cpus(said)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    line = " ".join(f"{key}={value}" for key, value in said.items())
    memory = said.get("RealMemory", "")
    features = tuple(re.findall(r"[^,|&]+", said.get("Feature", said.get("Features", ""))))
    generic = tuple(_generic(said.get("Gres", "")).items())
    for name in names:
        yield Node(name, cpus, line, int(memory) if memory.isdigit() else 0, generic, features, number)


def _generic(text: str) -> dict[str, int]:
    # As gpu:tesla:4,gpu:2(S:0-1): how many of each name.
    found: dict[str, int] = {}
    for word in re.sub(r"\([^)]*\)", "", text).split(","):
        name, *more = word.split(":")
        if name:
            count = more[-1] if more and more[-1].isdigit() else "1"
            found[name] = found.get(name, 0) + int(count)
    return found


def _cpus(said: Mapping[str, str]) -> int:
    if "CPUs" in said:
        return int(said["CPUs"])
    sockets = int(said.get("Sockets", said.get("SocketsPerBoard", "1"))) * int(said.get("Boards", "1"))
    return sockets * int(said.get("CoresPerSocket", "1")) * int(said.get("ThreadsPerCore", "1"))


def _partition(words: Sequence[tuple[str, str]], replaced: list[str]) -> str:
    own = {key.lower() for key in OWN_OF_PARTITIONS}
    replaced += [f"{key} of partitions: left out" for key, _ in words if key.lower() in own]
    return " ".join(f"{key}={value}" for key, value in words if key.lower() not in own)
