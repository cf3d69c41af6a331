"""The story file format, `replog-story/1`, strictly checked; JSON and YAML have one shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.rules import Rules, rules_from
from sim.scenario.file.document import read_document
from sim.story.expect import StoryExpect, expect_from
from sim.story.fields import check_known, check_names, mapping
from sim.story.ops import REPLICAS, names_in
from sim.story.steps import Step, step_from

STORY_FORMAT = "replog-story/1"

STORY_DEFAULTS = Rules.of(
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
    top = mapping(document, where)
    check_known(top, _TOP, where)
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
        steps.append(step_from(raw, number, known, f"{where}: step {number}"))
        if steps[-1].op == "add_replica":
            known.append(steps[-1]["replica"])
        if steps[-1].op == "remove_replica":
            known.remove(steps[-1]["replica"])
    rules = rules_from(
        mapping(top.get("rules", {}), f"{where}: rules"),
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
        expect=expect_from(top.get("expect", {}), known, f"{where}: expect"),
    )


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
    check_names(REPLICAS, names, replicas, f"{where}: {name}")
    return names


def _text_or(top: Mapping[str, Any], name: str, default: str, where: str) -> str:
    value = top.get(name, default)
    if not isinstance(value, str):
        raise BadInput(f"{where}: {name}: {value!r} is not a text")
    return value
