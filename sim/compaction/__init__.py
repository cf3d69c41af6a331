"""What one cleaning pass does to the segments of one log; knows nothing of clusters.

Pure: standard library only, no clock, no randomness, no input or output.
"""

from sim.compaction.cleaner import clean
from sim.compaction.failures import PassFailed, UnreadableVersion
from sim.compaction.fixes import FIXES, Fix
from sim.compaction.fold import fold
from sim.compaction.offset_map import entry_bytes, map_capacity
from sim.compaction.plan import CleanerPolicy, Cleaning, CleaningPass, OffsetMap
from sim.compaction.strategies import STRATEGIES, Strategy, strategy_for, unmapped_version
from sim.compaction.tombstones import TOMBSTONE_MARKS, TOMBSTONE_REMOVALS, TombstoneRemoval
