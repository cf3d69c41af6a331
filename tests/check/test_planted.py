"""Mistakes planted in what replicas run: the oracle reads by itself, so a short sweep finds each.

Who shares a mistake with the accused finds nothing: before the oracle had its own version order and
its own tombstone mark, none of these was ever a violation.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from sim.protocol.compaction.strategies import (
    ENCODERS,
    HEADER_FORMS,
    EarlierOfEquals,
    HeaderStrategy,
)
from sim.protocol.compaction.strategies import encode_version as encoded
from sim.protocol.compaction.tombstones import TOMBSTONE_MARKS
from sim.protocol.log import LeaderEpochCache, Record
from sim.protocol.log.epochs import EpochEnd
from sim.protocol.log.named_tuples import make
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster import producer
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import Scenario
from tests.audits.registering import audited

LATE = Mix(mix="reference", duration_ms=5000, late_share=(0.3, 0.5), delete_share=(0.2, 0.4))
CALM = Mix(
    mix="reference",
    duration_ms=5000,
    delete_share=(0.3, 0.5),
    faults=(0, 0),
    tail_hunts=0.0,
    idle_phases=(2, 3),
)
KAFKA = {"preset": "kafka-4.0", "map_range": "full"}
BY_HEADER = rules_from({**KAFKA, "strategy": "header", "delete_retention_ms": 60_000})
"""Tombstones outlast the run, so that nothing but a mistake breaks an invariant."""
BY_MARK = rules_from({**KAFKA, "delete_retention_ms": 100})
"""Without faults nobody lags behind a tombstone that goes early."""


class MissingWins(HeaderStrategy):
    """A record without version beats all."""

    def version(self, record: Record) -> tuple[int, ...]:
        found = super().version(record)
        return found if found[0] else (2, 0, record.offset)


class FirstHeader(HeaderStrategy):
    """The first header of the name counts, not the last."""

    def version(self, record: Record) -> tuple[int, ...]:
        return super().version(record._replace(headers=record.headers[::-1]))


class AnyHeader(HeaderStrategy):
    """The last header counts, whatever its name is."""

    def version(self, record: Record) -> tuple[int, ...]:
        named = tuple((self.header, value) for _, value in record.headers)
        return super().version(record._replace(headers=named))


class Unsigned(HeaderStrategy):
    """A negative version is read as a large one."""

    def version(self, record: Record) -> tuple[int, ...]:
        has, number, offset = super().version(record)
        return (has, number % (1 << 64), offset)


ORDERS: dict[str, Callable[[str], Any]] = {
    "equal versions go to the earlier record": lambda name: EarlierOfEquals(HeaderStrategy(name)),
    "no version wins over any": MissingWins,
    "the first header of the name": FirstHeader,
    "the last header of any name": AnyHeader,
    "numbers without sign": Unsigned,
}
MARKS: dict[str, dict[str, Callable[[Record], bool]]] = {
    "flag": {
        "the null value instead of the flag": lambda record: record.value is None,
        "the null value as well": lambda record: record.flagged is True or record.value is None,
        "on null values alone": lambda record: record.flagged is True and record.value is None,
        "the wrong way round": lambda record: not record.flagged,
        "never": lambda record: False,
    },
    "null_value": {
        "an empty text is taken for none": lambda record: not record.value,
    },
}

SEEDS = 6


def many_headers(kind: type[Any], fields: tuple[Any, ...]) -> Any:
    """Makes records as a careless producer does: an older version first, another header last."""
    record = make(kind, fields)
    if not isinstance(record, Record) or not record.headers:
        return record
    name, value = record.headers[0]
    decoy = encoded(-int.from_bytes(value, "big", signed=True))
    return record._replace(headers=((name, decoy), *record.headers, ("trace-id", decoy)))


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers write several headers, and versions on both sides of zero."""
    monkeypatch.setattr(producer, "make", many_headers)
    monkeypatch.setitem(ENCODERS, "last_long", lambda version: encoded(version - 4))


def deletes_of_every_kind(scenario: Scenario) -> Scenario:
    """Half of the deletes say something and have the flag, half are null values without it.

    Every third value is an empty text.
    """
    sends = []
    for index, send in enumerate(scenario.workload.sends):
        if send.value is None:
            change = {"value": "deleted", "flag": True} if index % 2 else {"flag": False}
        else:
            change = {} if index % 3 else {"value": ""}
        sends.append(send._replace(**change))
    return replace(scenario, workload=replace(scenario.workload, sends=tuple(sends)))


def violated(rules: Rules, mix: Mix, *, seeds: int = SEEDS) -> Counter[str]:
    """What a short sweep under `rules` violates: invariant -> runs."""
    found: Counter[str] = Counter()
    for seed in range(seeds):
        case = generate(seed, mix).with_rules(rules)
        if rules.cleaner.strategy == "offset":
            case = replace(deletes_of_every_kind(case), last_rounds=2)
        with audited():
            run = run_scenario(case, also_check=["tombstone-eventually-removed"])
        found.update(run.violated)
    return found


@cache
def without_mistake(rules: Rules) -> Counter[str]:
    """What is violated while marks are read as they should; asked before one is planted."""
    return violated(rules, CALM)


@pytest.mark.usefixtures("headers")
def test_without_a_mistake_no_invariant_is_broken() -> None:
    assert violated(BY_HEADER, LATE) == {}


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize("mistake", ORDERS)
def test_a_mistake_in_comparing_versions_is_found(
    monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.setitem(HEADER_FORMS, "last_long", ORDERS[mistake])

    assert {"winner-retained", "materialized-state-equivalence"} <= violated(BY_HEADER, LATE).keys()


@pytest.mark.parametrize(
    ("mark", "mistake"), [(mark, name) for mark in MARKS for name in MARKS[mark]]
)
def test_a_mistake_in_reading_a_tombstone_is_found(
    monkeypatch: pytest.MonkeyPatch, mark: str, mistake: str
) -> None:
    rules = BY_MARK.with_values({"tombstone_mark": mark})
    right = without_mistake(rules)
    monkeypatch.setitem(TOMBSTONE_MARKS, mark, MARKS[mark][mistake])
    wrong = violated(rules, CALM)

    assert right.keys() <= {"tombstone-eventually-removed"}
    assert max((wrong - right).values()) > SEEDS // 3


def test_a_mistake_in_where_an_epoch_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LeaderEpochCache.end_offset_for

    def where_it_starts(cache: LeaderEpochCache, epoch: int, log_end_offset: int) -> EpochEnd:
        found = right(cache, epoch, log_end_offset)
        start = next((one.start_offset for one in cache.entries if one.epoch == found.epoch), None)
        return found if start is None else found._replace(end_offset=start)

    monkeypatch.setattr(LeaderEpochCache, "end_offset_for", where_it_starts)

    assert violated(BY_HEADER, LATE, seeds=4)["no-truncation-below-hw"] > 1
