"""The timetables of random upgrades; in which order their phases come, the rules say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rollout:
    """The timetable of an upgrade from `offset` to the strategy of the rules; all times in ms.

    `phases_ms`: when its three phases begin; which is which, `Scenario.upgrade.rollout` says. The
    others are counted from the beginning of their phase: new software of each replica, version
    headers of each producer, and when the topic's new strategy reaches each replica.
    `rollback_ms`: when the way back begins, if the order has one: the topic goes back to offset,
    or producers stop sending versions, in half the time that an upgrade of theirs takes.
    """

    phases_ms: tuple[int, int, int]
    brokers_ms: tuple[int, ...]
    producers_ms: tuple[int, ...]
    topic_ms: tuple[int, ...]
    rollback_ms: int


@dataclass(frozen=True, slots=True)
class FlagRollout:
    """The timetable of an upgrade from null values to the tombstone flag; all times in ms.

    `phases_ms`: when its five phases begin; `Scenario.upgrade.flag_rollout` says which is which.
    The others are counted from the beginning of their phase: software, inter-broker protocol and
    message format of each replica, and the new version of each producer and of each consumer, by
    their order in the scenario. `taken_back_ms`: when all of it is taken back, if the order is
    `taken_back`: clients at once, brokers one by one as they got the software.
    """

    phases_ms: tuple[int, int, int, int, int]
    software_ms: tuple[int, ...]
    protocol_ms: tuple[int, ...]
    format_ms: tuple[int, ...]
    producers_ms: tuple[int, ...]
    consumers_ms: tuple[int, ...]
    taken_back_ms: int
