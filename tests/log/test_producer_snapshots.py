"""A truncation goes back to what was known of producers where a segment began."""

from sim.protocol.log import Log
from tests.log.producing import marker, sent


def rolled(*segments: list[int]) -> Log:
    """Batches of producer 7, outside transactions, at these offsets; a segment for each list."""
    log = Log()
    for number, offsets in enumerate(segments):
        if number:
            log.roll(now_ms=0)
        for offset in offsets:
            log.append(sent(offset, offset), now_ms=0)
    return log


def test_what_the_cleaner_took_is_still_known_after_a_truncation() -> None:
    log = rolled([0, 1], [2])
    del log.segments[0].batches[:]  # cleaned: the producer had a later batch then

    log.truncate_to(2)

    assert log.producers.last_sequences() == {7: 1}


def test_segments_that_are_joined_lose_the_snapshots_between_them() -> None:
    log = rolled([0], [1], [2])
    assert log.snapshots.offsets == [1, 2]

    log.replace_segments(2, log.segments[:1])

    assert log.snapshots.offsets == [2]


def test_a_transaction_decided_above_the_high_watermark_makes_a_truncation_look_for_producers() -> (
    None
):
    """ProducerStateManager.isEmpty asks for decisions that are not replicated, too."""
    for high_watermark, known in ((1, {7: 0}), (2, {})):
        log = Log()
        for each in (sent(0, 0, transactional=True), marker(1), sent(2, 2)):
            log.append(each, now_ms=0)
        log.high_watermark = high_watermark
        assert log.producers.expire(now_ms=10, after_ms=1) == (7,)

        log.truncate_to(2)

        assert log.producers.last_sequences() == known


def test_a_rescan_reads_from_the_log_start() -> None:
    log = rolled([0, 1], [2])
    log.log_start_offset = 3

    log.rescan_producers()

    assert log.producers.last_sequences() == {}
    log.log_start_offset = 2
    log.rescan_producers()
    assert log.producers.last_sequences() == {7: 2}
