"""A site's slurm.conf: the part that a replay uses, and a list of what it replaces or omits."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bridge.options.declared import SLURM_CONF
from bridge.replay.configuration import Configuration, Node, over
from bridge.replay.host_names import MAX_HOSTS, counted, expanded, is_plain
from bridge.replay.keys import LINES, NODE_SETS, NODES, PARTITIONS, TOP, Key, known, line_of, whole
from bridge.replay.messages import GPU
from traces.base.errors import InputError, shown

_SWITCHES = "topology.conf"  # the file of switches, next to slurm.conf

#: Separator of a key and its value.
_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*=\s*(?:"([^"]*)"|(\S+))(?=\s|$)', re.ASCII)

#: A generic resource such as ``gpu:tesla:4`` or ``bandwidth:no_consume:10G``: its name, amount, and what is between them.
_GENERIC = re.compile(r"([A-Za-z][\w-]{0,39})((?::[^:,]*)*?)(?::([0-9]{1,15})([KMGTP]?))?", re.IGNORECASE | re.ASCII)
Words = Sequence[tuple[str, str]]


def _lines(path: str) -> Iterable[tuple[int, str]]:
    # Without comments, and joined if one ends in a backslash.
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{SLURM_CONF}: {path}: is not text in UTF-8") from None
    except OSError as error:
        raise InputError(f"{SLURM_CONF}: {path}: {error.strerror}") from None
    joined, begin = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.sub(r"(?<!\\)#.*", "", raw, flags=re.DOTALL).strip()
        begin = begin or number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        if (joined + line).strip():
            yield begin, (joined + line).strip()
        joined, begin = "", 0


def _words(line: str) -> Words:
    words, at = [], 0
    while at < len(line):
        found = _PAIR.match(line, at)
        if found is None:
            raise InputError(f"{shown(line[at:].strip())}; allowed: KEY=VALUE")
        words.append((found[1], found[3] if found[2] is None else found[2]))
        at = found.end()
    return words


class _Site:
    """The contents of a file, line by line."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.keys: dict[str, str] = {}
        self.nodes: list[Node] = []
        self.partitions: list[str] = []
        self.replaced: list[str] = []
        self.switches = ""
        self._node_default: dict[str, str] = {}

    def read(self, line: str, number: int) -> None:
        """Read a line of the file. Raises InputError if it has a key or a value that a replay does not allow."""
        if re.match(r"include\b", line, re.IGNORECASE):
            raise InputError("Include: other files are not read; allowed: one file with everything")
        words = _words(line)
        first = words[0][0].lower()
        if first == "nodename":
            self._read_nodes(words, number)
        elif first == "partitionname":
            self._read_partition(words)
        elif first == "nodeset":
            taken = self._taken(NODE_SETS, words[1:], "node sets")
            self.partitions.append(line_of({"NodeSet": _name(words[0][1])} | taken))
        elif first in LINES:
            self.replaced.append(TOP[first].replaced(words[0][1]))
        else:
            for key, value in words:
                self._read_key(key, value)

    def _read_key(self, name: str, value: str) -> None:
        if name.lower() in LINES:
            raise InputError(f"{name}: is within a line; allowed: at its beginning")
        switches = Path(self._path).with_name(_SWITCHES)
        is_tree = name.lower() == "topologyplugin" and value.lower() in ("topology/tree", "tree")
        if is_tree and switches.is_file():
            self.switches = str(switches)
            return
        key = known(TOP, name)
        key.check(value)
        if key.form is None:
            self.replaced.append(key.replaced(value))
        else:
            self.keys[key.name] = value

    def _taken(self, table: Mapping[str, Key], words: Words, of: str) -> dict[str, str]:
        taken: dict[str, str] = {}
        for name, value in words:
            key = known(table, name, of)
            key.check(value)
            if key.form is None:
                self.replaced.append(f"{key.name} of {of}: omitted ({key.why})")
            else:
                taken[key.name] = value
        return taken

    def _read_nodes(self, words: Words, number: int) -> None:
        said = self._taken(NODES, words[1:], "nodes")
        if words[0][1].upper() == "DEFAULT":
            self._node_default |= said
            return
        said = self._node_default | said
        names = expanded(words[0][1], MAX_HOSTS - len(self.nodes))
        if not names:
            raise InputError("NodeName: has no name; allowed: a list of hosts, as n[0-3,7]")
        cpus, reset = _cpus(said)
        if reset:
            why = "Slurm uses the product of Sockets, Cores and Threads"
            self.replaced.append(f"CPUs of {shown(words[0][1])}: {cpus} ({why})")
        features = tuple(re.findall(r"[^,|&]+", said.get("Feature", said.get("Features", ""))))
        resources = _generic(said.get("Gres", ""))
        memory_mb = whole(said.get("RealMemory", "0"))
        self.nodes += [Node(name, cpus, line_of(said), memory_mb, resources, features, number) for name in names]

    def _read_partition(self, words: Words) -> None:
        said = self._taken(PARTITIONS, words[1:], "partitions")
        if counted(said.get("Nodes", "")) > MAX_HOSTS:
            expanded(said["Nodes"])  # reports errors
        self.partitions.append(line_of({"PartitionName": _name(words[0][1])} | said))


def of_site(path: str, given: Mapping[str, str]) -> Configuration:
    """A site's slurm.conf; ``given`` keys have precedence. Raises InputError if it is unreadable or unsupported."""
    site = _Site(path)
    for number, line in _lines(path):
        try:
            site.read(line, number)
        except (InputError, ValueError) as error:
            raise InputError(f"{SLURM_CONF}: {path}: line {number}: {error}") from None
    if not site.nodes:
        raise InputError(f"{SLURM_CONF}: {path}: has no NodeName; allowed: a file with the nodes of the machine")
    if not any(line.startswith("PartitionName=") for line in site.partitions):
        raise InputError(f"{SLURM_CONF}: {path}: has no PartitionName; allowed: a file with at least one partition")
    replaced = tuple(dict.fromkeys(words for words in site.replaced if words))
    found = Configuration(over(site.keys, given), tuple(site.nodes), tuple(site.partitions), replaced, site=True)
    if found.unnamed_gpus:
        why = "a node has several, or only some have one"
        found = replace(found, replaced=(*replaced, f"types of GPUs: omitted from requests of jobs ({why})"))
    return found.with_switches(site.switches, str(SLURM_CONF)) if site.switches else found


def _name(text: str) -> str:
    if not is_plain(text):
        raise InputError(f"{shown(text)} is not a name; allowed: letters, digits, _, . and -")
    return text


def _generic(text: str) -> tuple[tuple[str, str, int], ...]:
    # As gpu:tesla:4,gpu:2(S:0-1): the amount for each name, and for each type of GPUs.
    found: Counter[tuple[str, str]] = Counter()
    for word in re.sub(r"\([^)]*\)", "", text).split(","):
        if not word:
            continue
        said = _GENERIC.fullmatch(word)
        if said is None or (not said[3] and word.rpartition(":")[2].isdigit()):
            raise ValueError(f"Gres={shown(word)}; allowed: NAME[:TYPE][:COUNT], as gpu:tesla:4")
        types = [kind for kind in said[2].split(":") if kind and kind != "no_consume"] if said[1] == GPU else []
        count = int(said[3] or 1) << (10 * "KMGTP".find(said[4].upper()) + 10 if said[4] else 0)
        found[said[1], (types or [""])[0]] += count
    return tuple((*one, n) for one, n in found.items())


def _cpus(said: Mapping[str, str]) -> tuple[int, bool]:
    # Their number, as Slurm computes it, and whether it ignores the number in the file.
    threads = [whole(said.get(key, "1"), 16) for key in ("CoresPerSocket", "ThreadsPerCore")]
    given = whole(said.get("CPUs", said.get("Procs", "0")), 16)
    if "Sockets" in said:
        sockets = whole(said["Sockets"], 16)
    elif "SocketsPerBoard" in said:
        sockets = whole(said["SocketsPerBoard"], 16) * whole(said.get("Boards", "1"), 16)
    else:
        sockets = given // max(1, threads[0] * threads[1]) if given else whole(said.get("Boards", "1"), 16)
    sockets, cores, each = max(1, sockets), max(1, threads[0]), max(1, threads[1])
    alone = "CoresPerSocket" not in said and "ThreadsPerCore" not in said
    if not given or (given not in (sockets, sockets * cores, sockets * cores * each) and not alone):
        return sockets * cores * each, bool(given)
    return given, False
