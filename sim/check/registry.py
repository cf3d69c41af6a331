"""The registry of invariants: every class of `sim.check.invariants` that is an `Invariant`.

An invariant subscribes to an event by having a method named after it: `on_appended` for
`Appended`. The method `on_any_of` takes every event of the classes `any_of`. It reports with
`self.violated(...)`; it never raises and never touches a replica.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Final

from sim import trace
from sim.check.families import NO_FAMILY
from sim.check.queries import HistoryQueries
from sim.check.violation import Evidence, RecordSeen, Value
from sim.errors import BadInput
from sim.invariant_plugins import events_by_method, registered_invariants


class Kind(StrEnum):
    """When an invariant is judged, and what its violation means."""

    SAFETY = "safety"
    """Must hold after every event."""

    AT_REST = "at rest"
    """Safety that is judged when the cluster is quiescent."""

    LIVENESS = "liveness"
    """Holds only under fairness: links healed, replicas up, cleaners running."""

    FINDING = "finding"
    """Worth knowing, no violation of the protocol's promises by itself; judged when asked for."""


Report = Callable[[str, str | None, int | None, str | None, str, Evidence, int | None], None]
"""Takes a violation: name, replica, offset, key, what it says, evidence, and when it began.

It knows the time and the event, and drops repeats."""

WRITTEN: Final = (trace.Appended, trace.Copied, trace.Pushed)
"""Events by which a log gets records."""

CUT: Final = (trace.Truncated, trace.ReplicaCrashed, trace.ReplicaRestarted)
"""Events after which a log may end lower; a restart may take the log end from the last record."""

PART_GONE: Final = (trace.PrefixDeleted, trace.LogStartMoved, trace.SegmentsLost)
"""Events by which a log loses a part that is not its end."""

REPLACED: Final = (
    trace.ReplicaWiped,
    trace.LogEmptied,
    trace.LogStartedAfresh,
    trace.SnapshotInstalled,
)
"""Events by which nothing stays of a log."""

_ANY: Final = "on_any_of"

Handler = Callable[[Any], None]
"""What takes an event of one class, such as a bound `on_...` method."""


class Invariant:
    """Base of all invariants.

    Class attributes:
        name: Kebab-case, as in files and reports.
        kind: When it is judged.
        source: Who asks for it.
        family: What kind of thing goes wrong (`sim.check.families`).
        family_by_cause: True where the facts about the key may say otherwise.
        explained_by: The question whose answer tells why it was broken (`sim.explain`); empty =
            whatever removal, cut or loss came last.
        in_stories: False for those that the story format does not evaluate by default.
        fairness: What has to hold for a violation to count; empty = nothing.
        unusual_only: True for one that no usual event can break (`sim.check.history_keeper` says
            which are usual): it is handed the others alone.
        says: What happened, where a violation does not bring its own: with the names of its
            evidence in braces.
        any_of: Classes of events that `on_any_of` takes.

    Attributes:
        queries: Questions about what happened.
        history: What happened so far; of it `replicas`, `written` and `committed`.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[Kind] = Kind.SAFETY
    source: ClassVar[str] = ""
    family: ClassVar[str] = NO_FAMILY
    family_by_cause: ClassVar[bool] = False
    explained_by: ClassVar[str] = ""
    in_stories: ClassVar[bool] = True
    fairness: ClassVar[str] = ""
    unusual_only: ClassVar[bool] = False
    says: ClassVar[str] = ""
    any_of: ClassVar[tuple[type, ...]] = ()

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """Watch the events that `queries.history` has taken in."""
        self.queries = queries
        self.history = queries.history
        self.replicas = self.history.replicas
        self.written = self.history.written
        self.committed = self.history.committed
        self._report = report
        self.begin()

    def begin(self) -> None:
        """Nothing has happened: make what it keeps between events."""

    def needs(self, event: type) -> bool:
        """Whether events of a class that it listens to can matter to it under the run's rules."""
        return True

    def counters(self) -> dict[str, int]:
        """What it counted beside violations, by name of the counter (`sim.check.counters`)."""
        return {}

    def describe(self, uid: int) -> RecordSeen:
        """A record, for evidence."""
        return self.queries.describe(uid)

    def violated(
        self,
        replica: str | None,
        offset: int | None = None,
        key: str | None = None,
        says: str = "",
        began: int | None = None,
        **evidence: Value,
    ) -> None:
        """Report a violation.

        Args:
            replica: Where, if at one replica.
            offset: The offset concerned, if one is.
            key: The key concerned, if one is.
            says: What happened, else `self.says`; names in braces are those of the evidence, or
                the three above.
            began: When it began to be so (ms, or a step), where that is known.
            evidence: The values that decided; there is at least one.
        """
        told = says or self.says
        self._report(self.name, replica, offset, key, told, tuple(evidence.items()), began)

    def violated_by(
        self,
        replica: str | None,
        uid: int,
        says: str = "",
        began: int | None = None,
        offset: int | None = None,
        **evidence: Value,
    ) -> None:
        """Report a violation about a record, which is evidence as `record`.

        The key is its key, the offset the one that it was given, unless another one is named.
        """
        known = self.written[uid]
        at = known.offset if offset is None else offset
        self.violated(replica, at, known.key, says, began, record=self.describe(uid), **evidence)


INVARIANTS: dict[str, type[Invariant]] = {}
"""Every invariant by name, once `discover` was called: ours in alphabetical order, then those of
plugins, which have the same shape (`sim.invariant_plugins`)."""

PLUGGED: dict[str, Any] = {}
"""Of those the ones of plugins: name -> class."""

LISTENERS: dict[type, list[tuple[str, str]]] = {}
"""Class of event -> the invariants that listen to it, by name, each with its method."""


def discover() -> None:
    """Find every invariant: in the modules of `sim.check.invariants`, and what plugins registered.

    Raises:
        BadInput: A plugin's has a name that is taken.
        ValueError: A name is missing or taken, or a method `on_...` is not named after an event.
    """
    _discover_own()
    plugged = registered_invariants()
    if plugged != PLUGGED:
        for name in PLUGGED:
            del INVARIANTS[name]
        PLUGGED.clear()
        for name, cls in plugged.items():
            _take_plugged(name, cls)


def _take_plugged(name: str, cls: Any) -> None:
    if name in INVARIANTS:
        raise BadInput(f"invariant {name!r}: the name is taken by one of Replog's own")
    INVARIANTS[name] = PLUGGED[name] = cls


@cache
def _discover_own() -> None:
    package = import_module("sim.check.invariants")
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(found.name)
    known: list[Any] = Invariant.__subclasses__()  # of a native class mypyc gives no `__module__`
    made = [cls for cls in known if cls.__module__.startswith(package.__name__)]
    for cls in sorted(made, key=lambda cls: cls.name):
        register(cls)


def register(cls: type[Invariant]) -> None:
    """Add an invariant.

    Raises:
        ValueError: Its name is missing or taken, or a method `on_...` is not named after an event.
    """
    if not cls.name:
        raise ValueError(f"invariant {cls.__name__} has no name")
    if cls.name in INVARIANTS:
        raise ValueError(f"invariant {cls.name!r} is registered twice")
    events, methods = events_by_method(), [name for name in dir(cls) if name.startswith("on_")]
    unknown = next((name for name in methods if name not in events and name != _ANY), None)
    if unknown is not None:
        raise ValueError(f"{cls.__name__}.{unknown}: there is no such event")
    listened = [(kind, _ANY) for kind in cls.any_of]
    for kind, method in [(events[one], one) for one in methods if one != _ANY] + listened:
        LISTENERS.setdefault(kind, []).append((cls.name, method))
    INVARIANTS[cls.name] = cls


def declared_family(name: str) -> str:
    """The family that an invariant names; `by cause` where facts decide.

    One that is not known, such as a plugin's or one of another version, is in none.
    """
    discover()
    known = INVARIANTS.get(name)
    if known is None:
        return NO_FAMILY
    return "by cause" if known.family_by_cause else known.family
