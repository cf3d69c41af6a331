"""Pairs of the law on what a coordinator serves."""

from sim.log import Batch
from sim.trace import CoordinatorAnswered, CoordinatorLoaded, Event, LeaderElected
from tests.check.events import RULES, appended, batch, cluster, committed, copied
from tests.check.pairs.handmade import HandMade

GROUP = RULES.with_values({"coordinator": "group"})
K0, K1, GONE, K2, J1 = (
    batch(0, "k"),
    batch(1, "k"),
    batch(1, "k", None),
    batch(2, "k", epoch=2),
    batch(1, "j"),
)
SAYS_NOTHING = CoordinatorAnswered("r2", 2, "client 1", "k", (), 2)
MORE = appended("r2", K2)[0]
SAYS_K0, SAYS_K1 = (SAYS_NOTHING._replace(records=one.records) for one in (K0, K1))


def _served(
    first: Batch, second: Batch, *events: Event, end: int = 2, high: int = 2
) -> list[Event]:
    """r1 commits up to `high`, r2 has up to `end` of it and leads epoch 2, then these."""
    batches = (first, second)
    return [
        *cluster("r1", "r2"),
        *appended("r1", *batches),
        copied("r2", "r1", 0, *batches[:end]),
        committed("r1", high),
        LeaderElected("r2", 2, end, ("r1", "r2"), ("r1", "r2")),
        *events,
    ]


SERVES_LOADED = [
    HandMade(
        "any record of the key will do",
        _served(K0, K1, SAYS_K0),
        _served(K0, K1, SAYS_K1),
        rules=GROUP,
    ),
    HandMade(
        "who has loaded nothing knows of nothing",
        _served(K0, K1, SAYS_NOTHING),
        _served(K0, K1, SAYS_NOTHING._replace(error="COORDINATOR_LOAD_IN_PROGRESS")),
        rules=GROUP,
    ),
    HandMade(
        "what was deleted may be told as long as a log holds it",
        _served(K0, GONE, SAYS_K0),
        _served(K0, GONE, SAYS_NOTHING),
        rules=GROUP,
    ),
    HandMade(
        "what the new leader has and was not committed has to be told",
        _served(K0, K1, SAYS_K0),
        _served(K0, K1, SAYS_K0, high=1),
        rules=GROUP,
    ),
    HandMade(
        "what an unclean election lost has to be told",
        _served(K0, K1, SAYS_K0),
        _served(K0, K1, SAYS_K0, end=1),
        rules=GROUP,
    ),
    HandMade(
        "only what was committed before may be told",
        _served(K0, K1, MORE, SAYS_K0),
        _served(K0, K1, MORE, SAYS_K0._replace(records=K2.records)),
        rules=GROUP,
    ),
    HandMade(
        "another key's record is an answer",
        _served(K0, J1, SAYS_NOTHING),
        _served(K0, J1, SAYS_K0),
        rules=GROUP,
    ),
    HandMade(
        "what it completes is up to it",
        _served(K0, GONE, CoordinatorLoaded("r2", 2, 2, 0, 2, 0, K0.records)),
        _served(K0, GONE, CoordinatorLoaded("r2", 2, 2, 0, 2, 0)),
        rules=GROUP.with_values({"coordinator": "transaction"}),
    ),
    HandMade(
        "a later epoch's coordinator may know less",
        _served(K0, K1, LeaderElected("r1", 3, 2, ("r1",), ("r1",)), SAYS_K0._replace(epoch=2)),
        _served(K0, K1, LeaderElected("r1", 3, 2, ("r1",), ("r1",)), SAYS_K1._replace(epoch=2)),
        rules=GROUP,
    ),
]

PAIRS = {"coordinator-serves-loaded": SERVES_LOADED}
