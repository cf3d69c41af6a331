"""`replog list mixes`, `ops`, `faults`, `columns`, `limits`: what files and data frames name."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]


def mixes() -> Rows:
    """Every field of a mix, with its unit, what it means, and its value in each built-in mix."""
    from sim.files.attribute_docs import attribute_docs
    from sim.scenario.generate.mix import BUILT_IN_MIXES, MIXES_TOLD, Mix

    told = attribute_docs(Mix)
    rows: Rows = [
        {
            "field": "mix",
            "unit": "name",
            "means": told["mix"]
            + " "
            + "; ".join(f"{k}: {v}" for k, v in MIXES_TOLD.items())
            + ".",
            **{name: name for name in BUILT_IN_MIXES},
        }
    ]
    for field in Mix.model_fields:
        if field in ("mix", "weights"):
            continue
        values = {name: getattr(mix, field) for name, mix in BUILT_IN_MIXES.items()}
        rows.append(
            {
                "field": field,
                "unit": _unit(field, values["reference"]),
                "means": told[field],
                **{name: _shown(value) for name, value in values.items()},
            }
        )
    return rows


def _unit(field: str, value: object) -> str:
    first = value[0] if isinstance(value, tuple) else value
    kind = "ms" if field.endswith("_ms") else "chance" if isinstance(first, float) else "number"
    if kind == "chance" and isinstance(value, tuple):
        kind = "share"
    return f"{kind}, range" if isinstance(value, tuple) else kind


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(f"{one:,}" for one in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def ops() -> Rows:
    """Every step of a story, with its fields; those in brackets need not be given."""
    from sim.story.ops import OPS
    from sim.story.steps import COMMON

    every = {
        "op": "(every step)",
        "fields": " ".join(f"[{name}]" for name in COMMON),
        "means": "What any step may say beside its own fields.",
        "source": "this project",
        "field_meanings": dict(COMMON),
    }
    return [
        {
            "op": op,
            "fields": " ".join([*spec.required, *(f"[{name}]" for name in spec.optional)]),
            "means": spec.means,
            "source": spec.source,
            "field_meanings": {
                name: f"{one.means} ({one.kind.expected})" for name, one in spec.told.items()
            },
        }
        for op, spec in OPS.items()
    ] + [every]


def faults() -> Rows:
    """Every kind of fault that a timed scenario may have, with how often random ones have it."""
    from sim.faults import FAULTS
    from sim.faults.fault import meaning_of

    return [
        {
            "fault": name,
            "means": meaning_of(kind),
            "weight": kind.weight or 0.0,
            "source": kind.source,
        }
        for name, kind in FAULTS.items()
    ]


def columns() -> Rows:
    """Every column of the tables of a sweep, those of a group side by side."""
    from sim.sweeps.columns import columns as told

    found = list(told())
    groups = list(dict.fromkeys((column.table, column.group) for column in found))
    return [
        {
            "table": column.table,
            "group": column.group,
            "column": column.name,
            "type": column.kind,
            "unit": column.unit,
            "means": column.means,
            "source": column.source,
        }
        for column in sorted(found, key=lambda one: groups.index((one.table, one.group)))
    ]


def limits() -> Rows:
    """Every limit of a number or a text in files and options, with its reason."""
    from sim.limits import LIMITS

    return [
        {
            "limit": limit.name,
            "from": f"{limit.least:,}",
            "to": f"{limit.most:,}",
            "unit": limit.unit,
            "why": limit.why,
        }
        for limit in LIMITS
    ]
