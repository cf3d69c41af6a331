"""What one replica stores: records, batches, segments, the log and its leader epochs.

Pure: standard library only, no clock, no randomness, no input or output.
"""

from sim.log.epochs import LeaderEpochCache
from sim.log.log import Log, LogConfig
from sim.log.producers import AbortedTransaction, LastRecord, ProducerStates
from sim.log.record import Batch, Control, Record, control_batch, data_batch
from sim.log.segment import Segment
