"""The story file format, `replog-story/1`: steps, rules and expectations, strictly checked.

A file is JSON or YAML of the same shape. A step is a mapping, or one line for people:
`append 1 k=old key=K hdr=9`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sim.check.registry import INVARIANTS, discover
from sim.errors import BadInput
from sim.replication import Rules, rules_from
from sim.scenario.document import read_document
from sim.story.ops import OPS, REPLICA, REPLICAS, FieldType, names_in

STORY_FORMAT = "replog-story/1"

STORY_DEFAULTS = Rules(
    commit="isr",
    follower_position="request",
    marker_removal="horizon",
    vote_storage="none",
    leader_restart="resumes",
    delete_retention_ms=100,
    tombstone_mark="explicit",
    start_offset_lag_ms=100,
)
"""What a story's rules start from."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its number (from 1), its op and the fields that were given."""

    number: int
    op: str
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """A required field."""
        return self.fields[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An optional field."""
        return self.fields.get(name, default)


@dataclass(frozen=True, slots=True)
class StoryExpect:
    """What a story claims; None = no claim."""

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None
    leader: str | None = None
    replicas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Story:
    """A story as loaded; `replicas` are in order of creation."""

    id: str
    title: str
    source: str
    rules: Rules
    replicas: tuple[str, ...]
    isr: tuple[str, ...]
    voters: tuple[str, ...]
    steps: tuple[Step, ...]
    expect: StoryExpect


_TOP = [
    "format",
    "id",
    "title",
    "source",
    "rules",
    "replicas",
    "isr",
    "voters",
    "steps",
    "expect",
    "note",
]
_EXPECT = ("violated", "checked", "leader", "replicas", "note")
_REPLICA_CLAIMS = ("log", "offsets", "leo", "hw", "start", "state", "up", "note")


def load_story(path: Path) -> Story:
    """Read and check a story file.

    Raises:
        BadInput: The file cannot be read, or says something that the format does not allow; the
            message names the file, the step and the field.
    """
    document = _read_json(path) if path.suffix == ".json" else read_document(path).root.data()
    return story_from(document, where=str(path), default_id=path.stem)


def _read_json(path: Path) -> object:
    """JSON by its own reader: YAML knows neither its surrogate pairs nor tabs as white space."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadInput(f"{path}: {twice}: given twice")
        return found

    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=unique)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply") from None


def story_from(document: object, *, where: str, default_id: str = "story") -> Story:
    """Check a loaded document; `where` names it in errors.

    Raises:
        BadInput: As `load_story`.
    """
    top = _mapping(document, where)
    _known(top, _TOP, where)
    if top.get("format") != STORY_FORMAT:
        raise BadInput(f"{where}: format: {top.get('format')!r}; allowed: {STORY_FORMAT}")
    replicas = _name_list(top.get("replicas"), f"{where}: replicas")
    if len(set(replicas)) != len(replicas):
        raise BadInput(f"{where}: replicas: a name is given twice")
    raw_steps = top.get("steps", [])
    if not isinstance(raw_steps, list):
        raise BadInput(f"{where}: steps: expected a list")
    known = list(replicas)
    steps = []
    for number, raw in enumerate(raw_steps, start=1):
        steps.append(_step(raw, number, known, f"{where}: step {number}"))
        if steps[-1].op == "add_replica":
            known.append(steps[-1]["replica"])
        if steps[-1].op == "remove_replica":
            known.remove(steps[-1]["replica"])
    rules = rules_from(
        _mapping(top.get("rules", {}), f"{where}: rules"),
        base=STORY_DEFAULTS,
        where=f"{where}: rules",
    )
    return Story(
        id=_text_or(top, "id", default_id, where),
        title=_text_or(top, "title", "", where),
        source=_text_or(top, "source", "", where),
        rules=rules,
        replicas=replicas,
        isr=_subset(top, "isr", replicas, where),
        voters=_subset(top, "voters", replicas, where),
        steps=tuple(steps),
        expect=_expect(top.get("expect", {}), known, f"{where}: expect"),
    )


def _step(raw: object, number: int, known: list[str], where: str) -> Step:
    given = _parse_line(raw, where) if isinstance(raw, str) else dict(_mapping(raw, where))
    given.pop("note", None)
    op = given.pop("op", None)
    if not isinstance(op, str) or op not in OPS:
        hint = _hint(str(op), list(OPS))
        raise BadInput(f"{where}: op: unknown op {op!r}{hint}; allowed: {', '.join(OPS)}")
    spec = OPS[op]
    types = spec.fields()
    _known(given, [*types, "note"], f"{where} ({op})")
    fields: dict[str, Any] = {}
    for name, value in given.items():
        try:
            fields[name] = types[name].parse(value)
        except (ValueError, TypeError, KeyError):
            raise BadInput(
                f"{where} ({op}): {name}: {value!r} is not {types[name].expected}"
            ) from None
        _check_names(types[name], fields[name], known, f"{where} ({op}): {name}")
    for name in spec.required:
        if name not in fields:
            raise BadInput(f"{where} ({op}): {name}: missing; required: {', '.join(spec.required)}")
    if op == "append":
        _check_append(fields, f"{where} (append)")
    if fields.get("drop_response") and fields.get("delay_response"):
        raise BadInput(f"{where} ({op}): delay_response: a dropped response cannot be late")
    if fields.get("crash") and fields.get("delay_response"):
        raise BadInput(f"{where} ({op}): delay_response: the replica is down when it comes")
    if op == "add_replica" and fields["replica"] in known:
        raise BadInput(f"{where} (add_replica): replica: {fields['replica']!r} exists already")
    return Step(number, op, fields)


def _check_append(fields: dict[str, Any], where: str) -> None:
    if "marker" in fields:
        if "pid" not in fields:
            raise BadInput(f"{where}: pid: missing; a marker needs the producer it is for")
    elif "label" not in fields:
        raise BadInput(f"{where}: label: missing; required: leader, label, key (or marker, pid)")
    elif "key" not in fields:
        raise BadInput(f"{where}: key: missing; null for a record without a key")


def _check_names(kind: FieldType, value: Any, known: list[str], where: str) -> None:
    names = (value,) if kind is REPLICA else value if kind is REPLICAS else ()
    if len(set(names)) < len(names):
        raise BadInput(f"{where}: a replica is named twice in {', '.join(names)}")
    for name in names:
        if name not in known:
            raise BadInput(f"{where}: no replica {name!r}; known here: {', '.join(known)}")


def _parse_line(line: str, where: str) -> dict[str, Any]:
    """`op`, then positional fields in order, then name=value for known names."""
    words = line.split()
    if not words:
        raise BadInput(f"{where}: an empty step")
    given: dict[str, Any] = {"op": words[0]}
    spec = OPS.get(words[0])
    if spec is None:
        return given
    order = list(spec.fields())
    positional = iter(order)
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not (equals and name in order):
            free = next((field for field in positional if field not in given), None)
            if free is None and order and spec.fields()[order[-1]] is REPLICAS:
                given[order[-1]] = f"{given[order[-1]]},{word}"
                continue
            if free is None:
                raise BadInput(f"{where} ({words[0]}): too many values at {word!r}")
            name, value = free, word
        if name in given:
            raise BadInput(f"{where} ({words[0]}): {name}: given twice")
        given[name] = value
    return given


def _expect(raw: object, known: list[str], where: str) -> StoryExpect:
    given = _mapping(raw, where)
    _known(given, _EXPECT, where)
    discover()
    names: dict[str, tuple[str, ...] | None] = {"violated": (), "checked": None}
    for part in names:
        if part in given:
            listed = given[part]
            if not isinstance(listed, list):
                raise BadInput(f"{where}.{part}: expected a list of invariants")
            for name in listed:
                if not isinstance(name, str) or name not in INVARIANTS:
                    hint = _hint(str(name), list(INVARIANTS))
                    raise BadInput(
                        f"{where}.{part}: unknown invariant {name!r}{hint}; "
                        f"allowed: {', '.join(INVARIANTS)}"
                    )
            names[part] = tuple(listed)
    replicas = _mapping(given.get("replicas", {}), f"{where}.replicas")
    for name, claims in replicas.items():
        _check_names(REPLICA, name, known, f"{where}.replicas")
        _known(_mapping(claims, f"{where}.replicas.{name}"), _REPLICA_CLAIMS, f"{where}.{name}")
    leader = given.get("leader")
    if leader is not None:
        leader = str(leader)
        _check_names(REPLICA, leader, known, f"{where}.leader")
    return StoryExpect(names["violated"] or (), names["checked"], leader, dict(replicas))


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise BadInput(f"{where}: expected a mapping with text keys")
    return value


def _known(given: Mapping[str, Any], allowed: list[str] | tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in allowed:
            hint = _hint(name, allowed)
            raise BadInput(f"{where}: {name}: unknown field{hint}; allowed: {', '.join(allowed)}")


def _name_list(value: object, where: str) -> tuple[str, ...]:
    try:
        names = names_in(value)
    except (ValueError, TypeError):
        names = ()
    if not names or not isinstance(value, list):
        raise BadInput(f"{where}: expected a list of names")
    return names


def _subset(
    top: Mapping[str, Any], name: str, replicas: tuple[str, ...], where: str
) -> tuple[str, ...]:
    if name not in top:
        return replicas
    names = _name_list(top[name], f"{where}: {name}")
    _check_names(REPLICAS, names, list(replicas), f"{where}: {name}")
    return names


def _text_or(top: Mapping[str, Any], name: str, default: str, where: str) -> str:
    value = top.get(name, default)
    if not isinstance(value, str):
        raise BadInput(f"{where}: {name}: {value!r} is not a text")
    return value


def _hint(given: str, known: list[str] | tuple[str, ...]) -> str:
    close = get_close_matches(given, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
