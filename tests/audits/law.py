"""Base of the audits that listen to events: an invariant of a plugin that makes its sentences."""

from __future__ import annotations

from typing import Any, ClassVar

from sim.check.plugged import events_by_method
from sim.check.violation import Value, Violation
from sim.plugins import Invariant

_RECORDS = {"record", "first", "other_record", "winner"}
"""Evidence that is a record, named by its uid."""


class Law(Invariant):
    """An invariant whose sentences are templates.

    Attributes:
        says: What happened, where a violation does not bring its own; names in braces are those of
            its evidence, or `replica`, `offset`, `key`.
        any_of: Classes of events that `any_event` takes.
    """

    in_stories = False
    says: ClassVar[str] = ""
    any_of: ClassVar[tuple[type, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Give it a method for each class of `any_of`."""
        for name, kind in events_by_method().items():
            if kind in cls.any_of and not hasattr(cls, name):
                setattr(cls, name, cls.any_event)

    def __init__(self, history: Any, report: Any) -> None:
        """Watch the events that `history` takes in."""
        super().__init__(history, report)
        self.replicas = history.replicas
        self.written = history.written
        self.committed = history.committed
        self.begin()

    def begin(self) -> None:
        """Make what is kept between events."""

    def any_event(self, event: Any) -> None:
        """Take an event of one of the classes of `any_of`."""

    def broken(
        self,
        replica: str | None,
        offset: int | None = None,
        key: str | None = None,
        says: str = "",
        /,
        **evidence: Value,
    ) -> None:
        """Report a violation with the values that decided."""
        shown = [
            (name, self.history.describe(value) if name in _RECORDS else value)
            for name, value in evidence.items()
        ]
        found = Violation(
            self.name, 0, replica, offset, key, says or self.says, evidence=tuple(shown)
        )
        self.violated(found.sentence, replica=replica, offset=offset, key=key)

    def broken_by(
        self,
        replica: str | None,
        uid: int,
        offset: int | None = None,
        says: str = "",
        /,
        **evidence: Value,
    ) -> None:
        """Report a violation about a record, at the offset that it was given."""
        known = self.written[uid]
        at = known.offset if offset is None else offset
        self.broken(replica, at, known.key, says, record=uid, **evidence)
