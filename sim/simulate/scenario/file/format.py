"""Fields of a scenario file, `format: replog-scenario/1`.

A scenario as people write it: Kafka's names for settings, one line for each send and fault. Editors
get a JSON Schema of these classes (`scenarios/schema.json`).
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from annotated_types import Ge
from pydantic import Discriminator, Field, Tag, create_model

from sim.files import limits
from sim.files.attribute_docs import attribute_docs
from sim.files.bounds import (
    BatchRecords,
    Changes,
    Count,
    Key,
    Milliseconds,
    Name,
    Period,
    Producer,
    Rounds,
    Seed,
    Skew,
    Tags,
    Text,
    Title,
    Transaction,
    Version,
    Within,
)
from sim.files.models import Part
from sim.simulate.faults import FAULTS, Fault
from sim.simulate.faults.fault import meaning_of
from sim.simulate.scenario.file.configs import BrokerSettings, Release, TopicSettings
from sim.simulate.scenario.generate.mix import WorkloadShape
from sim.simulate.scenario.model import Consumer, Expect, LateMessages, Limits, Network, Timers

Many = Within(limits.SENDS)
ManyFaults = Within(limits.FAULTS)
ManyChanges = Within(limits.PHASES)


class HeaderLine(Part):
    """A header of a record: `{version: 5}`, or `{bytes: 0a, name: other}`."""

    version: Version | None = None
    """Its number, encoded as the rules read it."""
    hex_bytes: Annotated[str, Field(pattern="^([0-9a-fA-F]{2})*$"), Within(limits.TEXT)] | None = (
        Field(None, alias="bytes")
    )
    """Or its bytes, as pairs of hexadecimal digits."""
    name: Name | None = None
    """Its name; default: that of the version header."""


class SendLine(Part):
    """A record that a producer writes: `{at: 100, key: k1, value: a, version: 5}`."""

    at: Milliseconds
    """Time in ms at which the producer sends it; it arrives later."""
    key: Key
    value: Text | None
    """null deletes the key."""
    version: Version | None = None
    """Value of the version header; without it the record has no such header."""
    headers: Annotated[tuple[HeaderLine, ...], Within(limits.HEADERS)] = ()
    """All its headers in order, such as two versions, instead of `version`."""
    timestamp: Milliseconds | None = None
    """Create time in ms; default: `at`."""
    producer: Producer = 1
    transaction: Annotated[
        int,
        Ge(0),
        Within(limits.TRANSACTIONS),
        Field(description="Number of the producer's transaction, from 1; 0 = none."),
    ] = 0
    flag: bool | None = None
    """The tombstone attribute of KIP-87 (`tombstone_mark: flag`); default: set if value is null."""


class EndLine(Part):
    """The end of a producer's transaction: `{at: 300, commit: 1}` or `{at: 300, abort: 1}`."""

    at: Milliseconds
    commit: Transaction | None = None
    """Number of the transaction to commit."""
    abort: Transaction | None = None
    """Number of the transaction to abort."""
    producer: Producer = 1


def _line_kind(line: Any) -> str:
    return "end" if isinstance(line, dict) and ("commit" in line or "abort" in line) else "send"


WorkloadLine = Annotated[
    Annotated[SendLine, Tag("send")] | Annotated[EndLine, Tag("end")], Discriminator(_line_kind)
]


class InstanceLine(Part):
    """A producer that is the next instance of another one: `{producer: 2, after: 1}`."""

    producer: Producer
    """The new instance, which begins with its first send and fences the one before (KIP-98)."""
    after: Producer
    """The one before, with the same `transactional.id`."""


class SendsWorkload(Part):
    """Sends line by line, with settings of the producers."""

    sends: Annotated[tuple[WorkloadLine, ...], Many]
    retry_ms: Period = 200
    """Time in ms after which a producer without an answer sends again."""
    retries: Count = 3
    idempotent: bool = True
    """True if the leader recognises a retry."""
    acks: Literal["all", "1"] = "all"
    """The moment of acknowledgement: when a batch is committed, or once the leader has it."""
    instances: Annotated[tuple[InstanceLine, ...], Many] = ()
    """Transactional producers that are the next instances of others."""


class TraceWorkload(Part):
    """Real changes from a file (`sim.files.changes`)."""

    trace: Name
    """Parquet or CSV file, relative to the scenario file."""
    batch_records: BatchRecords = 100
    """Number of changes in a batch."""
    interval_ms: Period = 5
    """Time in ms between two batches."""
    limit: Changes | None = None
    """Number of changes that are read; default: all."""


class RandomWorkload(Part):
    """Sends drawn from the scenario's seed."""

    random: WorkloadShape


def _workload_kind(workload: Any) -> str:
    if isinstance(workload, list):
        return "lines"
    if isinstance(workload, dict):
        for kind in ("trace", "random"):
            if kind in workload:
                return kind
    return "sends"


AnyWorkload = Annotated[
    Annotated[Annotated[tuple[WorkloadLine, ...], Many], Tag("lines")]
    | Annotated[SendsWorkload, Tag("sends")]
    | Annotated[TraceWorkload, Tag("trace")]
    | Annotated[RandomWorkload, Tag("random")],
    Discriminator(_workload_kind),
]


class ReplicaSettings(Part):
    """A replica with settings of its own."""

    name: Name
    clock_skew_ms: Skew = 0
    """Lead of the replica's own clock over simulated time, in ms."""
    cleaner_backoff_ms: Period | None = None
    """Pause of its cleaner in ms; null = it never cleans; default `log.cleaner.backoff.ms`."""
    tombstone_mark: Literal["null_value", "flag", "magic"] | None = None
    """Mark by which its cleaner recognises a tombstone (KIP-87); default: that of the rules."""
    software: Release | None = None
    """Its software: the release before KIP-87, or the one with it; default `broker.software`."""
    protocol_version: Release | None = Field(None, alias="inter.broker.protocol.version")
    """Version in which it fetches (KIP-87); default: that of `broker`, then of the software."""
    message_format_version: Release | None = Field(None, alias="log.message.format.version")
    """Format in which it stores records; default: that of `broker`, then of the software."""


def _named_kind(item: Any) -> str:
    return "name" if isinstance(item, str) else "fields"


def _list_kind(items: Any) -> str:
    return "count" if isinstance(items, int) else "list"


NamedReplica = Annotated[
    Annotated[Name, Tag("name")] | Annotated[ReplicaSettings, Tag("fields")],
    Discriminator(_named_kind),
]
AnyReplicas = Annotated[
    Annotated[Annotated[int, Ge(1), Within(limits.REPLICAS)], Tag("count")]
    | Annotated[
        Annotated[tuple[NamedReplica, ...], Field(min_length=1), Within(limits.REPLICAS)],
        Tag("list"),
    ],
    Discriminator(_list_kind),
]
NamedConsumer = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Consumer, Tag("fields")], Discriminator(_named_kind)
]
AnyConsumers = Annotated[
    Annotated[Annotated[int, Ge(0), Within(limits.CONSUMERS)], Tag("count")]
    | Annotated[Annotated[tuple[NamedConsumer, ...], Within(limits.CONSUMERS)], Tag("list")],
    Discriminator(_list_kind),
]


class FaultLine(Part):
    """A fault: `{at: 2000, crash: r2, for_ms: 1500}`. Exactly one kind, with its target.

    A target is a replica, or `leader` or `follower`: the replica in that role at the time.
    """

    at: Milliseconds
    for_ms: Period | None = None
    """Time in ms that it lasts."""
    pick: Count = 0
    """Place by name of the `follower` that is its target, or to which a `leader` hands over."""

    def named(self) -> list[tuple[type[Fault], str]]:
        """The kinds that are given, with their targets."""
        pairs = [(kind, getattr(self, name)) for name, kind in FAULTS.items()]
        return [(kind, target) for kind, target in pairs if target is not None]


def own_fields(kind: type[Fault]) -> dict[str, tuple[Any, Any]]:
    """Type, and default with description, of each field that not every kind of fault has."""
    hints = get_type_hints(kind, include_extras=True)
    docs: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-2]):
        docs |= attribute_docs(one)
    common = {field.name for field in fields(Fault)}
    return {
        field.name: (hints[field.name], Field(field.default, description=docs[field.name]))
        for field in fields(kind)
        if field.name not in common
    }


OWN_FIELDS = {name: own_fields(kind) for name, kind in FAULTS.items()}
"""Fields of a kind of fault that not every fault has, by the name of the kind."""


def _fault_fields() -> dict[str, Any]:
    """A field for each kind, with its target as value, and the own fields of the kinds."""
    found: dict[str, Any] = {
        name: (Name | None, Field(None, description=meaning_of(kind)))
        for name, kind in FAULTS.items()
    }
    for own in OWN_FIELDS.values():
        found |= own
    return found


if not TYPE_CHECKING:
    FaultLine = create_model("FaultLine", __base__=FaultLine, **_fault_fields())


class ChangeLine(Part):
    """A change of settings: `{at: 900, replica: r1, set: {strategy: header}}`.

    Or of clients: `{at: 900, producer: 1, versions: true}`, `{at: 900, consumer: c1, format: 3}`.
    """

    at: Milliseconds
    replica: Name | None = None
    """The broker it reaches; `all`: every broker, at that moment."""
    settings: dict[str, str | int | bool] | None = Field(None, alias="set")
    """Rules of the cleaner, or versions of the broker (KIP-87), with their new values."""
    producer: Literal["all"] | Producer | None = None
    """The producer that is restarted with new settings; `all`: every one."""
    versions: bool | None = None
    """True if the producer sends version headers from now on; at the start all do."""
    consumer: Name | None = None
    """The consumer that is restarted with new settings."""
    format: Literal[2, 3] | None = None
    """The client's version from now on (KIP-87); producers begin with 2, consumers as they say."""


class ScenarioFile(Part):
    """A scenario for `replog run` and `replog suite`."""

    format: Literal["replog-scenario/1"]
    id: Name | None = None
    """Default: the name of the file."""
    title: Title = ""
    source: Title = ""
    """Document, ticket or discussion it comes from."""
    tags: Tags = ()
    """Words to select it by: markers of pytest."""
    seed: Seed = 0
    """Seed of latencies, losses and timeouts, and of a random workload."""
    duration_ms: Period = 10_000
    """Simulated time before faults are healed and the end is judged."""
    rules: dict[str, str | int | bool] = Field(default_factory=dict)
    """Disputed behaviour; `preset` names a bundle. See `replog list rules`."""
    topic: TopicSettings = TopicSettings()
    broker: BrokerSettings = BrokerSettings()
    replicas: AnyReplicas = 3
    """Their number, their names, or their settings."""
    network: Network = Network()
    late_messages: LateMessages = LateMessages()
    timers: Timers = Timers()
    workload: AnyWorkload = ()
    consumers: AnyConsumers = 1
    """Their number, their names, or their settings."""
    faults: Annotated[tuple[FaultLine, ...], ManyFaults] = ()
    changes: Annotated[tuple[ChangeLine, ...], ManyChanges] = ()
    """Settings that change during the run, and reach replicas and producers one by one."""
    last_rounds: Rounds = 0
    """Number of rounds of cleaning when the cluster is at rest, `delete.retention.ms` apart."""
    expect: Expect = Expect()
    """Without it, every safety invariant is expected to hold."""
    limits: Limits = Limits()
