"""The random comparison of `replog eligible` with Kafka's `LogCleanerManager`."""

from __future__ import annotations

from collections.abc import Callable

from sim.files.document import Document
from sim.simulate.logfile.eligible import eligible_answer, select_log
from sim.simulate.logfile.eligible_file import eligible_file_in
from tests.conformance.compare import Json, first_unequal, shown
from tests.conformance.pool_kafka import DECIDED, PoolAnswer
from tests.conformance.pool_logs import pools
from tests.conformance.random_runs import Compared, Judged, compare_drawn
from tests.conformance.recordings import Agreed

PoolAnswerer = Callable[[Json], PoolAnswer]


def replog_choice(document: Json) -> Json:
    """What `replog eligible --json` answers, as far as Kafka answers it, too."""
    file = eligible_file_in(Document("", document))
    whole = eligible_answer(select_log(file.logs, now_ms=file.now_ms))
    logs = {
        name: {number: log[number] for number in DECIDED} for name, log in whole["logs"].items()
    }
    return {"selected": whole["selected"], "logs": logs}


def choice_difference(answer: PoolAnswer) -> str | None:
    """The first difference between both sides, as a sentence; None = they agree."""
    found = first_unequal(replog_choice(answer.document), answer.answer, "")
    if found is None:
        return None
    path, ours, theirs = found
    return f"{path.lstrip('.')}: Replog says {shown(ours)}, Kafka says {shown(theirs)}"


def compare_pools(
    count: int,
    seed: int,
    *,
    kafka: PoolAnswerer,
    agreed: Callable[[Agreed], None] = lambda case: None,
) -> Compared:
    """Let both sides choose among the logs of `count` different sets, or up to a difference."""

    def judge(pool: Json) -> Judged:
        answer = kafka(pool)
        difference = choice_difference(answer)
        features = pool_features(answer) if difference is None else frozenset[str]()
        counts = {"logs": len(answer.document["logs"])}
        return Judged(Agreed(answer.document, answer.answer, features), counts, difference)

    result = Compared(seed, tuple(POOL_FEATURES))
    return compare_drawn(pools(), judge, result, count=count, agreed=agreed)


def _any(of: Callable[[Json, Json], bool]) -> Callable[[PoolAnswer], bool]:
    return lambda answer: any(
        of(log, answer.answer["logs"][name]) for name, log in answer.document["logs"].items()
    )


def _equally_dirty(answer: PoolAnswer) -> bool:
    """The one that is selected has an equal, which could be selected as well."""
    chosen = answer.answer["selected"]
    ratios = [
        answer.answer["logs"][name]["cleanable_ratio"]
        for name, log in answer.document["logs"].items()
        if not log["in_progress"] and not log["uncleanable"]
    ]
    return chosen is not None and ratios.count(_chosen(answer)["cleanable_ratio"]) > 1


def _chosen(answer: PoolAnswer) -> Json:
    found: Json = answer.answer["logs"].get(answer.answer["selected"], {})
    return found


def _overdue_alone(answer: PoolAnswer) -> bool:
    """What is selected is not dirty enough, but overdue."""
    name = answer.answer["selected"]
    if name is None:
        return False
    least = answer.document["logs"][name]["topic"]["min.cleanable.dirty.ratio"]
    return bool(_chosen(answer)["cleanable_ratio"] <= least)


def _overdue_waits(answer: PoolAnswer) -> bool:
    """Another one is overdue, but less dirty than what is selected."""
    return answer.answer["selected"] is not None and any(
        name != answer.answer["selected"]
        and log["compaction_delay_ms"] > 0
        and log["cleanable_bytes"] > 0
        and log["cleanable_ratio"] < _chosen(answer)["cleanable_ratio"]
        for name, log in answer.answer["logs"].items()
    )


def _topics_differ(answer: PoolAnswer) -> bool:
    topics = [log["topic"] for log in answer.document["logs"].values()]
    return any(topic != topics[0] for topic in topics)


POOL_FEATURES: dict[str, Callable[[PoolAnswer], bool]] = {
    "several logs": lambda answer: len(answer.document["logs"]) > 1,
    "a log is selected": lambda answer: answer.answer["selected"] is not None,
    "no log is selected": lambda answer: answer.answer["selected"] is None,
    "selected though another one is as dirty": _equally_dirty,
    "selected because it is overdue": _overdue_alone,
    "an overdue log waits for a dirtier one": _overdue_waits,
    "logs with settings of their own": _topics_differ,
    "log in progress": _any(lambda log, _: log["in_progress"]),
    "log that is uncleanable": _any(lambda log, _: log["uncleanable"]),
    "no checkpoint": _any(lambda log, _: log["checkpoint"] is None),
    "checkpoint below the log start": _any(
        lambda log, _: log["checkpoint"] is not None and log["checkpoint"] < log["log_start_offset"]
    ),
    "checkpoint above the log end": _any(
        lambda log, _: log["checkpoint"] is not None and log["checkpoint"] > log["log_end_offset"]
    ),
    "bound in mid-segment, rounded down": _any(
        lambda _, due: due["effective_upper_bound"] < due["first_uncleanable_offset"]
    ),
    "bound is the high watermark": _any(
        lambda log, due: (
            due["first_uncleanable_offset"] == log["high_watermark"] < log["log_end_offset"]
        )
    ),
    "bound is an open transaction": _any(
        lambda log, due: (
            due["first_uncleanable_offset"] == log["last_stable_offset"] < log["high_watermark"]
        )
    ),
    "bound is a segment with a young record": _any(
        lambda log, due: (
            log["topic"]["min.compaction.lag.ms"] > 0
            and due["first_uncleanable_offset"]
            < min(log["last_stable_offset"], log["segments"][-1]["base_offset"])
        )
    ),
    "the first dirty offset is past all that may be cleaned": _any(
        lambda log, due: due["first_dirty_offset"] > log["last_stable_offset"]
    ),
    "overdue": _any(lambda _, due: due["compaction_delay_ms"] > 0),
    "0 bytes": _any(lambda _, due: due["cleanable_ratio"] is None),
}
"""What can happen in a choice, and how to see that it did."""


def pool_features(answer: PoolAnswer) -> frozenset[str]:
    """Which of `POOL_FEATURES` occurred."""
    return frozenset(name for name, seen in POOL_FEATURES.items() if seen(answer))
