"""Tables for `replog list` and `replog doctor`, read from the code so that they cannot drift."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sim.check.checker import known_invariants
from sim.check.coverage import SITUATIONS
from sim.check.registry import INVARIANTS, declared_family
from sim.cli import references
from sim.compaction.extending import REGISTERED
from sim.errors import BadInput
from sim.extras import install
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.plugins import in_use, invariants_by, registered_by
from sim.rules import DEFAULTS, PRESETS, RULES
from sim.rules.rules import shown
from sim.suite import format_of, scenario_files

Rows = list[dict[str, Any]]

_KINDS_OF_VALUES = {str: "text", int: "number", bool: "yes or no"}
_KINDS = {STORY_FORMAT: "story", LOG_FORMAT: "log"}


def rules() -> list[dict[str, Any]]:
    """Every rule with its values, the default first, each with its meaning, source and example."""
    plugins = {(one.rule, one.name): one.module for one in REGISTERED}
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
        row["values"] = [
            {
                "value": shown(value.name),
                "means": value.means,
                "source": value.source,
                "example": value.example and f"scenarios/{value.example}",
                "plugin": plugins.get((spec.name, str(value.name)), ""),
            }
            for value in spec.described()
        ]
        rows.append(row)
    return rows


def presets() -> Rows:
    """Every preset with the rules it sets."""
    return [
        {
            "preset": preset.name,
            "models": preset.models,
            "sets": ", ".join(f"{name}={shown(value)}" for name, value in preset.values.items()),
            "source": preset.source,
        }
        for preset in PRESETS.values()
    ]


def invariants() -> Rows:
    """Every invariant with what it says, and what has to hold for a violation to count."""
    known_invariants()
    return [
        {
            "invariant": name,
            "kind": str(cls.kind),
            "family": declared_family(name),
            "says": " ".join((cls.__doc__ or "").split("\n\n")[0].split())
            + (f" Fair when {cls.fairness}." if cls.fairness else ""),
            "source": cls.source,
        }
        for name, cls in INVARIANTS.items()
    ]


def reached() -> Rows:
    """Every situation that a scenario may expect to be reached, or not."""
    return [{"situation": name, "means": meaning} for name, meaning in SITUATIONS.items()]


TABLES: dict[str, Callable[[], Rows]] = {
    "rules": rules,
    "presets": presets,
    "invariants": invariants,
    "reached": reached,
    "mixes": references.mixes,
    "ops": references.ops,
    "faults": references.faults,
    "columns": references.columns,
    "limits": references.limits,
}
"""What `replog list` can show without looking at any file."""


def scenarios(folder: Path) -> Rows:
    """Every scenario file below `folder` with its title and source.

    Raises:
        BadInput: No such folder, or no scenario in it.
    """
    from sim.files.document import clipped
    from sim.files.reading import read_document
    from sim.limits import TITLE

    rows = []
    for path in scenario_files(folder):
        top = read_document(path).data
        if not isinstance(top, dict):
            raise BadInput(f"{path}: expected a mapping")
        rows.append(
            {
                "file": str(path),
                "kind": _KINDS.get(str(format_of(path)), "timed"),
                "title": clipped(str(top.get("title", "")), TITLE.most),
                "source": clipped(str(top.get("source", "")), TITLE.most),
            }
        )
    return rows


def topics(folder: Path) -> Rows:
    """The topic of every timed scenario below `folder`: by which strategy it is compacted, and why.

    Raises:
        BadInput: No such folder, no scenario in it, or one that contradicts itself.
    """
    from sim.scenario.file.topics import topic_strategy

    rows = []
    for path in scenario_files(folder):
        if format_of(path) == SCENARIO_FORMAT:
            found = topic_strategy(path)
            rows.append(
                {
                    "topic": str(path),
                    "compaction.strategy": found.strategy,
                    "compaction.strategy.header": found.header or "-",
                    "given in": found.given_in,
                    "broker's default": found.default or "-",
                }
            )
    if not rows:
        text = f"no timed scenario, format: {SCENARIO_FORMAT}; only those have a topic"
        raise BadInput(f"{folder}: {text}")
    return rows


FILE_TABLES: dict[str, Callable[[Path], Rows]] = {"scenarios": scenarios, "topics": topics}
"""What `replog list` reads from files."""


def capabilities() -> list[tuple[str, bool, str]]:
    """What this machine can do: (name, ready, version or advice)."""
    from sim.timed_run import COMPILED

    found = [
        ("Python", sys.version_info >= (3, 11), platform.python_version()),
        ("simulator", True, "compiled" if COMPILED else "pure Python"),
    ]
    for name, modules, extra in (
        ("sweeps on processes", ("pyarrow",), "report"),
        ("sweeps on Spark", ("pyspark", "pyarrow"), "sweep"),
        ("reports", ("matplotlib", "scipy", "jinja2", "pandas"), "report"),
        ("traces", ("pyarrow",), "trace"),
    ):
        missing = [module for module in modules if find_spec(module) is None]
        advice = install(extra) if missing else "installed"
        found.append((name, not missing, advice))
    if all(find_spec(module) for module in ("pyspark", "pyarrow")):
        from sim.sweeps.engines.session import find_java

        try:
            found.append(("Java", True, str(find_java())))
        except BadInput as error:
            found.append(("Java", False, str(error)))
    for module in in_use().modules:
        values = [f"{one.rule}={one.name}" for one in registered_by(module)]
        values += [f"invariant {name}" for name in invariants_by(module)]
        found.append((f"plugin {module}", True, ", ".join(values)))
    return found
