"""The registration of strategies, fixes and tombstone removal rules of plugins.

Each is checked against the contract of its kind on a few samples; the tests hold the built-in ones
to it, too. The functions that check return the first problem, None without one. Calls in a run are
guarded: an exception, or an answer of a wrong type, is reported as the plugin's
(`sim.errors`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from sim.errors import BadInput, Guarded, in_one_line, shortly
from sim.protocol.compaction.fixes import FIXES, Fix, Kept, Tail
from sim.protocol.compaction.strategies import STRATEGIES, Strategy, Version, encode_version
from sim.protocol.compaction.tombstones import (
    TOMBSTONE_REMOVALS,
    Circumstances,
    Stamp,
    TombstoneRemoval,
)
from sim.protocol.log import Batch, Record


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
"""Strategies, fixes and removal rules of plugins, in order of registration."""

_TABLES: dict[str, dict[str, Any]] = {
    "strategy": STRATEGIES,
    "fix": FIXES,
    "tombstone_removal": TOMBSTONE_REMOVALS,
}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")

_S = TypeVar("_S")


def register_strategy(strategy: _S) -> _S:
    """Makes a strategy a value of the `strategy` rule; also decorates a class without arguments.

    It has `name`, `source`, `latest_wins` and `version(record)`, see `Strategy`; its docstring, or
    a text `means`, is what reports say about it.

    Raises:
        BadInput: The name is taken, an attribute is missing, or the contract is not kept.
    """
    fields = ("name", "source", "latest_wins", "version")
    _register("strategy", _made(strategy), fields, strategy_problem)
    return strategy


def register_fix(fix: _S) -> _S:
    """Makes a `Fix` a value of the `fix` rule; also decorates a class without arguments.

    It has `name`, `source` and `keeps(tail)`, and may have `persists_log_end` and `announces_gaps`,
    see `Fix`; its docstring, or a text `means`, is what reports say about it.

    Raises:
        BadInput: The name is taken, an attribute is missing, or the contract is not kept.
    """
    _register(
        "fix", _made(fix), ("name", "source", "keeps"), lambda value: fix_problem(_as_fix(value))
    )
    return fix


def register_tombstone_removal(rule: TombstoneRemoval) -> TombstoneRemoval:
    """Makes a rule a value of `tombstone_removal`; its condition is one function.

    Raises:
        BadInput: The name is taken, an attribute is missing, or the contract is not kept.
    """
    fields = ("name", "source", "means", "may_remove", "stamps", "gates_markers")
    _register("tombstone_removal", rule, fields, removal_problem)
    return rule


def forget(since: int) -> None:
    """Takes back what was registered after the first `since` entries of `REGISTERED`."""
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
        are = "is" if len(missing) == 1 else "are"
        has = ", ".join(fields)
        raise BadInput(f"{label}: {', '.join(missing)} {are} missing; a {kind} has {has}")
    for field in ("name", "source"):
        text = getattr(value, field)
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"{label}: {field} is {text!r}; allowed: a text that is not empty")
    name = str(value.name)
    if not _NAME.fullmatch(name):
        raise BadInput(f"{label}: a name is a letter, then letters, digits, _ . and -, up to 64")
    table = _TABLES[rule]
    one = Registered(rule, name, _module_of(value))
    again = one.module == "__main__" and one in REGISTERED  # a cell of a notebook, executed again
    if name in table and not again:
        raise BadInput(f"{label}: the name is taken; taken are {', '.join(table)}")
    try:
        found = problem(value)
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises is its problem
        found = f"raises {in_one_line(error)}"
    if found is not None:
        raise BadInput(f"{label}: {found}")
    table[name] = _guarded(value, f"plugin {one.module}: {kind} {name}")
    if not again:
        REGISTERED.append(one)


def _guarded(value: Any, label: str) -> Any:
    """The registered value with every call in a run checked."""
    if isinstance(value, TombstoneRemoval):
        return value._replace(may_remove=Guarded(label, value.may_remove, _removal_problem))
    if hasattr(value, "keeps"):
        fix = _as_fix(value)
        return fix._replace(keeps=Guarded(label, fix.keeps, _kept_problem))
    version = Guarded(label, value.version, _version_problem)
    return Strategy(value.name, value.source, meaning_of(value), version, value.latest_wins)


def _as_fix(value: Any) -> Fix:
    """A fix, or an object of the same shape, as a fix."""
    return Fix(
        value.name,
        value.source,
        meaning_of(value),
        value.keeps,
        persists_log_end=getattr(value, "persists_log_end", False),
        announces_gaps=getattr(value, "announces_gaps", False),
    )


def meaning_of(described: object) -> str:
    """The meaning of a strategy, a fix or a rule: its `means`, or its docstring's first paragraph.

    Empty when it says nothing.
    """
    said = getattr(described, "means", None)
    if isinstance(said, str):
        return said
    kind = type(described)
    paragraph = (inspect.cleandoc(kind.__doc__ or "")).split("\n\n")[0]
    if paragraph.startswith(f"{kind.__name__}("):  # `dataclass` makes one where none is written
        return ""
    text = " ".join(paragraph.split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _module_of(value: Any) -> str:
    source: object = type(value)
    if isinstance(value, TombstoneRemoval):
        source = value.may_remove
    elif isinstance(value, Fix):
        source = value.keeps
    return str(getattr(source, "__module__", ""))


_HEADERS: tuple[tuple[tuple[str, bytes], ...], ...] = (
    (),
    (("version", encode_version(-1)),),
    (("version", encode_version(7)),),
    (("version", b"short"),),
    (("other", b""), ("version", encode_version(7)), ("version", encode_version(3))),
)


def _records() -> list[Record]:
    samples = product((-1, 0, 50), (None, "", "a longer value"), _HEADERS)
    return [
        Record(offset, "k", value, timestamp, headers)
        for offset, (timestamp, value, headers) in enumerate(samples)
    ]


def _version_problem(record: object, version: object) -> str | None:
    if not isinstance(version, tuple) or not all(type(part) is int for part in version):
        return f"a version is a tuple of whole numbers, not {shortly(version)}"
    return None


def _kept_problem(tail: Tail, kept: object) -> str | None:
    if not isinstance(kept, Kept):
        return f"keeps answers with a Kept (Kept() where nothing more stays), not {shortly(kept)}"
    end = -1 if tail.last_batch is None else tail.last_batch.last_offset
    offsets: list[Any] = list(kept)  # whatever is in it
    for offset in offsets:
        if offset is None:
            continue
        if type(offset) is not int:
            return f"keeps offset {shortly(offset)}; allowed: a whole number, None"
        if offset > max(end, tail.high_watermark - 1):
            return f"keeps offset {offset}, but the last offset is {end}"
    return None


def _removal_problem(case: object, answer: object) -> str | None:
    if not isinstance(answer, bool):
        return f"may_remove answers True or False, not {shortly(answer)}"
    return None


def strategy_problem(strategy: Strategy) -> str | None:
    """Checks that a version order is total and repeatable, and that later equals win."""
    if not isinstance(strategy.latest_wins, bool):
        return f"latest_wins is {strategy.latest_wins!r}; allowed: True, False"
    version_of: Callable[[Record], Any] = strategy.version
    versions = []
    for record in _records():
        version = version_of(record)
        wrong = _version_problem(record, version)
        if wrong is not None:
            return wrong
        if version_of(record) != version:
            return "the version of a record differs between two calls"
        later = version_of(replace(record, offset=record.offset + 1000))
        if not later > version:
            return "of two equal records the later does not win; end the version with the offset"
        versions.append(version)
    if len({len(version) for version in versions}) > 1:
        return "versions differ in length, so their order is not that of their parts"
    if len(set(versions)) < len(versions):
        return "two records have the same version; end it with the offset"
    if strategy.latest_wins and versions != sorted(versions):
        return "latest_wins is True, but an earlier record wins over a later one"
    return None


def _tails() -> list[Tail]:
    records = tuple(Record(offset, "k", "v", 0) for offset in (3, 4))
    full = Batch(3, 4, epoch=1, timestamp_ms=0, size_bytes=100, records=records)
    return [
        Tail(None, 0, 0),
        Tail(full, 5, 5),
        Tail(full, 3, 5),
        Tail(replace(full, records=()), 5, 5),
    ]


def fix_problem(fix: Fix) -> str | None:
    """Checks that a fix returns offsets inside the log, the same at each call; None = it does."""
    for name in ("persists_log_end", "announces_gaps"):
        mark: Any = getattr(fix, name)
        if not isinstance(mark, bool):
            return f"{name} is {shortly(mark)}; allowed: True, False"
    keeps: Callable[[Tail], object] = fix.keeps
    for tail in _tails():
        kept = keeps(tail)
        wrong = _kept_problem(tail, kept)
        if wrong is not None:
            return wrong
        if keeps(tail) != kept:
            return "keeps differs between two calls"
    return None


def removal_problem(rule: TombstoneRemoval) -> str | None:
    """Checks that a condition returns the same bool at each call, and stays True once it is True.

    An exception of the condition is not caught.
    """
    if not isinstance(rule.stamps, Stamp):
        return f"stamps is {rule.stamps!r}; allowed: {', '.join(map(str, Stamp))}"
    samples = product((4, 9), (None, 50), (0, 5, 100), (None, 40), (None, 60), (None, (6, 30)))
    may_remove: Callable[[Circumstances], object] = rule.may_remove
    for offset, horizon, limit, modified, legacy, cleaned in samples:
        before = False
        for now in (0, 50, 1000):
            case = Circumstances(offset, horizon, now, limit, modified, legacy, cleaned, 20)
            answer = may_remove(case)
            wrong = _removal_problem(case, answer)
            if wrong is not None:
                return wrong
            if may_remove(case) is not answer:
                return "may_remove differs between two calls"
            if before and not answer:
                return "what it lets go at one time, it keeps at a later time"
            before = bool(answer)
    return None


def registered_order(strategy: str) -> Callable[[Record], Version]:
    """The version order of a strategy that a plugin registered, by which invariants judge.

    Raises:
        KeyError: No plugin registered a strategy of that name.
    """
    if not any(one.rule == "strategy" and one.name == strategy for one in REGISTERED):
        raise KeyError(strategy)
    return STRATEGIES[strategy].version
