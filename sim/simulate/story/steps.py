"""A step of a story, checked: a mapping with `op`, or one line, `append 1 k=old key=K hdr=9`.

A line is cut at its spaces and has no quotes: a value with a space needs a mapping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sim.errors import BadInput, did_you_mean
from sim.files.document import Complaints, Place, listed, shown, unknown_field
from sim.protocol.rules import Rules
from sim.simulate.story.fields import (
    KEY,
    LABEL,
    NAMED,
    OPTIONAL_TEXT,
    REPLICA,
    REPLICAS,
    TEXT,
    FieldType,
    check_names,
    unwritten,
)
from sim.simulate.story.op import Scope, Step
from sim.simulate.story.ops import OPS

DOES, NOTHING = "does", "nothing"
COMMON = {
    DOES: "`nothing`: it is meant to do nothing, as it is refused or as there is nothing to do.",
    "note": "Anything; it is not read.",
}
"""Fields that any step may have, with their meanings."""
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_QUOTED = re.compile(r"""(?:(?<=[\s=])|^)(["'])[^"']*\s[^"']*\1(?=\s|$)""")
"""A quoted text with a space in it."""


def step_at(raw: object, number: int, scope: Scope, place: Place) -> Step:
    """The step at `place`, checked; its effect on the scope is applied.

    Raises:
        BadInput: The format does not allow the step.
    """
    try:
        if isinstance(raw, dict):
            return _step(dict(raw), number, scope, place)
        if not isinstance(raw, str):
            place.fail(f"expected a line or fields, not {shown(raw)}")
        given = _parse_line(raw, scope, place)
        return _step(given, number, scope, place, line=" ".join(raw.split()))
    except BadInput as error:
        scope.sure = scope.sure and not _may_note(raw)
        hint = _quotes_hint(raw) if isinstance(raw, str) else ""
        if not hint:
            raise
        raise BadInput(f"{error.args[0]}{hint}") from None  # the quotes cause the others, too


def _may_note(raw: object) -> bool:
    """True for an unreadable step that may have an effect on the scope of later steps."""
    name = raw.get("op") if isinstance(raw, dict) else raw
    words = name.split() if isinstance(name, str) else []
    return not words or words[0] not in OPS or OPS[words[0]].note is not None


def _named(place: Place, op: str) -> Place:
    """The place of a step whose op is known: `step 3 (fetch)`."""
    return place.labelled(f"{place.label} ({op})")


def _step(
    given: dict[str, Any], number: int, scope: Scope, place: Place, *, line: str = ""
) -> Step:
    """The step with the given fields, checked; without its `line` one is made of the fields."""
    given.pop("note", None)
    if "op" not in given:
        place.at("op").fail(f"missing; {_instead(given)}; allowed: {', '.join(OPS)}")
    op = given.pop("op")
    if not isinstance(op, str) or op not in OPS:
        place.at("op").fail(f"unknown op {op!r}{_op_hint(op)}; allowed: {', '.join(OPS)}")
    spec = OPS[op]
    types = spec.types
    place = _named(place, op)
    does_nothing = DOES in given
    if does_nothing and (does := given.pop(DOES)) != NOTHING:
        place.at(DOES).fail(f"expected {NOTHING}, not {shown(does)}")
    fields: dict[str, Any] = {}
    wrong = Complaints()
    for name, value in given.items():
        at = place.at(name)
        with wrong:
            if name not in types:
                at.fail(unknown_field(name, [*types, *COMMON]))
            fields[name] = types[name].value_of(value, at)
            if scope.sure:
                check_names(types[name], fields[name], scope.known, at)
    for name in spec.required:
        with wrong:
            if name not in given:
                place.at(name).fail(f"missing; required: {', '.join(spec.required)}")
    wrong.end()
    if spec.check is not None:
        spec.check(fields, place)
    if spec.note is not None:
        spec.note(fields, scope, place)
    return Step(number, op, fields, line or line_of(op, fields), does_nothing)


def labels_of(steps: Sequence[Step]) -> list[str]:
    """Labels that steps give to records."""
    return [step["label"] for step in steps if step.op == "append" and "label" in step.fields]


def check_meanings(steps: Sequence[Step], rules: Rules, place: Place, wrong: Complaints) -> None:
    """Complains of every field at `place` that has no meaning under the rules of the story."""
    for step in steps:
        at = _named(place.at(step.number - 1, label=f"step {step.number}"), step.op)
        for name, why in OPS[step.op].in_vain(step.fields, rules).items():
            wrong.add(at.at(name).problem(why))


def check_all_written(steps: Sequence[Step], place: Place, wrong: Complaints) -> None:
    """Complains of every step at `place` that names a key or a record which no step writes."""
    written = [step.fields for step in steps if step.op == "append"]
    keys = [fields["key"] for fields in written if fields.get("key") is not None]
    labels = labels_of(steps)
    for step in steps:
        at = _named(place.at(step.number - 1, label=f"step {step.number}"), step.op)
        for name, kind in OPS[step.op].types.items():
            if name in step.fields:
                with wrong:
                    at.at(name).check(unwritten(kind, step[name], keys, labels))


def _instead(given: Mapping[str, Any]) -> str:
    """Hint on the step that a mapping without `op` was meant to be, from its first field."""
    op = next(iter(given), "").partition(" ")[0]
    how = _how(op) if op in OPS else "write op: as a field, or the step as one line"
    return f"a mapping with the fields {listed(given)} was read; {how}"


def _op_hint(op: object) -> str:
    named = str(op).partition(" ")[0]
    return f"; {_how(named)}" if named in OPS else did_you_mean(op, list(OPS))


def _how(op: str) -> str:
    """Hint on how a step of an op is written, with its plain fields."""
    names = OPS[op].plain
    fields = ", ".join([f"op: {op}", *(f"{name}: ..." for name in names)])
    return f"write {{{fields}}}, or the line: {' '.join([op, *map(str.upper, names)])}"


def _parse_line(line: str, scope: Scope, place: Place) -> dict[str, Any]:
    """The fields in a line: the op, then values by position and `name=value`, also mixed.

    A value by position goes to the next field that is not given yet. A word `a=b` with a name that
    the op lacks is such a value only if that field takes texts, or if a replica has that name.

    Raises:
        BadInput: The line is empty, has too many values, a field twice, or an unknown field.
    """
    words = line.split()
    if not words:
        place.fail("an empty step")
    given: dict[str, Any] = {"op": words[0]}
    spec = OPS.get(words[0])
    if spec is None:
        return given
    place = _named(place, words[0])
    types = spec.types
    order = list(types)
    positional = iter(order)
    named = (*order, DOES)
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not (equals and name in named):
            free = next((field for field in positional if field not in given), None)
            goes_on = free is None and bool(order) and types[order[-1]] is REPLICAS
            kind = REPLICAS if goes_on else types[free] if free is not None else None
            if equals and _NAME.fullmatch(name) and not _takes(kind, word, scope):
                place.at(name).fail(unknown_field(name, named))
            if goes_on:
                given[order[-1]] = f"{given[order[-1]]},{word}"
                continue
            if free is None:
                place.fail(f"too many values at {word!r}")
            name, value = free, word
        if name in given:
            place.at(name).fail("given twice")
        given[name] = value
    return given


def _takes(kind: FieldType | None, word: str, scope: Scope) -> bool:
    """True for a word with a `=` that may be a value of this type."""
    if kind is REPLICA or kind is REPLICAS:
        return not scope.sure or word.split(",", maxsplit=1)[0] in scope.known
    return kind in (TEXT, KEY, LABEL, OPTIONAL_TEXT, NAMED)


def _quotes_hint(line: str) -> str:
    """Hint for an error about a line in which a value is quoted; empty without one."""
    found = _QUOTED.search(line)
    if found is None:
        return ""
    op = line.split(maxsplit=1)[0]
    how = _how(op) if op in OPS else "write the step as a mapping"
    return f" (a line has no quotes, {found.group()} is several values: {how})"


def line_of(op: str, fields: Mapping[str, Any]) -> str:
    """The line of a step that was given as a mapping: its plain fields, then name=value."""
    words, named = [op], False
    for name, kind in OPS[op].types.items():
        named = named or name not in OPS[op].plain or name not in fields
        if name in fields:
            value = _written(kind, fields[name])
            words.append(f"{name}={value}" if named else value)
    return " ".join(words)


def _written(kind: FieldType, value: Any) -> str:
    if kind is REPLICAS:
        return ",".join(value)
    if isinstance(value, bool | tuple) or value is None:
        return json.dumps(value, separators=(",", ":"))
    return value.hex() if isinstance(value, bytes) else str(value)
