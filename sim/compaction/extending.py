"""Registering strategies, fixes and tombstone removal rules that live in other people's modules.

Each is checked against the contract of its kind, so that what gets in can be relied on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sim.compaction.contract import fix_problem, removal_problem, strategy_problem
from sim.compaction.fixes import FIXES, Fix
from sim.compaction.strategies import STRATEGIES
from sim.compaction.tombstones import TOMBSTONE_REMOVALS, TombstoneRemoval
from sim.errors import BadInput


class Registered(NamedTuple):
    """A value of a rule that came from outside.

    Attributes:
        rule: `strategy`, `fix` or `tombstone_removal`.
        name: The value.
        module: The module that defines it.
    """

    rule: str
    name: str
    module: str


REGISTERED: list[Registered] = []
"""What was registered, in that order."""

_TABLES: dict[str, dict[str, Any]] = {
    "strategy": STRATEGIES,
    "fix": FIXES,
    "tombstone_removal": TOMBSTONE_REMOVALS,
}

_S = TypeVar("_S")


def register_strategy(strategy: _S) -> _S:
    """Make a strategy a value of the `strategy` rule; also a decorator of a class without fields.

    It has `name`, `source`, `latest_wins` and `version(record)`, see `Strategy`; its docstring, or
    a text `means`, is what people are told about it.

    Raises:
        BadInput: The name is taken, an attribute is missing, or the contract is not kept.
    """
    fields = ("name", "source", "latest_wins", "version")
    _register("strategy", _made(strategy), fields, strategy_problem)
    return strategy


def register_fix(fix: _S) -> _S:
    """Make a fix a value of the `fix` rule: a `Fix`, or a class without fields as a decorator.

    It has `name`, `source`, `persists_log_end`, `announces_gaps` and `keeps(tail)`, see `Fix`; its
    docstring, or a text `means`, is what people are told about it.

    Raises:
        BadInput: The name is taken, an attribute is missing, or the contract is not kept.
    """
    fields = ("name", "source", "persists_log_end", "announces_gaps", "keeps")
    _register("fix", _made(fix), fields, fix_problem)
    return fix


def register_tombstone_removal(rule: TombstoneRemoval) -> TombstoneRemoval:
    """Make a rule a value of `tombstone_removal`; its condition is one function.

    Raises:
        BadInput: The name is taken, an attribute is missing, or the contract is not kept.
    """
    fields = ("name", "source", "means", "may_remove", "stamps", "gates_markers")
    _register("tombstone_removal", rule, fields, removal_problem)
    return rule


def forget(since: int) -> None:
    """Take back what was registered after the first `since` entries of `REGISTERED`."""
    for one in REGISTERED[since:]:
        del _TABLES[one.rule][one.name]
    del REGISTERED[since:]


def _made(given: object) -> object:
    if not isinstance(given, type):
        return given
    try:
        return given()
    except TypeError as error:
        raise BadInput(f"{given.__name__}: cannot be made without arguments: {error}") from None


def _register(
    rule: str, value: Any, fields: tuple[str, ...], problem: Callable[[Any], str | None]
) -> None:
    kind = rule.replace("_", " ")
    label = f"{kind} {getattr(value, 'name', type(value).__name__)!r}"
    missing = [field for field in fields if not hasattr(value, field)]
    if missing:
        raise BadInput(f"{label}: {missing[0]} is missing; a {kind} has {', '.join(fields)}")
    for field in ("name", "source"):
        text = getattr(value, field)
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"{label}: {field} is {text!r}; allowed: a text that is not empty")
    table = _TABLES[rule]
    if value.name in table:
        raise BadInput(f"{label}: the name is taken; taken are {', '.join(table)}")
    try:
        found = problem(value)
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises is its problem
        found = f"raises {type(error).__name__}: {error}"
    if found is not None:
        raise BadInput(f"{label}: {found}")
    table[value.name] = value
    REGISTERED.append(Registered(rule, value.name, _module_of(value)))


def _module_of(value: Any) -> str:
    source: object = type(value)
    if isinstance(value, TombstoneRemoval):
        source = value.may_remove
    elif isinstance(value, Fix):
        source = value.keeps
    return str(getattr(source, "__module__", ""))
