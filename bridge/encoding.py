"""Typed data, and their forms in JSON and MessagePack: the one door to msgspec."""

from msgspec import Meta, Struct, field, json, msgpack, to_builtins
from msgspec.structs import replace as replaced

__all__ = ["Meta", "Struct", "field", "json", "msgpack", "replaced", "to_builtins"]
