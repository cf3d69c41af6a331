"""Mixes: the ranges from which random scenarios are drawn, section `generate` of a sweep plan.

Each scenario leaves out whole kinds of faults of its mix and gives the others very different
weights, because runs with a bit of everything find less than many lopsided ones (swarm testing:
Groce et al., ISSTA 2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from sim.files import limits
from sim.files.bounds import Count, Loss, Milliseconds, Period, Sends, Share, Within
from sim.files.document import unknown_value
from sim.files.models import refused
from sim.simulate.faults import FAULTS, Fault
from sim.simulate.faults.fault import meaning_of

Span = tuple[int, int]
"""From (inclusive) and to (exclusive), in ms."""


@dataclass(frozen=True, slots=True)
class WorkloadShape:
    """The shape of a random workload, `workload: {random: ...}` in a scenario file.

    Attributes:
        sends: Number of records written.
        keys: Number of keys, written to evenly, or (`hot`) mostly to a few.
        producers: Number of producers.
        delete_share: Share of sends that delete their key.
        late_share: Share of sends whose version and timestamp are behind the newest of their key.
        lateness_ms: Largest distance of such a timestamp from the newest, in ms.
        unversioned_share: Share of sends without version header.
        hot: Whether a few keys get most of the sends.
        late_tail: Chance that the last send before an idle phase, and of the run, loses to an
            earlier record.
        deleted_tail: Chance that it is a delete.
        burst_ms: Time in ms between two bursts of sends, so that batches have several records;
            0: no bursts.
        idle: Phases without sends, (from, to) in ms, in order.
        transactional: Number of the producers that are transactional.
        transaction_sends: Most sends of a transaction, but for those of the same ms.
        abort_share: Share of transactions that abort.
        idempotent: Whether the leader recognises a retry.
        acks: Acknowledgements that producers wait for.
        retry_ms: Time in ms after which a producer without an answer sends again.
        retries: Most retries of a send without an answer.
        deltas: Whether sends are increments, and deletes events that remove all keys of one of
            three brokers (`state_machine: deltas`).
    """

    sends: Sends = 150
    keys: Annotated[int, Ge(1), Within(limits.KEYS)] = 8
    producers: Annotated[int, Ge(1), Within(limits.PRODUCERS)] = 3
    delete_share: Share = 0.15
    late_share: Share = 0.2
    lateness_ms: Period = 1_000
    unversioned_share: Share = 0.05
    hot: bool = False
    late_tail: Share = 0.5
    deleted_tail: Share = 0.25
    burst_ms: Milliseconds = 0
    idle: Annotated[tuple[tuple[Milliseconds, Milliseconds], ...], Within(limits.PHASES)] = ()
    transactional: Annotated[int, Ge(0), Within(limits.PRODUCERS)] = 0
    transaction_sends: Annotated[int, Ge(1), Within(limits.TRANSACTIONS)] = 5
    abort_share: Share = 0.3
    idempotent: bool = True
    acks: Literal["all", "1"] = "all"
    retry_ms: Period = 200
    retries: Count = 3
    deltas: bool = False


Weight = Annotated[float, Ge(0), Within(limits.WEIGHT)]
_Replicas = Annotated[int, Ge(1), Within(limits.REPLICAS)]
_Sends = Annotated[int, Ge(0), Within(limits.SENDS)]
_Keys = Annotated[int, Ge(1), Within(limits.KEYS)]
_Producers = Annotated[int, Ge(1), Within(limits.PRODUCERS)]
_Consumers = Annotated[int, Ge(0), Within(limits.CONSUMERS)]
_Faults = Annotated[int, Ge(0), Within(limits.FAULTS)]
_Phases = Annotated[int, Ge(0), Within(limits.PHASES)]
Shares = tuple[Share, Share]
Times = tuple[Milliseconds, Milliseconds]

_CONFIG = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class Weights(BaseModel):
    """Frequency of each kind of fault, independent of the weights of the others; 0 = never.

    Weights with the sum 16, that of the defaults, give the number of faults in `Mix.faults`.
    """

    model_config = _CONFIG

    def of(self, kind: type[Fault]) -> float:
        """The weight of a kind; 0 for kinds that mixes do not have."""
        return getattr(self, kind.kind, 0.0)


if not TYPE_CHECKING:
    Weights = create_model(
        "Weights",
        __base__=Weights,
        __doc__=Weights.__doc__,
        **{
            name: (Weight, Field(kind.weight, description=meaning_of(kind)))
            for name, kind in FAULTS.items()
        },
    )


def _built_in(name: str) -> str:
    if BUILT_IN_MIXES and name not in BUILT_IN_MIXES:
        raise ValueError(unknown_value(name, BUILT_IN_MIXES, what="mix"))
    return name


class Mix(BaseModel):
    """Ranges, both ends included, and chances from which a scenario is drawn.

    In a file: the name of a built-in mix, or fields that differ from the built-in one that `mix`
    names (default `reference`).
    """

    model_config = _CONFIG

    mix: Annotated[str, AfterValidator(_built_in)] = "reference"
    """The built-in mix that the other fields start from."""
    duration_ms: Period = 10_000
    """Time in ms at which faults end; then the cluster heals and comes to rest."""
    replicas: tuple[_Replicas, _Replicas] = (3, 3)
    """Number of replicas at the start."""
    sends: tuple[_Sends, _Sends] = (80, 260)
    """Number of records that producers send."""
    keys: tuple[_Keys, _Keys] = (2, 12)
    """Number of keys."""
    producers: tuple[_Producers, _Producers] = (1, 3)
    """Number of producers."""
    consumers: tuple[_Consumers, _Consumers] = (1, 2)
    """Number of consumers."""
    faults: tuple[_Faults, _Faults] = (0, 8)
    """Approximate number of faults of a run: a number of this range is drawn for each run, and a
    kind of fault with weight w occurs w / 16 times that often on average. Targeted faults, and
    migrations back to replicas that were away, are added."""
    weights: Weights = Weights()
    """Frequency of each kind of fault; `replog list faults` has the kinds."""
    kind_off: Share = 0.5
    """Chance that a scenario has no fault of a kind; other scenarios have more of that kind, so
    that the mean stays. 1 = no fault of any kind."""
    tail_hunts: Share = 0.3
    """Chance of targeted faults in one idle phase: an outage, a roll, the return, and a migration
    to the replica that was away, in the order that endangers the tail of a log. Not where
    the outage, rolls or migrations have weight 0."""
    election_hunts: Share = 0.0
    """Chance of targeted faults by one of three scripts in which leaders follow each other while
    clients write: the leader is cut off, and its successor crashes once that ends; three leaders as
    in figure 8 of Raft; voters restart between the requests of two candidates."""
    disk_hunts: Share = 0.0
    """Chance of targeted faults in which a replica out of the in-sync set loses its disk, and the
    leader crashes or hands over within 400 ms of its return; in half of the cases messages from
    before still arrive."""
    mark_hunts: Share = 0.0
    """Chance of targeted faults in which replicas restart with an old high watermark, perhaps in
    the middle of a batch, and cannot reach the others while a snapshot may be due."""
    outage_ms: Times = (100, 6_000)
    """Duration of crashes, partitions and slowness; each order of magnitude is as likely."""
    delete_share: Shares = (0.0, 0.4)
    """Share of sends that delete their key."""
    late_share: Shares = (0.0, 0.5)
    """Share of sends whose version and timestamp are not the newest of their key."""
    lateness_ms: Times = (1, 4_000)
    """Largest distance of a late send's timestamp from the newest of its key."""
    header_mistakes: Share = 0.0
    """Chance that producers make mistakes with version headers: not above 0, twice, in capitals, no
    number (KIP-280; under every strategy)."""
    idle_phases: tuple[_Phases, _Phases] = (0, 3)
    """Number of phases without writes, in which the tail of the log can be cleaned."""
    idle_ms: Times = (800, 5_000)
    """Duration of an idle phase."""
    bursts: Share = 0.0
    """Chance that producers send many records at once, so that most batches have several."""
    transactional: Share = 0.25
    """Chance that a scenario has transactional producers."""
    not_idempotent: Share = 0.3
    """Chance that leaders do not recognise retries."""
    acks_one: Share = 0.0
    """Chance that batches are acknowledged as soon as the leader has them (`acks=1`)."""
    skewed_clocks: Share = 0.5
    """Chance that the replicas' clocks differ, by up to `clock_skew_ms`."""
    clock_skew_ms: Annotated[int, Ge(0), Within(limits.SKEW)] = 2_000
    """Largest difference of a clock from simulated time in ms."""
    lossy_network: Share = 0.3
    """Chance that the network loses messages."""
    loss: Shares = (0.001, 0.05)
    """Share of messages that a lossy network loses."""
    slow_link: Share = 0.2
    """Chance that one link is far slower than the others."""
    late_messages: Loss = 0.0
    """Share of the requests and answers of replicas and clients that are 20 to 3,000 ms late, often
    after the sender of the request has sent it again."""
    repeated_messages: Share = 0.0
    """Share of requests and answers that arrive a second time, 20 to 3,000 ms later."""
    cleaners: Share = 0.95
    """Chance, per replica, that its cleaner runs at all."""
    snapshots: Share = 0.0
    """Chance that replicas take snapshots and drop the prefix of their logs (KIP-630)."""
    topic_lags: Share = 0.3
    """Chance of a minimum, and of a maximum, compaction lag (KIP-58, KIP-354)."""
    small_maps: Share = 0.2
    """Chance that the cleaners' offset maps hold a few keys only, so that rounds are partial."""
    forgotten_producers: Share = 0.2
    """Chance that silent producers are forgotten within the run."""

    partial_partitions: Share = 0.0
    """Chance, per network partition, that it cuts its target off from one other replica only; both
    can reach all others and the controller."""
    small_fetches: Share = 0.0
    """Chance that followers copy a few batches at once, so that copying takes time."""
    read_committed: Share = 0.0
    """Chance, per consumer, that it reads committed."""
    ending_readers: Share = 0.0
    """Chance, per consumer, that it asks for the end offset first, and stops at that position."""
    last_rounds: Share = 0.0
    """Chance that, at rest, every log is rolled and cleaned three times, `delete.retention.ms`
    apart (which should be seconds), so that all removable records can go."""
    power_losses: Share = 0.0
    """Chance, per crash, that the machine loses power: the rule `flush` says what is lost."""
    power_failures: Share = 0.0
    """Chance that all replicas lose power at once, at some time of the run."""
    old_files: Share = 0.0
    """Chance, per crash, that a file is older than the log afterwards: the high watermark, the
    cleaner's checkpoint or the leader epochs."""
    cleaning_crashes: Share = 0.0
    """Chance, per crash, that it waits for the target's next cleaning pass, and happens after one
    of its operations on files."""
    retention: Share = 0.0
    """Chance that the topic deletes old segments as well as it compacts, by age, size or both; not
    in runs with snapshots, which replace the start of a log."""
    instances: Share = 0.0
    """Chance, if two or more producers write and one is transactional, that two are instances of
    one: from some moment on the second writes instead of the first, which is fenced and goes on for
    a while (KIP-98)."""
    long_transactions: Share = 0.0
    """Chance that transactions have up to 60 sends, so that they extend over many segments."""
    install_crashes: Share = 0.0
    """Chance, per outage of a replica, that it crashes while it installs the next snapshot: the
    snapshot is there, the log is not replaced yet."""
    flush_settings: Share = 0.0
    """Chance of `flush.messages`, and of `flush.ms`, for the rule `flush: interval`."""
    changed_settings: Share = 0.0
    """Chance that `delete.retention.ms` of one replica or of all becomes 1 to 5 s during the run,
    or passes look for winners in the whole log from then on (`map_range`)."""
    timestamp_limits: Share = 0.0
    """Chance that leaders refuse timestamps that are too far from their clocks."""
    deltas: Share = 0.0
    """Chance that records change numbers, up or down, for the rule `state_machine: deltas`."""
    mixed_clients: Share = 0.0
    """Chance that all brokers know the flag of KIP-87 while clients of both versions write and read
    for the whole run, and that deletes of new producers have values; the rules need
    `tombstone_mark: magic`, or `flag` for cleaners that go by the flag alone."""
    old_producers: Share = 0.5
    """With `mixed_clients`: chance, per producer, that it knows no flag, so its deletes have no
    value."""
    old_consumers: Share = 0.5
    """With `mixed_clients`: chance, per consumer, that it knows no flag."""

    @model_validator(mode="before")
    @classmethod
    def _start_from_built_in(cls, given: object) -> object:
        if isinstance(given, str):
            given = {"mix": given}
        if not isinstance(given, Mapping) or not BUILT_IN_MIXES:
            return given
        named = given.get("mix")  # `_built_in` reports a mix that does not exist
        known = isinstance(named, str) and named in BUILT_IN_MIXES
        base = BUILT_IN_MIXES[str(named) if known else "reference"]
        changed = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
        weights = changed.get("weights")
        if isinstance(weights, Mapping):
            changed["weights"] = {**base.weights.model_dump(), **weights}
        return {**{name: getattr(base, name) for name in cls.model_fields}, **changed}

    @model_validator(mode="after")
    def _ranges_ascend(self) -> Mix:
        wrong = {
            name: "the first number is above the second"
            for name, value in self
            if isinstance(value, tuple) and value[0] > value[1]
        }
        for name in ("outage_ms", "idle_ms", "lateness_ms"):
            if getattr(self, name)[0] < 1:
                wrong[name] = "starts at 1 or above"
        refused(((name,), text) for name, text in wrong.items())
        return self


BUILT_IN_MIXES: dict[str, Mix] = {}
"""Every built-in mix by name."""

MIX_PURPOSES = {
    "reference": "some of everything, ten seconds of three replicas: what reports are made of",
    "quiet": "few faults, a network that loses nothing: runs are short to read",
    "storm": "many faults of most kinds at once, unclean elections, heavy loss",
    "kraft": "snapshots in the place of the cleaner, as for a metadata log (KIP-630)",
}
"""Purpose of each built-in mix, by name."""

BUILT_IN_MIXES.update(
    {
        mix.mix: mix
        for mix in (
            Mix(),
            Mix(
                mix="quiet",
                sends=(20, 80),
                faults=(0, 2),
                idle_phases=(1, 3),
                lossy_network=0.0,
                slow_link=0.0,
            ),
            Mix(
                mix="storm",
                replicas=(3, 5),
                sends=(150, 400),
                faults=(5, 19),
                kind_off=0.3,
                lossy_network=0.7,
                loss=(0.01, 0.2),
                slow_link=0.5,
                transactional=0.5,
                weights=Weights.model_validate({"unclean_migrate": 1.25, "wipe": 1.25}),
            ),
            # The metadata log is not compacted by key: snapshots take the cleaner's place.
            Mix(mix="kraft", snapshots=1.0, cleaners=0.0, transactional=0.0, not_idempotent=0.0),
        )
    }
)
