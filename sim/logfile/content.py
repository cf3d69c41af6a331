"""What keys, values and headers of a log file hold: text, or bytes that are no text.

Bytes are written `{"hex": "ff00"}`. What is no UTF-8 stands in a record as lone surrogates, one for
each such byte (PEP 383), so that equal bytes are equal text, whichever way they were written.
"""

from __future__ import annotations

import json

from sim.files.document import Place, shown
from sim.files.fields import Fields
from sim.log.record import STRAY_BYTES


def text_at(value: object, place: Place) -> str | None:
    """A key or a value: text, bytes in hexadecimal, or None when there is none.

    Raises:
        BadInput: It is neither; the text has half of a surrogate pair; the digits are no bytes.
    """
    if value is None:
        return None
    if isinstance(value, dict):
        return bytes_at(value, place).decode(errors=STRAY_BYTES)
    if not isinstance(value, str):
        place.fail(f'expected text or {{"hex": "ff00"}}, not {shown(value)}')
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        place.fail(f'{shown(value)} is no Unicode text; bytes are written {{"hex": "ff00"}}')
    return value


def bytes_at(value: dict[str, object], place: Place) -> bytes:
    """The bytes of `{"hex": "ff00"}`.

    Raises:
        BadInput: Another field, or no pairs of hexadecimal digits.
    """
    digits = Fields(value, place, ("hex",)).maybe_text("hex")
    try:
        return bytes.fromhex(digits if digits is not None else "?")
    except ValueError:
        place.at("hex").fail(f"expected pairs of hexadecimal digits, not {shown(digits)}")


def bytes_of(text: str) -> bytes:
    """The bytes that a key or a value of a record stands for."""
    return text.encode(errors=STRAY_BYTES)


def written(text: str | None) -> str | dict[str, str] | None:
    """A key or a value of a record as a log file spells it."""
    if text is None or text.isascii():
        return text
    content = bytes_of(text)
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"hex": content.hex()}


def readable(text: str) -> str:
    """A key for people: itself, or its bytes in hexadecimal."""
    spelled = written(text)
    return spelled if isinstance(spelled, str) else json.dumps(spelled)
