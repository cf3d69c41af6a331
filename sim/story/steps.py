"""A step of a story, checked: a mapping with `op`, or one line, `append 1 k=old key=K hdr=9`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.errors import BadInput, did_you_mean
from sim.story.fields import check_known, check_names, mapping, taken
from sim.story.lines import (
    check_names_as_text,
    line_of,
    line_pattern,
    parse_line,
    pattern,
    quotes_hint,
)
from sim.story.ops import OPS, REPLICAS


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its number (from 1), its op, the fields that were given, and all that as a line."""

    number: int
    op: str
    fields: Mapping[str, Any]
    line: str = field(default="", compare=False)

    def __getitem__(self, name: str) -> Any:
        """A required field."""
        return self.fields[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An optional field."""
        return self.fields.get(name, default)


def step_from(raw: object, number: int, known: Sequence[str], where: str) -> Step:
    """Check a step; `known` are the replicas that exist before it.

    Raises:
        BadInput: It says something that the format does not allow.
    """
    if not isinstance(raw, str):
        return _step(dict(mapping(raw, where)), {}, number, known, where)
    try:
        step = _step(*parse_line(raw, known, where), number, known, where)
    except BadInput as error:
        raise BadInput(f"{error}{quotes_hint(raw)}") from None
    return Step(step.number, step.op, step.fields, " ".join(raw.split()))


def _step(
    given: dict[str, Any], typed: dict[str, str], number: int, known: Sequence[str], where: str
) -> Step:
    given.pop("note", None)
    if "op" not in given:
        raise BadInput(f"{where}: op: missing; {_instead(given)}; allowed: {', '.join(OPS)}")
    op = given.pop("op")
    if not isinstance(op, str) or op not in OPS:
        raise BadInput(f"{where}: op: unknown op {op!r}{_op_hint(op)}; allowed: {', '.join(OPS)}")
    spec = OPS[op]
    types = spec.fields()
    where = f"{where} ({op})"
    check_known(given, [*types, "note"], where)
    fields: dict[str, Any] = {}
    for name, value in given.items():
        place, shown = f"{where}: {name}", typed.get(name)
        if types[name] is REPLICAS and isinstance(value, str):
            check_names_as_text(value, known, place, shown=shown or value)
        fields[name] = taken(types[name], value, place, shown=shown)
        check_names(types[name], fields[name], known, place)
    for name in spec.required:
        if name not in fields:
            raise BadInput(f"{where}: {name}: missing; required: {', '.join(spec.required)}")
    if op == "append":
        _check_append(fields, where)
    if fields.get("drop_response") and fields.get("delay_response"):
        raise BadInput(f"{where}: delay_response: a dropped response cannot be late")
    if fields.get("crash") and fields.get("delay_response"):
        raise BadInput(f"{where}: delay_response: the replica is down when it comes")
    if op == "add_replica" and fields["replica"] in known:
        raise BadInput(f"{where}: replica: {fields['replica']!r} exists already")
    return Step(number, op, fields, line_of(op, fields))


def _check_append(fields: dict[str, Any], where: str) -> None:
    if "marker" in fields:
        if "pid" not in fields:
            raise BadInput(f"{where}: pid: missing; a marker needs the producer it is for")
    elif "label" not in fields:
        raise BadInput(f"{where}: label: missing; required: leader, label, key (or marker, pid)")
    elif "key" not in fields:
        raise BadInput(f"{where}: key: missing; null for a record without a key")


def _instead(given: Mapping[str, Any]) -> str:
    """What a mapping without `op` was meant to be, as far as its first field tells."""
    name = next(iter(given), "")
    op = (name.split() or [""])[0]
    if op not in OPS:
        fields = f"a mapping with the fields {', '.join(given)}" if given else "an empty mapping"
        return f"{fields} was read; write op: as a field, or the step as one line"
    if name == op:
        return (
            f"a mapping with the field {name!r} was read; "
            f"write {pattern(op)}, or the line: {line_pattern(op)}"
        )
    value = given[name]
    line = name + ":" + (f" {value}" if isinstance(value, str | int) else "")
    return (
        f"{line!r} was read as a mapping with the field {name!r}, for its colon; "
        f"put the line in quotes, or write {pattern(op)}"
    )


def _op_hint(op: object) -> str:
    words = op.split() if isinstance(op, str) else []
    if words and words[0] in OPS:
        return f" (a line is a step without op:, or write {pattern(words[0])})"
    return did_you_mean(str(op), list(OPS))
