"""The storage of one replica: records, batches, segments, the log and its leader epochs.

Pure: the standard library and msgspec, no clock, no randomness, no input or output.
"""

from sim.protocol.log.epochs import LeaderEpochCache
from sim.protocol.log.log import Log, LogConfig
from sim.protocol.log.producers import AbortedTransaction, LastRecord, ProducerStates
from sim.protocol.log.record import Batch, Control, Record, control_batch, data_batch
from sim.protocol.log.segment import Segment
