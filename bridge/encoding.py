"""Typed data in JSON and MessagePack. Only this module imports msgspec."""

from msgspec import Meta, Struct, field, json, msgpack, to_builtins
from msgspec.structs import replace as replaced

__all__ = ["Meta", "Struct", "field", "json", "msgpack", "replaced", "to_builtins"]
