"""The content of `plan.json`, checked: one that was cut off or is of another version is refused."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from sim.errors import BadInput

FOLDER_FORMAT = "replog-sweep-output/4"


class _RuleSetFile(Struct):
    label: str
    swept: dict[str, str | int | bool]
    rules: dict[str, Any]


class _PlanFile(Struct):
    package_version: str
    count: int
    seed: int
    runs: int
    environments: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    rule_sets: Annotated[list[_RuleSetFile], Meta(min_length=1)]
    plan: dict[str, Any]


def plan_document(name: str, content: bytes) -> dict[str, Any]:
    """The content of `plan.json`; messages call it `name`.

    Raises:
        BadInput: It is no `plan.json` of this format, or contradicts itself.
    """
    try:
        document: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
        if document.get("format") != FOLDER_FORMAT:
            reads = f"this version of Replog reads {FOLDER_FORMAT!r}"
            raise BadInput(f"{name}: format {document.get('format')!r:.80}; {reads}")
        found = msgspec.convert(document, _PlanFile)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.strip("`.") or "the whole of it"
        raise BadInput(f"{name}: {place:.120}: {what[0].lower()}{what[1:]}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{name}: is not JSON: {error}") from None
    runs = found.count * len(found.rule_sets)
    if found.runs != runs:
        told = f"runs {found.runs}, but {found.count} cases under all rule sets are {runs}"
        raise BadInput(f"{name}: {told}")
    return document
