"""Typed data in JSON and MessagePack. Only this module imports msgspec."""

from msgspec import Meta as Meta
from msgspec import Struct as Struct
from msgspec import field as field
from msgspec import json as json
from msgspec import msgpack as msgpack
from msgspec import to_builtins as to_builtins
from msgspec.structs import replace

replaced = replace
