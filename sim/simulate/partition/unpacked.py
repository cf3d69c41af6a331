"""Sizes of compressed records before they are held in memory: kilobytes may unpack to gigabytes."""

from __future__ import annotations

import gzip
from io import BytesIO
from typing import Any, Final

UNPACKED_BYTES_MAX: Final = 1 << 27
"""Most bytes of a batch's records; a producer's `batch.size` is 16 KiB by default."""
_CHUNK: Final = 1 << 16
_XERIAL: Final = b"\x82SNAPPY\0"
"""First bytes of snappy blocks by xerial's library, which Kafka uses; each has its size before."""
_XERIAL_HEADER_BYTES: Final = 16


def unpacked_bytes(codec: str, packed: bytes) -> int:
    """Bytes that compressed records have; the count ends above `UNPACKED_BYTES_MAX`.

    Args:
        codec: `gzip`, `snappy`, `lz4` or `zstd`.
        packed: The compressed records.

    Raises:
        Exception: Errors of the codec's library: they are not so compressed.
    """
    if codec == "snappy":
        return _snappy_bytes(packed)
    size, unpacked = 0, _opened(codec, BytesIO(packed))
    while size <= UNPACKED_BYTES_MAX and (chunk := unpacked.read(_CHUNK)):
        size += len(chunk)
    return size


def _opened(codec: str, packed: BytesIO) -> Any:
    """A file of the unpacked bytes."""
    if codec == "gzip":
        return gzip.GzipFile(fileobj=packed)
    if codec == "lz4":
        from lz4.frame import LZ4FrameFile

        return LZ4FrameFile(packed)
    from zstandard import ZstdDecompressor

    return ZstdDecompressor().stream_reader(packed)


def _snappy_bytes(packed: bytes) -> int:
    """The sum of the sizes that blocks begin with, 7 bits a byte, the lowest first."""
    if not packed.startswith(_XERIAL):
        return _varint_at(packed, 0)
    at, size = _XERIAL_HEADER_BYTES, 0
    while at < len(packed):
        size += _varint_at(packed, at + 4)
        at += 4 + int.from_bytes(packed[at : at + 4], "big")
    return size


def _varint_at(content: bytes, at: int) -> int:
    found = shift = 0
    for byte in content[at : at + 5]:
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return found
