"""`replog list`: rules, invariants, scenarios and other named things, each with its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from sim.check.checker import known_invariants
from sim.check.coverage import SITUATIONS
from sim.check.registry import INVARIANTS, declared_family
from sim.cli.arguments import Argument, Json
from sim.cli.output import print_answer, print_table
from sim.errors import BadInput, did_you_mean
from sim.files.limits import LIMITS, TITLE
from sim.protocol.compaction.extending import REGISTERED
from sim.protocol.rules import DEFAULTS, PRESETS, RULES, shown
from sim.protocol.rules.spec import RuleSpec
from sim.study.suite import KINDS, format_of, scenario_files

Rows = list[dict[str, Any]]

_KINDS_OF_VALUES = {str: "text", int: "number", bool: "yes or no"}


def _rows(things: Iterable[Any], **columns: str | Callable[[Any], object]) -> Rows:
    """A row for each thing: under each column an attribute, or the result of a function."""
    return [
        {name: getattr(one, of) if isinstance(of, str) else of(one) for name, of in columns.items()}
        for one in things
    ]


def rules() -> Rows:
    """Every rule with its values, the default first, each with its meaning, source and example."""
    rows = []
    for spec in RULES.values():
        row: dict[str, Any] = {
            "rule": spec.name,
            "decides": spec.decides,
            "kind": _KINDS_OF_VALUES[type(DEFAULTS[spec.name])],
            "default": shown(DEFAULTS[spec.name]),
            "source": spec.source,
        }
        if spec.minimum is not None:
            row["minimum"] = spec.minimum
        if spec.limit is not None:
            row["maximum"] = spec.limit.most
        rows.append(row | {"values": _values(spec)})
    return rows


def _values(spec: RuleSpec) -> Rows:
    plugins = {one.name: one.module for one in REGISTERED if one.rule == spec.name}
    return _rows(
        spec.described(),
        value=lambda value: shown(value.name),
        means="means",
        source="source",
        example=lambda value: value.example and f"scenarios/{value.example}",
        plugin=lambda value: plugins.get(str(value.name), ""),
    )


def presets() -> Rows:
    """Every preset with the rules it sets."""
    return _rows(
        PRESETS.values(),
        preset="name",
        models="models",
        sets=lambda one: ", ".join(f"{name}={shown(value)}" for name, value in one.values.items()),
        source="source",
    )


def invariants() -> Rows:
    """Every invariant with its meaning, and the condition under which a violation counts."""
    return _rows(
        known_invariants(),
        invariant=str,
        kind=lambda name: str(INVARIANTS[name].kind),
        family=declared_family,
        says=_says,
        source=lambda name: INVARIANTS[name].source,
    )


def _says(name: str) -> str:
    cls = INVARIANTS[name]
    fair = f" Fair when {cls.fairness}." if cls.fairness else ""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split()) + fair


def reached() -> Rows:
    """Every situation that a scenario may expect to be reached, or not."""
    return [{"situation": name, "means": meaning} for name, meaning in SITUATIONS.items()]


def mixes() -> Rows:
    """Every field of a mix but `weights`, with its meaning, and its value in each built-in mix."""
    from sim.files.attribute_docs import attribute_docs
    from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, MIX_PURPOSES, Mix

    docs = attribute_docs(Mix)
    purposes = "; ".join(f"{name}: {purpose}" for name, purpose in MIX_PURPOSES.items())
    docs["mix"] += f" {purposes}."
    rows = []
    for field in Mix.model_fields:
        if field != "weights":
            values = {name: getattr(mix, field) for name, mix in BUILT_IN_MIXES.items()}
            shown_values = {name: _shown(value) for name, value in values.items()}
            rows.append({"field": field, "means": docs[field], **shown_values})
    return rows


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(f"{one:,}" for one in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def ops() -> Rows:
    """Every step of a story, with its fields; those in brackets need not be given."""
    from sim.simulate.story.ops import OPS
    from sim.simulate.story.steps import COMMON

    rows = []
    for op, spec in OPS.items():
        fields = spec.fields.items()
        rows.append(
            {
                "op": op,
                "fields": " ".join(name if one.required else f"[{name}]" for name, one in fields),
                "means": spec.means,
                "source": spec.source,
                "field_meanings": {
                    name: f"{means} ({spec.types[name].expected})"
                    for name, means in spec.meanings.items()
                },
            }
        )
    every = {
        "op": "(every step)",
        "fields": " ".join(f"[{name}]" for name in COMMON),
        "means": "Fields that every step may have.",
        "source": "this project",
        "field_meanings": dict(COMMON),
    }
    return [*rows, every]


def faults() -> Rows:
    """Every kind of fault of timed scenarios, with its weight in random ones."""
    from sim.simulate.faults import FAULTS
    from sim.simulate.faults.fault import meaning_of

    return _rows(
        FAULTS.values(),
        fault="kind",
        means=meaning_of,
        weight="weight",
        source="source",
    )


def columns() -> Rows:
    """Every column of the tables of a sweep, by groups."""
    from sim.study.sweep.columns import columns as columns_of_a_sweep

    found = list(columns_of_a_sweep())
    groups = list(dict.fromkeys((column.table, column.group) for column in found))
    return _rows(
        sorted(found, key=lambda one: groups.index((one.table, one.group))),
        table="table",
        group="group",
        column="name",
        type="kind",
        unit="unit",
        means="means",
        source="source",
    )


def limits() -> Rows:
    """Every limit of a number or a text in files and options, with its reason."""
    ends: dict[str, Callable[[Any], object]] = {
        "from": lambda one: f"{one.least:,}",
        "to": lambda one: f"{one.most:,}",
    }
    return _rows(LIMITS, limit="name", **ends, unit="unit", why="why")


TABLES: dict[str, Callable[[], Rows]] = {
    table.__name__: table
    for table in (rules, presets, invariants, reached, mixes, ops, faults, columns, limits)
}
"""Tables of `replog list` that need no file."""


def scenarios(folder: Path) -> Rows:
    """Every scenario file below `folder` with its title and source.

    Raises:
        BadInput: No such folder, no scenario in it, or a file that cannot be read.
    """
    from sim.files.document import clipped
    from sim.files.reading import read_document

    rows = []
    for path in scenario_files(folder):
        top = read_document(path).data
        if not isinstance(top, dict):
            raise BadInput(f"{path}: expected a mapping")
        rows.append(
            {
                "file": str(path),
                "kind": KINDS[str(format_of(path))],
                "title": clipped(str(top.get("title", "")), TITLE.most),
                "source": clipped(str(top.get("source", "")), TITLE.most),
            }
        )
    return rows


def list_(
    what: Annotated[str, Argument(metavar="TABLE")],
    *,
    as_json: Json = False,
) -> int:
    """List rules, invariants, steps, faults, scenarios and more, each with its source.

    Args:
        what: rules, presets, invariants, reached, mixes, ops (steps of stories), faults, columns
            (of a sweep's tables), limits or scenarios (of ./scenarios, else the shipped ones).
    """
    if what == "scenarios":
        from sim.files.shipped import PREFIX, shipped_folder

        here = Path(PREFIX)
        rows = scenarios(here if here.is_dir() else shipped_folder())
    elif what in TABLES:
        rows = TABLES[what]()
    else:
        tables = (*TABLES, "scenarios")
        raise BadInput(
            f"list {what}: no such table{did_you_mean(what, tables)}; allowed: {', '.join(tables)}"
        )
    plain = [*_rule_rows(rows)] if what == "rules" else _without_parts(rows)
    return print_answer(as_json, rows, lambda: print_table(plain, texts=True))


def _without_parts(rows: Rows) -> Rows:
    return [{n: cell for n, cell in row.items() if not isinstance(cell, dict)} for row in rows]


def _rule_rows(rows: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """A row for each rule, and one for each of its values below it."""
    for row in rows:
        least = f" from {row['minimum']}" if "minimum" in row else ""
        kind = "" if row["values"] else f"a {row['kind']}{least}, "
        means = f"{row['decides']} ({kind}default {row['default']})"
        yield {"rule": row["rule"], "means": means, "source": row["source"], "example": ""}
        for value in row["values"]:
            plugin = f" (plugin {value['plugin']})" if value["plugin"] else ""
            yield {
                "rule": f"  {value['value']}",
                "means": value["means"] or "(its module does not say what it means)",
                "source": f"{value['source']}{plugin}",
                "example": Path(value["example"]).stem,  # which `replog run` takes as well
            }
