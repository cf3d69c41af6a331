"""Why a log file's answer is not what it expects: what became of the records they differ about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sim.simulate.logfile.explain import RECORDS_SHOWN, explain_key, records_of
from sim.simulate.logfile.file import LogFile

_UNSAID = "unsaid"
_LISTS = ("surviving_offsets", "tombstone_offsets", "surviving_keys")


def explained_doubts(
    file: LogFile, facts: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]
) -> list[str]:
    """What `replog clean --explain` says of those records, by key and offset.

    Args:
        file: The log file.
        facts: What came of each step.
        expected: What the file claims of each step.
    """
    doubtful: set[int | str] = set()
    for fact, claims in zip(facts, expected, strict=True):
        doubtful.update(one for one in _in_doubt(fact, claims) if isinstance(one, int | str))
    records = list(records_of(file))
    offsets = {one for one in doubtful if isinstance(one, int)}
    found = (r.key for r in records if r.key in doubtful or r.offset in doubtful)
    keys = [key for key in dict.fromkeys(found) if key is not None]
    told: list[str] = []
    for key in keys[:RECORDS_SHOWN]:
        explained = explain_key(file, key, about=None if key in doubtful else offsets)
        told += [one.sentence for one in explained.records]
    return told[:RECORDS_SHOWN]


def _in_doubt(fact: Mapping[str, Any], claims: Mapping[str, Any]) -> Iterator[Any]:
    """The offsets, and the keys, about which an answer and a claim differ; keys are texts."""
    for name in _LISTS:
        if name in claims:
            yield from _in_one(fact[name], claims[name])
    if "surviving_keys_must_not_include" in claims:
        unwanted = claims["surviving_keys_must_not_include"]
        yield from (key for key in unwanted if key in fact["surviving_keys"])
    removed, claimed = fact.get("removed", {}), claims.get("removed")
    if isinstance(claimed, dict):
        differing = (at for at, why in claimed.items() if removed.get(at) != why)
        yield from (int(at) for at in differing if at.isdecimal())
    if isinstance(claims.get("batches"), list):
        have, want = _horizons(fact["batches"]), _horizons(claims["batches"])
        yield from have.keys() ^ want.keys()
        both = have.keys() & want.keys()
        yield from (at for at in both if want[at] not in (_UNSAID, have[at]))


def _in_one(have: object, want: object) -> Iterator[Any]:
    """What only one of two lists has; nothing where one is no list."""
    if isinstance(have, list) and isinstance(want, list):
        yield from (item for item in (*have, *want) if (item in have) != (item in want))


def _horizons(batches: list[Any]) -> dict[int, Any]:
    """The delete horizon of each record's batch, by offset, as far as somebody says it."""
    return {
        offset: batch.get("delete_horizon_ms", _UNSAID)
        for batch in batches
        if isinstance(batch, dict) and isinstance(batch.get("record_offsets"), list)
        for offset in batch["record_offsets"]
        if isinstance(offset, int)
    }
