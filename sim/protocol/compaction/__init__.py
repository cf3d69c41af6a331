"""The cleaning pass over the segments of a single log, without a cluster.

Pure: the standard library and msgspec, no clock, no randomness, no input or output.
"""

from sim.protocol.compaction.cleaner import clean, entry_bytes, map_capacity
from sim.protocol.compaction.fixes import FIXES, Fix
from sim.protocol.compaction.fold import fold
from sim.protocol.compaction.plan import CleanerPolicy, Cleaning, CleaningPass, OffsetMap
from sim.protocol.compaction.strategies import (
    STRATEGIES,
    PassFailed,
    Strategy,
    UnreadableVersion,
    strategy_for,
    unmapped_version,
)
from sim.protocol.compaction.tombstones import TOMBSTONE_MARKS, TOMBSTONE_REMOVALS, TombstoneRemoval
