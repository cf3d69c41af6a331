"""Failures of a cleaning pass: the log is not cleaned again before a restart (KAFKA-7215)."""

from __future__ import annotations


class PassFailed(ValueError):
    """A pass cannot go on.

    Attributes:
        offset: Offset of the record, or base offset of the batch, that the pass could not clean.
    """

    def __init__(self, offset: int, why: str) -> None:
        """Fails at `offset`; `why` is a clause of the message that names the offset."""
        super().__init__(why)
        self.offset = offset


class UnreadableVersion(PassFailed):
    """A version header without a readable number."""

    def __init__(self, offset: int) -> None:
        """The header of the record at `offset` cannot be read."""
        super().__init__(
            offset, f"the version header at offset {offset} ends before its number does"
        )
