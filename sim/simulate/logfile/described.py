"""A log as far as the cleaner's manager looks at it."""

from __future__ import annotations

from dataclasses import dataclass

from sim.protocol.compaction.eligibility import EligibilityConfig
from sim.protocol.log import Segment


@dataclass(frozen=True, slots=True)
class DescribedLog:
    """What decides whether a log is cleaned; offsets are exclusive ends but for the start.

    Attributes:
        config: When it is cleaned.
        segment_every_ms: In a schedule, so often the active segment is closed and the next one
            begins, of the size of the active one; None = nothing is written.
        survives: Share of the bytes that a pass leaves of what it reads.
        compacts: Whether it ever is cleaned: false = its `cleanup.policy` is `delete`.
    """

    config: EligibilityConfig
    segments: tuple[Segment, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    checkpoint: int | None
    in_progress: bool
    uncleanable: bool
    segment_every_ms: int | None = None
    survives: float = 1.0
    compacts: bool = True
