"""Mixes: from which ranges random scenarios are drawn. A sweep plan's `generate` section is one.

A mix says what may happen; each scenario then turns whole kinds of faults off and gives the others
very different weights, because a run with a bit of everything finds less than many lopsided ones
(swarm testing: Groce et al., ISSTA 2012).
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
    """Shape of a random workload; a scenario file's `workload: {random: ...}`.

    Attributes:
        sends: Number of records written.
        keys: Number of keys, written to evenly, or (`hot`) mostly to a few.
        producers: They number from 1.
        delete_share: Share of sends that delete their key.
        late_share: Share of sends whose version and timestamp are behind the newest of their key.
        lateness_ms: How far behind at most.
        unversioned_share: Share of sends without version header.
        hot: Whether a few keys get most of the sends.
        late_tail: Chance that the last send before an idle phase loses to an earlier record.
        deleted_tail: Chance that it is a delete.
        burst_ms: Sends come together, every so many ms, so that batches have more than one record;
            0 = each for itself.
        idle: Phases without sends, (from, to) in ms, in order.
        transactional: How many of the producers are transactional.
        transaction_sends: Sends per transaction, at most.
        abort_share: Share of transactions that abort.
        idempotent: Whether the leader recognises a retry.
        acks: Whose acknowledgements producers wait for.
        retry_ms: Pause before a retry.
        retries: How often an unanswered send is repeated.
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

    Weights that add up to 16, as these do, give as many faults on average as `Mix.faults` says.
    """

    model_config = _CONFIG

    def of(self, kind: type[Fault]) -> float:
        """The weight of a kind; what no mix can ask for has none."""
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
    """When faults end; then the cluster heals and comes to rest."""
    replicas: tuple[_Replicas, _Replicas] = (3, 3)
    """How many replicas there are at the start."""
    sends: tuple[_Sends, _Sends] = (80, 260)
    """How many records producers send."""
    keys: tuple[_Keys, _Keys] = (2, 12)
    """How many keys they have."""
    producers: tuple[_Producers, _Producers] = (1, 3)
    """How many producers there are."""
    consumers: tuple[_Consumers, _Consumers] = (1, 2)
    """How many consumers there are."""
    faults: tuple[_Faults, _Faults] = (0, 8)
    """About how many faults a run has: a number of this range is drawn for each run, and a kind of
    fault with weight w occurs on average w / 16 times that often. Hunts and migrations back to who
    was away come on top."""
    weights: Weights = Weights()
    """How often each kind of fault occurs; `replog list faults` has them."""
    kind_off: Share = 0.5
    """Chance that a scenario does without a kind of fault altogether; the others then have so many
    more of it that the mean stays. 1 = no fault of any kind."""
    tail_hunts: Share = 0.3
    """Chance that, on top, one idle phase sees an outage, a roll, the return and a migration to who
    was away, in this order: the one that endangers the tail of a log, and rare by itself. There is
    none by an outage whose weight is 0."""
    election_hunts: Share = 0.0
    """Chance that, on top, one of three scripts makes leaders follow on each other while clients
    write: the leader is cut off, and its successor dies when it returns; three leaders as in figure
    8 of Raft; voters restart between the requests of two candidates."""
    disk_hunts: Share = 0.0
    """Chance that, on top, a replica out of the in-sync set loses its disk, and the leader crashes
    or hands over within 400 ms; half of the time messages to its life before are on their way."""
    outage_ms: Times = (100, 6_000)
    """How long crashes, partitions and slowness last; short ones are as likely as long ones."""
    delete_share: Shares = (0.0, 0.4)
    """Share of sends that delete their key."""
    late_share: Shares = (0.0, 0.5)
    """Share of sends whose version and timestamp are not the newest of their key."""
    lateness_ms: Times = (1, 4_000)
    """How much older the timestamps of such sends are."""
    header_mistakes: Share = 0.0
    """Chance that producers make mistakes with version headers: not above 0, twice, in capitals, no
    number. (KIP-280; whatever the strategy is, the headers are there.)"""
    idle_phases: tuple[_Phases, _Phases] = (0, 3)
    """Phases without writes, so that the tail of the log can be cleaned."""
    idle_ms: Times = (800, 5_000)
    """How long such a phase lasts."""
    bursts: Share = 0.0
    """Chance that producers send many records at once, so that most batches have several."""
    transactional: Share = 0.25
    """Chance that a scenario has transactional producers."""
    not_idempotent: Share = 0.3
    """Chance that the leader of a scenario does not recognise a retry."""
    acks_one: Share = 0.0
    """Chance that producers are told as soon as the leader has their batches (`acks=1`)."""
    skewed_clocks: Share = 0.5
    """Chance that the replicas' clocks differ, by up to `clock_skew_ms`."""
    clock_skew_ms: Annotated[int, Ge(0), Within(limits.SKEW)] = 2_000
    """By how much clocks differ at most."""
    lossy_network: Share = 0.3
    """Chance that the network loses messages."""
    loss: Shares = (0.001, 0.05)
    """Share of messages that such a network loses."""
    slow_link: Share = 0.2
    """Chance that one link is far slower than the others."""
    late_messages: Loss = 0.0
    """Share of the requests and answers of replicas and clients that come 20 to 3,000 ms late, so
    often after who asked has given up and asked again."""
    repeated_messages: Share = 0.0
    """Share of them that arrive a second time, 20 to 3,000 ms later."""
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
    """Chance, per partition, that it is between its target and one other replica alone: all others,
    and the controller, hear both."""
    small_fetches: Share = 0.0
    """Chance that followers copy a few batches at once, so that a copy takes its time."""
    read_committed: Share = 0.0
    """Chance, per consumer, that it reads committed."""
    ending_readers: Share = 0.0
    """Chance, per consumer, that it asks for the end first, and stops there by its position."""
    last_rounds: Share = 0.0
    """Chance that, at rest, every log is rolled and cleaned three times, `delete.retention.ms`
    apart, which should be seconds: so what has to go at last can go."""
    power_losses: Share = 0.0
    """Chance, per crash, that the machine loses power: the rule `flush` says what is lost."""
    power_failures: Share = 0.0
    """Chance that all replicas lose power at once, at some time of the run."""
    old_files: Share = 0.0
    """Chance, per crash, that what is written beside the log is older than the log after it: the
    high watermark, the cleaner's checkpoint or the leader epochs."""
    cleaning_crashes: Share = 0.0
    """Chance, per crash, that it waits for the target's next cleaning pass, and comes after any one
    of the pass's operations on files."""
    retention: Share = 0.0
    """Chance that the topic deletes old segments as well as it compacts, by age, size or both; not
    in runs with snapshots, which take the place of a log's beginning."""
    instances: Share = 0.0
    """Chance that the run has two instances of one transactional producer: from some moment on the
    second one writes in the place of the first, which is fenced and goes on for a while (KIP-98).
    """
    long_transactions: Share = 0.0
    """Chance that transactions are of up to 60 sends, so that they reach over many segments."""
    install_crashes: Share = 0.0
    """Chance, per outage of a replica, that it crashes in the middle of the next snapshot that it
    fetches after that: the snapshot has its name, the log is as it was."""
    flush_settings: Share = 0.0
    """Chance of `flush.messages`, and of `flush.ms`, for the rule `flush: interval`."""
    mixed_clients: Share = 0.0
    """Chance that all brokers know the flag of KIP-87 while clients of both versions write and read
    for the whole run, and that deletes of new producers say something; the rules need
    `tombstone_mark: magic` for it, or `flag` for cleaners that know nothing else."""
    old_producers: Share = 0.5
    """With `mixed_clients`: chance, per producer, that it has no flag, and no value in a delete."""
    old_consumers: Share = 0.5
    """With `mixed_clients`: chance, per consumer, that it knows no flag."""

    @model_validator(mode="before")
    @classmethod
    def _start_from_built_in(cls, given: object) -> object:
        if isinstance(given, str):
            given = {"mix": given}
        if not isinstance(given, Mapping) or not BUILT_IN_MIXES:
            return given
        named = given.get("mix")  # another field says so, if there is no such mix
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

MIXES_TOLD = {
    "reference": "some of everything, ten seconds of three replicas: what reports are made of",
    "quiet": "few faults, a network that loses nothing: runs are short to read",
    "storm": "many faults of most kinds at once, unclean elections, heavy loss",
    "kraft": "snapshots in the place of the cleaner, as for a metadata log (KIP-630)",
}
"""What each is for."""

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
