"""What is no invariant is not taken for one."""

import pytest

from sim.check import Checker
from sim.check.history import ClusterHistory
from sim.check.invariant import Invariant
from sim.check.registry import by_name
from sim.check.violation import RecordSeen, Violation
from sim.protocol.events import HighWatermarkMoved
from tests.check.events import RULES, cluster


def test_a_name_is_given_once() -> None:
    class Twin(Invariant):
        pass

    with pytest.raises(ValueError, match="two invariants 'twin'"):
        by_name([Twin, Twin])


def test_a_violation_has_evidence() -> None:
    class Bare(Invariant):
        says = "{replica} is wrong."

    with pytest.raises(TypeError, match="Bare reports a violation without evidence"):
        Bare(ClusterHistory(RULES), lambda *_: None).broken("r1")


def test_a_violation_keeps_values_and_its_sentence_is_made_of_them() -> None:
    seen = RecordSeen(7, 3, "k", "v\n", tombstone=False)
    found = Violation(
        "own", 5, "r1", 3, "k", "{replica} lacks {held} at {places}", "in no family",
        (("held", seen), ("places", (3, 4))), position=2,
    )  # fmt: skip

    assert found.value("held") is seen
    assert found.sentence == "r1 lacks k=v\\n (offset 3) at 3, 4"
    assert found._replace(evidence=(), says="a {brace} of a plugin").sentence.endswith(
        "of a plugin"
    )


def test_the_position_of_a_violation_is_that_of_the_event_that_showed_it() -> None:
    checker = Checker(RULES, ["hw-within-log"])
    mark = HighWatermarkMoved("r1", 5, leading=True)

    checker.on_all([(1, each) for each in [*cluster("r1"), mark, mark]])

    assert [(each.invariant, each.position) for each in checker.violations] == [
        ("hw-within-log", 2)
    ]
