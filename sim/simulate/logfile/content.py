"""What keys, values and headers of a log file hold: text, or bytes that are no text.

Bytes are written `{"hex": "ff00"}`. What is no UTF-8 stands in a record as lone surrogates, one for
each such byte (PEP 383), so that equal bytes are equal text, whichever way they were written.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from sim.files.document import shown, unknown_field
from sim.files.limits import LONG, in_words
from sim.protocol.log.record import STRAY_BYTES

_HEX: dict[str, Any] = {
    "type": "object",
    "properties": {"hex": {"type": "string", "pattern": r"^\s*([0-9A-Fa-f]{2}\s*)*$"}},
    "additionalProperties": False,
    "required": ["hex"],
}
_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": -LONG - 1, "maximum": LONG}


def _text_of(value: object) -> str:
    """A key or a value: text, or bytes in hexadecimal. Raises ValueError."""
    if isinstance(value, dict):
        return _bytes_of(value).decode(errors=STRAY_BYTES)
    if isinstance(value, str):
        return value
    raise ValueError(f'expected text or {{"hex": "ff00"}}, not {shown(value)}')


def _header_of(value: object) -> bytes | int:
    """A header's value: bytes, or a number, which is written in the form that the rules read."""
    if isinstance(value, dict):
        return _bytes_of(value)
    if value is None or isinstance(value, str):
        return (value or "").encode()
    if type(value) is not int:
        text = f'expected a whole number, text or {{"hex": "80"}}, not {shown(value)}'
        raise ValueError(text)
    if not -LONG - 1 <= value <= LONG:
        raise ValueError(f"{in_words(value)} does not fit 64 bits")
    return value


def _bytes_of(value: dict[str, object]) -> bytes:
    for name in value:
        if name != "hex":
            raise ValueError(f"{name}: {unknown_field(name, ['hex'])}")
    digits = value.get("hex")
    try:
        return bytes.fromhex(digits if isinstance(digits, str) else "?")
    except ValueError:
        text = f"hex: expected pairs of hexadecimal digits, not {shown(digits)}"
        raise ValueError(text) from None


Content = Annotated[str, PlainValidator(_text_of), WithJsonSchema({"anyOf": [_TEXT, _HEX]})]
"""A key or a value of a record."""
HeaderContent = Annotated[
    bytes | int,
    PlainValidator(_header_of),
    WithJsonSchema({"anyOf": [_TEXT, _NUMBER, _HEX, {"type": "null"}]}),
]
"""The value of a header."""


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
