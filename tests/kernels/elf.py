"""Which symbols an ELF object expects from elsewhere."""

from __future__ import annotations

import struct

SYMBOL_TABLE = 2


def undefined_symbols(code: bytes) -> list[str]:
    """Names of the undefined symbols in a 64-bit little-endian ELF object."""
    assert code[:6] == b"\x7fELF\x02\x01"
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + i * size) for i in range(count)]
    found = []
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind == SYMBOL_TABLE:
            names = sections[link][4]
            for at in range(offset + 24, offset + length, 24):
                name, _, _, section = struct.unpack_from("<IBBH", code, at)
                if section == 0:
                    found.append(code[names + name : code.index(b"\0", names + name)].decode())
    return found
