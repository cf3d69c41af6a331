"""Documents for `replog eligible`, and what is answered to them."""

from typing import Any

from sim.files.document import Document
from sim.simulate.logfile.eligible import eligible_answer, select_log
from sim.simulate.logfile.eligible_file import eligible_file_in, is_eligible_document
from sim.simulate.logfile.expect import differences_of_choice, differences_of_steps
from sim.simulate.logfile.file import log_file_in

Json = dict[str, Any]

NOW = 1_400_000_000_000
RATIO, MIN_LAG, MAX_LAG = (
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
)


def log(*bases: int, end: int, **fields: Any) -> Json:
    """A log with a segment at each base, all of the same size and time; the last is active."""
    return {
        "segments": [
            {
                "base_offset": base,
                "size_bytes": 100 if base < end else 0,
                "first_batch_timestamp_ms": NOW,
                "largest_timestamp_ms": NOW,
            }
            for base in bases
        ],
        "log_end_offset": end,
        **fields,
    }


def document(*, now: int = NOW, topic: Json | None = None, **logs: Json) -> Json:
    return {"format": "replog-log/1", "now_ms": now, "topic": topic or {}, "logs": logs}


def differences(of: Document) -> list[str]:
    """Where the answer to a log file of either kind is not what it expects."""
    if is_eligible_document(of):
        return differences_of_choice(eligible_file_in(of), of)[1]
    return differences_of_steps(log_file_in(of), of)[1]


def asked(
    *, now: int = NOW, topic: Json | None = None, rules: Json | None = None, **logs: Json
) -> Json:
    """The answer; a ratio of 0.05 makes nearly everything eligible, as in Kafka's own tests."""
    settings = {RATIO: 0.05} | (topic or {})
    written = document(now=now, topic=settings, **logs) | {"rules": rules or {}}
    file = eligible_file_in(Document("", written))
    return eligible_answer(select_log(file.logs, now_ms=file.now_ms))
