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
    compacts: bool = True
