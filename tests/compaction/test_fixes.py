"""What each fix keeps of the last offset of a round, or of the log (KIP-280, KAFKA-17076)."""

import pytest
from msgspec.structs import replace

from sim.plugins import register_fix
from sim.protocol.compaction import FIXES
from sim.protocol.compaction.fixes import Kept, Tail
from tests.compaction.logs import batch, record
from tests.plugins.plugged import forgetting_plugins


def test_what_each_fix_keeps() -> None:
    last = replace(batch(record(3, "k"), record(4, "k")), last_offset=6)
    tail = Tail(last, 5, 9)

    assert FIXES["none"].keeps(tail) == Kept()
    assert FIXES["leo_retention"].keeps(tail) == Kept(record_offset=4, batch_end=6)
    assert FIXES["leo_retention"].keeps(Tail(last.emptied(), 5, 9)) == Kept(batch_end=6)
    assert FIXES["empty_batch"].keeps(tail) == Kept(batch_end=4)
    assert FIXES["empty_batch_at_hw"].keeps(tail) == Kept(batch_end=8)
    assert FIXES["persisted_leo"].keeps(tail) == FIXES["gap_fetch"].keeps(tail) == Kept()


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_of_a_plugin_does_what_it_says_and_nothing_more(name: str) -> None:
    given = FIXES[name]._replace(name="mine", example="")
    with forgetting_plugins():
        register_fix(given)
        taken = FIXES["mine"]

    assert taken._replace(keeps=given.keeps) == given
