"""The leading process does not grow with the number of cases: nothing is as long as they are."""

from collections.abc import Generator, Iterable
from concurrent.futures import Future
from itertools import islice
from pathlib import Path

import pytest

from sim.sweeps.blocks import Block, BlockAnswer, Work
from sim.sweeps.counting import count_files
from sim.sweeps.engines.process import BLOCKS_IN_FLIGHT_PER_CORE, ProcessEngine
from sim.sweeps.manifest import Part
from sim.sweeps.parts import Parts, parts_there
from sim.sweeps.plan import number_runs
from sim.sweeps.runner import _answers, run_sweep
from sim.sweeps.storage import LocalStorage
from tests.sweeps.fakes import HereEngine, plan, quick

CASES = 10**9
"""The most there may be: a list of their blocks would take minutes, and GB."""
HUGE = Work(number_runs(plan(), count=CASES), quick, runs_per_second=1.0)


def answer_to(block: Block) -> BlockAnswer:
    return BlockAnswer(block, 0.0, b"", b"", b"", 0, 0)


class Ahead(HereEngine):
    """Takes a few blocks ahead, and answers the latest first, without simulating."""

    def answers(self, blocks: Iterable[Block]) -> Generator[BlockAnswer]:
        upcoming = iter(blocks)
        while some := list(islice(upcoming, 3)):
            yield from map(answer_to, reversed(some))


def test_blocks_are_made_as_an_engine_takes_them() -> None:
    answers = _answers(Ahead(HUGE), HUGE, (range(CASES),))

    found = [answer.block for answer in islice(answers, 30)]

    assert len(set(found)) == 30
    assert min(block.first for block in found) == 0


def test_a_block_that_is_not_answered_is_noticed() -> None:
    class Forgetful(HereEngine):
        def answers(self, blocks: Iterable[Block]) -> Generator[BlockAnswer]:
            yield from map(answer_to, list(blocks)[1:])

    work = Work(number_runs(plan(), count=100), quick, runs_per_second=1.0)
    with pytest.raises(AssertionError, match="1 blocks without an answer"):
        list(_answers(Forgetful(work), work, (range(100),)))


class Pool:
    """Ends what it was given first, one at a time; knows how much it had at once."""

    def __init__(self) -> None:
        self.most = self.open = 0

    def submit(self, _call: object, _work: Work, block: Block) -> Future[BlockAnswer]:
        self.open += 1
        self.most = max(self.most, self.open)
        found: Future[BlockAnswer] = Future()
        found.set_result(answer_to(block))
        return found

    def shutdown(self, **_: object) -> None:
        pass


def test_processes_have_a_few_blocks_each(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, engine = Pool(), ProcessEngine(HUGE)
    monkeypatch.setattr(engine, "warm_up", lambda: setattr(engine, "_pool", pool))
    answers = engine.answers(HUGE.blocks((range(CASES),), cores=2))

    for _ in islice(answers, 200):
        pool.open -= 1
    answers.close()

    assert 0 < pool.most <= BLOCKS_IN_FLIGHT_PER_CORE * engine.cores


class Bytes(bytes):
    """Content that knows how many others there are."""

    living = most = 0

    def __init__(self, *_: object) -> None:
        Bytes.living += 1
        Bytes.most = max(Bytes.most, Bytes.living)

    def __del__(self) -> None:
        Bytes.living -= 1


def test_tables_are_counted_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.sweeps.runner.ProcessEngine", HereEngine)
    run_sweep(plan(), out=tmp_path, engine="process", partitions=20, open_case=quick)
    read = Parts.read
    monkeypatch.setattr(Parts, "read", lambda parts, part: Bytes(read(parts, part)))

    counts = count_files(parts_there(LocalStorage(tmp_path)), number_runs(plan()))

    parts: list[Part] = parts_there(LocalStorage(tmp_path)).of("runs")
    assert len(parts) == 20
    assert sum(one.runs for one in counts.sums) > 0
    assert Bytes.most <= 4  # of each table one, and the next
