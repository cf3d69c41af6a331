"""What `plan.json` and `tallies.json` say of themselves, so that nobody takes one for another.

A report, a gate or a replay goes by these files. A sweep writes them, and nobody else: one that was
cut off, is of another version or of another sweep is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from sim.errors import BadInput

FOLDER_FORMAT = "replog-sweep-output/4"
TALLIES_FORMAT = "replog-tallies/2"

VERDICTS = ("holds", "violated", "inconclusive", "error")
MEASURES = (
    "verdict",
    "invariant",
    "first_invariant",
    "reached",
    "reason",
    "error",
    "family",
    "about",
    "hunted",
    "hunts",
)
"""What runs are counted by."""
T = TypeVar("T")


class _Format(Struct):
    format: str


class _RuleSetFile(Struct):
    label: str
    swept: dict[str, str | int | bool]
    rules: dict[str, Any]


class _PlanFile(Struct):
    package_version: str
    count: int
    seed: int
    runs: int
    rule_sets: Annotated[list[_RuleSetFile], Meta(min_length=1)]
    plan: dict[str, Any]


class _Table(Struct):
    cases: int
    rule_sets: list[dict[str, Any]]


class _Tallies(_Table):
    environments: Annotated[list[_Table], Meta(min_length=1)]


def plan_document(name: str, content: bytes) -> dict[str, Any]:
    """The content of `plan.json`, checked; messages call it `name`.

    Raises:
        BadInput: It is no `plan.json` of this format, or contradicts itself.
    """
    document, found = _decoded(name, content, _PlanFile, FOLDER_FORMAT)
    runs = found.count * len(found.rule_sets)
    if found.runs != runs:
        told = f"runs {found.runs}, but {found.count} cases under all rule sets are {runs}"
        raise BadInput(f"{name}: {told}")
    return document


def tallies_document(name: str, content: bytes, plan: dict[str, Any]) -> dict[str, Any]:
    """The content of `tallies.json`, checked, beside the `plan.json` it is of.

    Raises:
        BadInput: As `plan_document`, or it is of another sweep.
    """
    document, found = _decoded(name, content, _Tallies, TALLIES_FORMAT)
    labels = [one["label"] for one in plan["rule_sets"]]
    tables = (found, *found.environments)
    if found.cases != plan["count"] or any(
        [one.get("label") for one in table.rule_sets] != labels for table in tables
    ):
        raise BadInput(f"{name}: is of another sweep than plan.json, by its cases or rule sets")
    return document


def _decoded(name: str, content: bytes, kind: type[T], wanted: str) -> tuple[dict[str, Any], T]:
    """A document as it is and as a type, its format first: another version's may look otherwise."""
    try:
        document = msgspec.json.decode(content)
        found = msgspec.convert(document, _Format).format
        if found != wanted:
            reads = f"this version of Replog reads {wanted!r}"
            raise BadInput(f"{name}: format {found!r:.80}; {reads}")
        return document, msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.strip("`.") or "the whole of it"
        raise BadInput(f"{name}: {place:.120}: {what[0].lower()}{what[1:]}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{name}: is not JSON: {error}") from None
