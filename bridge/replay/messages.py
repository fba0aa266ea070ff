"""Slurm's messages, field by field, as release 22.05 lays them out: bytes in, bytes out, no sockets.

Only messages of nodes are here; users' requests go through libslurm. A message is a length, a header, credentials
(``auth/none``: a user, a group and a host), and a body.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

#: Release → number of its protocol. Layouts differ between releases; other releases are not supported.
LAYOUTS = {"22.05": 38 << 8}
_AUTH_NONE = 100  # plug-in number of ``auth/none``
_LONGEST = 1 << 28  # longest message; a launch has a credential with a bit per core
_HOST = "replay"
_RESOURCE = 0x438A34D4  # first field of each generic resource of a registration
_HAS_FILE, _HAS_TYPE = 2, 4  # flags of generic resources: there is a file for each of them, they have a type
#: Slurm's names of GPUs, and of their shares. They have files, so that Slurm numbers them.
GPU, SHARD = DEVICES = ("gpu", "shard")


class Kind(IntEnum):
    """Kinds of messages that nodes send or receive."""

    REQUEST_NODE_REGISTRATION_STATUS = 1001
    MESSAGE_NODE_REGISTRATION_STATUS = 1002
    REQUEST_PING = 1008
    RESPONSE_PING_SLURMD = 1016
    REQUEST_BATCH_JOB_LAUNCH = 4005
    REQUEST_KILL_TIMELIMIT = 6009
    REQUEST_TERMINATE_JOB = 6011
    MESSAGE_EPILOG_COMPLETE = 6012
    REQUEST_ABORT_JOB = 6013
    REQUEST_KILL_PREEMPTED = 6016
    RESPONSE_SLURM_RC = 8001


class SlurmMessageError(Exception):
    """A message with an unexpected layout."""


class FieldReader:
    """Reads fields from the front of a message."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def bytes(self, n: int) -> bytes:
        """Return the next ``n`` bytes."""
        if n > len(self._raw) - self._at:
            raise SlurmMessageError(f"{n} bytes at {self._at} of {len(self._raw)}")
        self._at += n
        return self._raw[self._at - n : self._at]

    def number(self, n_bytes: int) -> int:
        """Return an unsigned number."""
        return int.from_bytes(self.bytes(n_bytes), "big")

    def numbers(self, n_bytes: int) -> list[int]:
        """Return a list of numbers, preceded by its length."""
        return [self.number(n_bytes) for _ in range(self.number(4))]

    def text(self) -> str | None:
        """Return a text, or None."""
        n = self.number(4)
        return self.bytes(n)[:-1].decode("utf-8", "replace") if n else None


@dataclass(frozen=True)
class SlurmLaunch:
    """A job that Slurm starts."""

    job: int  # its number in Slurm
    nodes: str  # a host list, such as ``n[0-3,7]``
    cpus: tuple[int, ...]  # number of CPUs on each of them


def _texts(*texts: str | None) -> bytes:
    raws = [b"" if text is None else text.encode() + b"\0" for text in texts]
    return b"".join(struct.pack(">I", len(raw)) + raw for raw in raws)


def framed(version: int, kind: Kind, body: bytes) -> bytes:
    """A complete message, preceded by its length."""
    header = struct.pack(">HHHIHHH", version, 0, kind, len(body), 0, 0, 0)  # no forwarding, no address
    speaker = struct.pack(">III", _AUTH_NONE, os.geteuid(), os.getegid()) + _texts(_HOST)
    raw = header + speaker + body
    return struct.pack(">I", len(raw)) + raw


def registration(
    version: int,
    node: str,
    cpus: int,
    release: str,
    date_s: int,
    up_since_s: int,
    jobs: list[int],
    generic: Sequence[tuple[str, str, int]] = (),
) -> bytes:
    """The registration of a node: its resources, including generic ones such as GPUs, and its running jobs."""
    no_code, batch_step = 0, 0xFFFFFFFB
    body = struct.pack(">QQI", date_s, up_since_s, no_code)
    features = None, None
    body += _texts(*features, _HOST, node, os.uname().machine, None, "Linux")
    boards, threads = 1, 1
    body += struct.pack(">HHHHH", cpus, boards, cpus, 1, threads)
    memory_mb, disk_mb, no_digest, load, free_mb = 1, 0, 0, 0, 0  # its slurm.conf has no digest
    body += struct.pack(">QIIIIQ", memory_mb, disk_mb, date_s - up_since_s, no_digest, load, free_mb)
    body += struct.pack(">I", len(jobs))
    for job in jobs:
        body += struct.pack(">III", job, batch_step, 0xFFFFFFFE)
    # With a record for each, Slurm knows which GPUs are shared.
    parts = [
        part for name, kind, n in generic for part in ([(name, kind, 1)] * n if name == GPU else [(name, kind, n)])
    ]
    resources = struct.pack(">HH", version, len(parts)) + b"".join(_resource(*one, cpus) for one in parts)
    body += struct.pack(">HII", 0, len(resources), len(resources)) + resources
    body += struct.pack(">QIQIQQ", 0, 0, 0, 0, 0, 0)  # no energy
    body += _texts(release) + struct.pack(">B", 0) + _texts(None, None)
    return framed(version, Kind.MESSAGE_NODE_REGISTRATION_STATUS, body)


def _resource(name: str, kind: str, count: int, cpus: int) -> bytes:
    # A generic resource of a node; a plug-in finds it by the number of its name.
    number = sum(byte << 8 * (at % 4) for at, byte in enumerate(name.encode())) % 2**32
    flags = (_HAS_FILE if name in DEVICES else 0) | (_HAS_TYPE if kind else 0)
    said = struct.pack(">IQIII", _RESOURCE, count, cpus, flags, number)
    return said + _texts(None, None, name, kind or None, None)  # CPUs, links; name; type, number


def epilog_complete(version: int, job: int, node: str) -> bytes:
    """A node has cleaned up after a job; there is no answer."""
    no_code = 0
    return framed(version, Kind.MESSAGE_EPILOG_COMPLETE, struct.pack(">II", job, no_code) + _texts(node))


def whole_messages(received: bytearray) -> Iterator[bytes]:
    """Remove complete messages from the received bytes, and yield them without their lengths."""
    while len(received) >= 4:
        length = int.from_bytes(received[:4], "big")
        if length > _LONGEST:
            raise SlurmMessageError(f"{length} bytes are too many")
        if len(received) < 4 + length:
            return
        yield bytes(received[4 : 4 + length])
        del received[: 4 + length]


def opened(raw: bytes, version: int) -> tuple[int, FieldReader]:
    """A message's kind and body. Raises SlurmMessageError for another release, or an unexpected layout."""
    head = FieldReader(raw)
    found = head.number(2)
    if found != version:
        raise SlurmMessageError(f"protocol {found >> 8}, not {version >> 8}")
    head.number(2)  # flags
    kind, length, forwards, returned = head.number(2), head.number(4), head.number(2), head.number(2)
    if forwards or returned:
        raise SlurmMessageError("a message to be forwarded")
    if head.number(2):  # the family of an address: of the first 22.05 releases, IPv4's or IPv6's
        raise SlurmMessageError("a message with an address of its origin")
    plugin = head.number(4)
    if plugin != _AUTH_NONE:
        raise SlurmMessageError(f"authentication by plug-in {plugin}, not auth/none")
    head.number(4), head.number(4), head.text()
    return kind, FieldReader(head.bytes(length))


def answered_code(raw: bytes, version: int) -> int:
    """The code of an answer to a node's message, preceded by its length; 0 without an error."""
    kind, body = opened(raw[4:], version)
    if kind != Kind.RESPONSE_SLURM_RC:
        raise SlurmMessageError(f"an answer of kind {kind}")
    return body.number(4)


def launch_of(body: FieldReader) -> SlurmLaunch:
    """The data of a job that starts."""
    job = body.number(4)
    body.bytes(4 + 4 + 4)  # heterogeneous job, user, group
    body.text()  # the user's name
    body.numbers(4)  # groups
    body.text()  # partition
    body.bytes(4 + 8 + 1 + 1 + 4 + 4)  # tasks, memory, open mode, overcommitment, array, index in it
    body.text(), body.text()  # interval of accounting, container
    body.bytes(2 + 2 + 2 + 2)  # binding, CPUs per task, restarts, reserved cores
    cpus: list[int] = []
    if body.number(4):  # groups of nodes
        each, nodes = body.numbers(2), body.numbers(4)
        for count, times in zip(each, nodes, strict=True):
            cpus += [count] * times
    body.text(), body.text()  # aliases, binding
    names = body.text()
    if names is None:
        raise SlurmMessageError(f"a launch of job {job} on no node")
    return SlurmLaunch(job, names, tuple(cpus))


def stopped_job(body: FieldReader) -> int:
    """The job of a termination."""
    if body.number(1):
        return body.number(4)  # a credential, which begins with the job
    body.text()  # details
    body.bytes(4 + 4)  # exit codes
    if body.number(2):
        raise SlurmMessageError("a termination with generic resources")
    return body.number(4)
