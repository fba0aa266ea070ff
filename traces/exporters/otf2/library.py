"""The only module that imports OTF2: the Python binding, and the C functions below it for our kernels.

The binding takes about 4 µs per event, nearly all of it in Python. The C functions take some 15 ns; they are in the shared
library that the binding has loaded, so a compiled loop can call them through a pointer.

Kernels declare every integer argument with 64 bits: in the 64-bit Linux calling conventions each takes one register or one
8-byte slot, and C reads the bits that it declared. ctypes, which calls if the JIT is off, gets C's own types.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import _otf2
import otf2

from traces.base.errors import TwolevelError
from traces.base.written_file import NO_ROOM, FullDiskError
from traces.compiled import CFunction, types
from traces.kernels.signatures import FunctionKind

binding: Any = _otf2  #: the binding of OTF2's C functions

_C = {"p": ctypes.c_size_t, "Q": ctypes.c_uint64, "I": ctypes.c_uint32, "B": ctypes.c_uint8}

#: The functions called by kernels: name without ``OTF2_`` → C's parameters (p pointer, Q, I, B unsigned of 64, 32, 8
#: bits) and whether the result is a pointer (NULL on failure) or an error code (0 on success).
_PROTOTYPES = {
    "Archive_GetEvtWriter": ("pQ", "pointer"),
    "Archive_CloseEvtWriter": ("pp", "code"),
    "Archive_GetDefWriter": ("pQ", "pointer"),
    "Archive_CloseDefWriter": ("pp", "code"),
    "AttributeList_AddUint64": ("pIQ", "code"),
    "AttributeList_AddAttribute": ("pIBQ", "code"),  # its value is a union of 8 bytes
    "EvtWriter_Enter": ("ppQI", "code"),
    "EvtWriter_Leave": ("ppQI", "code"),
    "EvtWriter_Metric": ("ppQIBpp", "code"),
    "EvtWriter_MpiSend": ("ppQIIIQ", "code"),
    "EvtWriter_MpiRecv": ("ppQIIIQ", "code"),
    "GlobalDefWriter_WriteString": ("pIp", "code"),
    "GlobalDefWriter_WriteLocation": ("pQIBQI", "code"),
    "GlobalDefWriter_WriteRegion": ("pIIIIBBIIII", "code"),
}

_ERROR_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *[ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p],
    *[ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p],
)

# The smallest and the largest chunk of OTF2. A writer clears its chunk when it is opened, which is the cost of a location. A
# record must fit into one chunk; OTF2 crashes on longer strings.
_CHUNK_BYTES, _MOST_CHUNK_BYTES = binding.CHUNK_SIZE_MIN.value, binding.CHUNK_SIZE_MAX.value

# Upper bound of a chunk's contents besides its longest record.
_CHUNK_HEADER_BYTES = 1024


@dataclass(frozen=True)
class OTF2Call(FunctionKind):
    """The kind of an OTF2 function, for the annotations of kernels; ``name`` is its name without ``OTF2_``."""

    name: str

    @classmethod
    def of(cls, name: str) -> OTF2Call:
        """Return the kind of the function with this name."""
        parameters, returned = _PROTOTYPES[name]
        result = types.int64 if returned == "pointer" else types.int32
        return cls(result(*[types.int64] * len(parameters)), name)


#: Arguments of kernels that call OTF2; :class:`traces.exporters.otf2.kernels.Calls` passes them.
GetEvtWriter = Annotated[CFunction, OTF2Call.of("Archive_GetEvtWriter")]
CloseEvtWriter = Annotated[CFunction, OTF2Call.of("Archive_CloseEvtWriter")]
GetDefWriter = Annotated[CFunction, OTF2Call.of("Archive_GetDefWriter")]
CloseDefWriter = Annotated[CFunction, OTF2Call.of("Archive_CloseDefWriter")]
AddAttribute = Annotated[CFunction, OTF2Call.of("AttributeList_AddAttribute")]
AddUint64 = Annotated[CFunction, OTF2Call.of("AttributeList_AddUint64")]
Enter = Annotated[CFunction, OTF2Call.of("EvtWriter_Enter")]
Leave = Annotated[CFunction, OTF2Call.of("EvtWriter_Leave")]
Metric = Annotated[CFunction, OTF2Call.of("EvtWriter_Metric")]
MpiSend = Annotated[CFunction, OTF2Call.of("EvtWriter_MpiSend")]
MpiRecv = Annotated[CFunction, OTF2Call.of("EvtWriter_MpiRecv")]
WriteString = Annotated[CFunction, OTF2Call.of("GlobalDefWriter_WriteString")]
WriteLocation = Annotated[CFunction, OTF2Call.of("GlobalDefWriter_WriteLocation")]
WriteRegion = Annotated[CFunction, OTF2Call.of("GlobalDefWriter_WriteRegion")]


def c_functions() -> dict[str, CFunction]:
    """Return the functions for kernels, by :class:`OTF2Call` name."""
    library = binding.Config.conf.lib
    found = {}
    for name, (parameters, returned) in _PROTOTYPES.items():
        # Looked up as an item: an attribute would be the binding's own object, whose types must not be changed.
        function = library[f"OTF2_{name}"]
        function.argtypes = [_C[letter] for letter in parameters]
        function.restype = ctypes.c_size_t if returned == "pointer" else ctypes.c_int
        found[name] = CFunction(function, OTF2Call.of(name).signature)
    return found


def address_of(handle: Any) -> int:
    """Return the address that a binding's handle points to."""
    address = ctypes.cast(handle, ctypes.c_void_p).value
    if address is None:
        raise TwolevelError("OTF2 gave no handle (out of memory?)")
    return address


#: OTF2's codes for a full disk.
_FULL_DISK = frozenset(getattr(binding, f"ERROR_{errno.errorcode[number]}").value for number in NO_ROOM)


def failure(path: Path, code: int) -> TwolevelError:
    """Return the error for an OTF2 error code, with OTF2's message."""
    kind = FullDiskError if code in _FULL_DISK else TwolevelError
    return kind(f"{path}: OTF2 could not write the trace: {binding.Error(binding.ErrorCode(code)).message}")


@contextlib.contextmanager
def _noting_errors() -> Iterator[list[int]]:
    """Provide a list to which OTF2 adds its error codes, instead of printing them.

    Some functions return success although their data did not reach the disk, so return codes are not enough. The list is
    global to the process: archives are written one at a time.
    """
    codes: list[int] = []

    def note(_data: Any, _file: Any, _line: Any, _function: Any, code: int, _format: Any, _values: Any) -> int:
        if code > 0:  # the others are warnings
            codes.append(code)
        return code

    callback = _ERROR_CALLBACK(note)
    register = binding.Config.conf.lib["OTF2_Error_RegisterCallback"]
    register.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    register.restype = ctypes.c_void_p
    before = register(ctypes.cast(callback, ctypes.c_void_p), None)
    try:
        yield codes
    finally:
        register(before, None)


def _chunk_bytes(path: Path, record_bytes: int) -> int:
    chunk: int = _CHUNK_BYTES
    while chunk < record_bytes + _CHUNK_HEADER_BYTES:
        chunk *= 2
    if chunk > _MOST_CHUNK_BYTES:
        raise TwolevelError(f"{path}: OTF2 has no room for a definition of {record_bytes} bytes")
    return chunk


@contextlib.contextmanager
def writing(path: Path, longest_definition: int = 0) -> Iterator[Any]:
    """Provide the binding's archive handle for writing ``path`` (an anchor file); it is closed afterwards.

    - ``path``: the anchor file.
    - ``longest_definition``: upper bound of the length of a definition (bytes); 0: all definitions are short.

    Raises TwolevelError if OTF2 cannot create, write or finish the archive, or a definition is longer than its largest
    chunk (16 MiB).
    """
    definition_chunk = _chunk_bytes(path, longest_definition)

    def flush(*_: Any) -> Any:
        return binding.FlushType.FLUSH

    with _noting_errors() as codes:
        try:
            archive = binding.Archive_Open(
                str(path.parent),
                path.stem,
                binding.FileMode.WRITE,
                _CHUNK_BYTES,
                definition_chunk,
                binding.FileSubstrate.POSIX,
                binding.Compression.NONE,
            )
            try:
                callbacks = binding.FlushCallbacks(pre_flush=flush, post_flush=None)
                binding.Archive_SetFlushCallbacks(archive, callbacks, None)
                binding.Archive_SetSerialCollectiveCallbacks(archive)
                yield archive
            except BaseException:
                # The archive is lost; only the first error matters.
                with contextlib.suppress(binding.Error):
                    binding.Archive_Close(archive)
                raise
            binding.Archive_Close(archive)
        except binding.Error as error:
            raise failure(path, _cause(codes) if codes else error.code.value) from error
        except TwolevelError as error:  # of a call; its code is often a consequence of a full disk
            if _cause(codes) in _FULL_DISK:
                raise failure(path, _cause(codes)) from error
            raise
        if codes:
            raise failure(path, _cause(codes))


def _cause(codes: Sequence[int]) -> int:
    # Return a full disk's code, which OTF2 may note after its consequences, else the first error; 0: none.
    return next((code for code in codes if code in _FULL_DISK), codes[0] if codes else 0)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Provide the binding's reader of a trace (tens of µs per event). Raises TwolevelError if OTF2 cannot read it."""
    with _noting_errors():  # for a damaged archive the library prints many lines
        try:
            with otf2.reader.open(str(path)) as trace:
                yield trace
        except binding.Error as error:
            raise TwolevelError(f"{path}: OTF2 could not read the trace: {error.message}") from error
