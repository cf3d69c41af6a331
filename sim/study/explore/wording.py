"""A plan in words: where its schedules start, and how often each thing happens in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
"""A plan as its document has it."""


def world_text(plan: Row) -> str:
    """Where every schedule of a plan starts, and what is written and elected in it."""
    world = plan["world"]
    in_sync = ", ".join(world["isr"]) if world["isr"] else "all"
    writes = f"keys {', '.join(world['keys'])}, versions {', '.join(map(str, world['versions']))}"
    marks = ", tombstones too" if world["tombstones"] else ""
    return (
        f"{world['replicas']} replicas, in sync at the start: {in_sync}; {writes}{marks}; "
        f"{world['elections']} elections"
    )


def budgets_text(plan: Row) -> str:
    """How often each thing happens in a schedule of a plan, of what may happen at all."""
    return "; ".join(
        f"{name} {'without a bound' if most is None else f'at most {most}'}"
        for name, most in plan["budgets"].items()
        if most != 0
    )


def short_text(plan: Row) -> str:
    """The world and what is bounded in it, in one breath."""
    world = plan["world"]
    in_sync = f", {' and '.join(world['isr'])} in sync" if world["isr"] else ""
    bounded = ", ".join(f"{name} {most}" for name, most in plan["budgets"].items() if most)
    marks = ", tombstones" if world["tombstones"] else ""
    return (
        f"{world['replicas']} replicas{in_sync}{marks}, {world['elections']} elections, "
        f"at most: {bounded}"
    )
