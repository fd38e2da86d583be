"""Floor 11: the sections of an ELF file, which is what the compiler writes."""

from __future__ import annotations

import struct

from pycute_xe.errors import InputError

__all__ = ["sections"]


def sections(data: bytes) -> dict[str, bytes]:
    """Return the contents of each section of a 64-bit little-endian ELF file, by name.

    Raises `InputError` for anything else.
    Document: System V ABI, chapter 4, object files.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise InputError(
            "compile",
            {"bytes": data[:4].hex()},
            "the compiler did not write a 64-bit ELF file",
            "ask ocloc for --format zebin",
        )
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, start + size * i) for i in range(count)]
    text = _content(data, headers[names])
    out: dict[str, bytes] = {}
    for header in headers:
        name = text[header[0] : text.index(b"\0", header[0])].decode()
        out[name] = _content(data, header)
    return out


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    return data[header[4] : header[4] + header[5]]
