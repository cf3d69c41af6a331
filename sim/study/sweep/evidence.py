"""What a violation says, as a sweep stores it: the template and its values, no sentence yet.

Stored is a JSON object: `says`, the template, and `values`, a number, a text, null, a list of
numbers, or a record as an object without what is at its default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from sim.check.violation import RecordSeen, Value, Violation
from sim.errors import BadInput
from sim.files.foreign.lines import LONGEST, one_line

LENGTH_MAX: Final = 16_000
"""Characters: of a violation whose values take more, the sentence is stored."""


_TYPES: Final = {int, str, type(None), tuple, RecordSeen}


def stored(found: Violation) -> str:
    """A violation's template and values as text; equal ones have equal texts."""
    if not found.evidence:
        return stored_sentence(found.says)
    where = {"replica": found.replica, "offset": found.offset, "key": found.key}
    values: dict[str, Value] = {name: where[name] for name in where if "{" + name in found.says}
    values |= dict(found.evidence)
    if not (_is_template(found.says, values) and {type(one) for one in values.values()} <= _TYPES):
        return stored_sentence(found.sentence)  # of a plugin that goes its own way
    text = _encoded(found.says, values)
    return text if len(text) <= LENGTH_MAX else stored_sentence(found.sentence)


def stored_sentence(sentence: str) -> str:
    """A sentence that somebody made already, as if it were all there is."""
    return _encoded(one_line(sentence, longest=LONGEST), {})


def _encoded(says: str, values: Mapping[str, Value]) -> str:
    told = {name: _told(value) for name, value in values.items()}
    document = {"says": says, "values": told} if told else {"says": says}
    # A text may hold half a character, which no table can: it is escaped.
    return json.dumps(document, separators=(",", ":"))


def _told(value: Value) -> Any:
    if not isinstance(value, RecordSeen):
        return value
    defaults = RecordSeen._field_defaults
    return {name: own for name, own in value._asdict().items() if own != defaults[name]}


def sentence_of(evidence: str) -> str:
    """The sentence of what is stored.

    Raises:
        BadInput: It is none of a sweep's.
    """
    try:
        found = json.loads(evidence)
        says = found["says"] + ""
        values = {name: _value(value) for name, value in found.get("values", {}).items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise BadInput(f"evidence {evidence!r:.80}: {error}; the table is damaged") from None
    if values and not _is_template(says, values):
        raise BadInput(f"evidence {evidence!r:.80}: says what it has no values for")
    return Violation("", 0, None, None, None, says, evidence=tuple(values.items())).sentence


def _value(value: Any) -> Value:
    if isinstance(value, dict):
        return RecordSeen(**value)
    return tuple(value) if isinstance(value, list) else value


def _is_template(says: str, values: Mapping[str, object]) -> bool:
    """Whether it asks for these values alone, each as it is."""
    try:
        parts = list(Formatter().parse(says))
    except ValueError:
        return False
    return all(
        name is None or (name in values and not spec and not conversion)
        for _, name, spec, conversion in parts
    )
