"""Why a log file's answer is not what it expects: what became of the records they differ about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sim.logfile.explain import explain_key
from sim.logfile.file import LogFile
from sim.logfile.key_history import records_of

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
        doubtful.update(_in_doubt(fact, claims))
    records = list(records_of(file))
    keys = (r.key for r in records if r.key in doubtful or r.offset in doubtful)
    return [
        one.sentence
        for key in dict.fromkeys(keys)
        if key is not None
        for one in explain_key(file, key)
        if one.offset in doubtful or key in doubtful
    ]


def _in_doubt(fact: Mapping[str, Any], claims: Mapping[str, Any]) -> Iterator[int | str]:
    """The offsets, and the keys, about which an answer and a claim differ; keys are texts."""
    for name in _LISTS:
        if name in claims:
            yield from _in_one(fact[name], claims[name])
    if "surviving_keys_must_not_include" in claims:
        unwanted = claims["surviving_keys_must_not_include"]
        yield from (key for key in unwanted if key in fact["surviving_keys"])
    if "removed" in claims:
        have, want = fact.get("removed", {}), claims["removed"]
        differing = (at for at in {*have, *want} if have.get(at) != want.get(at))
        yield from (int(at) for at in differing if at.isdecimal())
    if "batches" in claims:
        have, want = (list(_by_record(one["batches"])) for one in (fact, claims))
        yield from (offset for offset, _ in _in_one(have, want))


def _in_one(have: object, want: object) -> Iterator[Any]:
    """What only one of two lists has; nothing where one is no list."""
    if isinstance(have, list) and isinstance(want, list):
        yield from (item for item in (*have, *want) if (item in have) != (item in want))


def _by_record(batches: object) -> Iterator[tuple[int, object]]:
    """Each record's offset with what is said of its batch beside it."""
    for batch in batches if isinstance(batches, list) else ():
        for offset in batch.get("record_offsets", ()) if isinstance(batch, dict) else ():
            yield offset, batch.get("delete_horizon_ms")
