"""Which record of a key a log file keeps by its version, as KIP-280 has it and as it was coded."""

import pytest

from tests.logfile.writer import Json, Writer, surviving


def versioned(preset: str, *versions: object, **rules: object) -> Writer:
    """One record of the same key in each segment, with these versions."""
    log = Writer({"preset": preset, "strategy": "header", "header_key": "version", **rules})
    for version in versions:
        log.data("k=v")
        headers = [] if version is None else [["version", version]]
        log.segments[-1]["batches"][-1]["records"][0]["headers"] = headers
        log.roll()
    return log


@pytest.mark.parametrize(
    ("versions", "kept"),
    [
        ((2, 1), [0]),
        ((1, 2), [1]),
        ((2, 2), [1]),
        ((None, 1), [1]),
        ((1, None), [0]),
        ((None, None), [1]),
        ((1, 0), [0]),
        ((0, None), [1]),
        ((-5, None), [1]),
        (({"hex": "80"}, {"hex": ""}), [1]),
        (({"hex": "0401"}, 1), [0]),
    ],
)
def test_pr_8103_reads_a_varint_above_0(versions: tuple[object, ...], kept: list[int]) -> None:
    log = versioned("kip-280-pr8103", *versions)
    log.clean()

    assert surviving(log.cleaned()[0]) == kept


@pytest.mark.parametrize(
    ("headers", "version"),
    [
        ([["version", 3], ["version", 9]], 3),
        ([["version", {"hex": ""}], ["version", 9]], 9),
        ([[" VerSion ", 3]], 3),
        ([["versions", 3]], -1),
    ],
)
def test_pr_8103_reads_the_first_header_that_is_loosely_named_so(
    headers: list[Json], version: int
) -> None:
    """Against a record of version 5, and one of version 1 before it."""
    log = versioned("kip-280-pr8103", 1, 5)
    log.data("k=v")
    log.segments[-1]["batches"][-1]["records"][0]["headers"] = headers
    log.roll()
    log.clean()

    assert surviving(log.cleaned()[0]) == ([2] if version >= 5 else [1])


@pytest.mark.parametrize(
    ("versions", "kept"),
    [
        ((2, 1), [0]),
        ((-5, None), [0]),
        ((-(2**63), 2**63 - 1), [1]),
        ((0, None), [0]),
        ((None, 0), [1]),
        ((7, {"hex": "80"}), [0]),
        (({"hex": "000000000000000700"}, -1), [1]),
        (("12345678", 1), [0]),
    ],
)
def test_kip_280_reads_eight_bytes_with_a_sign(
    versions: tuple[object, ...], kept: list[int]
) -> None:
    """Anything else is no version; a text stands for its UTF-8 bytes."""
    log = versioned("kip-280", *versions)
    log.clean()

    assert surviving(log.cleaned()[0]) == kept


def test_kip_280_does_not_fall_back_to_an_earlier_header() -> None:
    log = versioned("kip-280", 1)
    log.data("k=v")
    last = log.segments[-1]["batches"][-1]["records"][0]
    last["headers"] = [["version", 9], ["version", {"hex": "80"}]]
    log.roll()
    log.clean()

    assert surviving(log.cleaned()[0]) == [0]


def test_a_map_of_dirty_records_only_keeps_a_lower_version_beside_a_clean_higher_one() -> None:
    for preset, kept in (("kip-280-pr8103", [0, 1]), ("kip-280", [0])):
        log = versioned(preset, 2)
        log.clean()
        log.data("k=v")
        batch = log.steps[-1]["batches"][-1]
        batch["records"][0]["headers"] = [["version", 1]]
        log.roll()
        log.clean(1)

        assert surviving(log.cleaned()[-1]) == kept


def test_a_timestamp_of_minus_1_is_no_version() -> None:
    for first, second, kept in ((0, -1, [0]), (-1, -1, [1]), (5, 5, [1]), (6, 5, [0])):
        log = Writer({"preset": "kip-280", "strategy": "timestamp"})
        for timestamp in (first, second):
            log.data("k=v")
            log.segments[-1]["batches"][-1]["records"][0]["timestamp_ms"] = timestamp
        log.roll()
        log.clean()

        assert surviving(log.cleaned()[0]) == kept
