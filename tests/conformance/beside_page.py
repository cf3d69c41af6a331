"""The sections of the report about the old release and about choices among several logs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.beside import BesideResult
from tests.conformance.features import features_expected
from tests.conformance.pool_runs import POOL_FEATURES

NOT_ASKED = (
    "What needs a broker around it is not asked of single classes: that `LogManager` pauses the"
    " cleaner around a truncation (the comparison does what `LogManager.truncateTo` does to the"
    " checkpoint), that `Partition` refuses DeleteRecords for a topic without `delete` in its"
    " policy, and the clocks by which the cleaner wakes and producers expire (log files say when)."
)


def beside_lines(result: BesideResult) -> list[str]:
    """The outcome in two lines for a terminal."""
    old, pools = result.old, result.pools
    seeds = ", ".join(str(one.seed) for one in old)
    same = all(one.difference is None for one in old)
    return [
        (
            f"Kafka {result.version}: {sum(one.logs for one in old):,} different random logs with"
            f" {sum(one.passes for one in old):,} cleaning passes compared (seeds {seeds}):"
            f" {_verdict(same=same)}"
        ),
        (
            f"choice of a log: {pools.pools:,} sets of {pools.logs:,} logs (seed {pools.seed}):"
            f" {_verdict(same=pools.difference is None)}"
        ),
    ]


def beside_sections(result: BesideResult) -> Iterator[str]:
    """Both sections of the report."""
    old, pools = result.old, result.pools
    yield f"## Random logs, Kafka {result.version}"
    yield ""
    yield (
        f"The same against the classes of Kafka {result.version}, before KIP-534, with the preset"
        f" `{old[0].preset}` and several seeds. A pass after which Kafka calls a log uncleanable"
        " has to end so here, too."
    )
    yield ""
    yield "| seed | different logs | steps | cleaning passes | records | outcome |"
    yield "|---|---|---|---|---|---|"
    for one in old:
        yield (
            f"| {one.seed} | {one.logs:,} | {one.steps:,} | {one.passes:,} | {one.records:,} |"
            f" {_verdict(same=one.difference is None)} |"
        )
    yield ""
    yield "What happened, and in how many of these logs; a row with 0 fails the run:"
    yield ""
    yield from _table(
        {name: sum(one.features[name] for one in old) for name in features_expected(old[0].preset)}
    )
    yield "## The choice of a log"
    yield ""
    yield (
        f"{pools.pools:,} sets of one to four random logs, {pools.logs:,} in all (seed"
        f" {pools.seed}), are opened by Kafka's `UnifiedLog`. Its `LogCleanerManager` says of each"
        " where it is dirty, up to where it may be cleaned, how many bytes that is and how overdue"
        " it is, and grabs one; `replog eligible` must say the same of what Kafka tells of the"
        f" segments: {_verdict(same=pools.difference is None)}."
    )
    yield ""
    yield from _table({name: pools.features[name] for name in POOL_FEATURES})
    yield NOT_ASKED
    yield ""


def _table(counts: dict[str, int]) -> Iterator[str]:
    yield "| what | logs |"
    yield "|---|---|"
    for name, count in counts.items():
        yield f"| {name} | {count:,} |"
    yield ""


def _verdict(*, same: bool) -> str:
    return "all agree" if same else "they differ"
