"""Batches of producers and their markers, and what a log knows after them."""

from sim.protocol.log import Batch, Control, Log, ProducerStates, Record, control_batch, data_batch


def sent(
    offset: int,
    sequence: int,
    *,
    records: int = 1,
    pid: int = 7,
    epoch: int = 0,
    transactional: bool = False,
    timestamp_ms: int = 0,
) -> Batch:
    """A batch of a producer."""
    made = tuple(Record(offset + index, "k", "v", timestamp_ms) for index in range(records))
    return data_batch(
        made,
        epoch=1,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def data(offset: int, pid: int = 7) -> Batch:
    """A batch in a transaction."""
    return sent(offset, offset, pid=pid, transactional=True)


def marker(
    offset: int,
    pid: int = 7,
    *,
    control: Control = Control.ABORT,
    epoch: int = 0,
    timestamp_ms: int = 0,
) -> Batch:
    """A transaction marker."""
    return control_batch(
        offset,
        epoch=1,
        control=control,
        timestamp_ms=timestamp_ms,
        producer_id=pid,
        producer_epoch=epoch,
    )


def noted(*batches: Batch) -> ProducerStates:
    """What is known after these batches."""
    states = ProducerStates()
    for batch in batches:
        states.note(batch)
    return states


def filled(*batches: Batch) -> Log:
    """A log of these batches, all below its high watermark."""
    log = Log()
    for batch in batches:
        log.append(batch, now_ms=0)
    log.high_watermark = log.log_end_offset
    return log
