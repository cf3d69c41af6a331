"""Answers questions: runs the cases of every cell on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from hashlib import blake2b

from sim.studies.phases import QUESTIONS
from sim.studies.phases.question import Found, Question
from sim.workers import follow_the_parent, usable_cores, worker_context

CASES_PER_TASK = 25


def measure(
    question: Question, *, cases: int, seed: int, report: Callable[[int], None] = lambda done: None
) -> Found:
    """Run `cases` cases in every cell; case n has the same seed in each.

    `report` is told how many runs are done. The answer does not depend on the number of cores.
    """
    tasks = [
        (cell, first, min(first + CASES_PER_TASK, cases))
        for cell in range(len(question.points))
        for first in range(0, cases, CASES_PER_TASK)
    ]
    counts = [0] * len(question.points)
    done = 0
    with ProcessPoolExecutor(
        max_workers=min(usable_cores(), len(tasks)),
        mp_context=worker_context(),
        initializer=follow_the_parent,
    ) as pool:
        pending: dict[Future[int], tuple[int, int]] = {
            pool.submit(_count, question.name, cell, first, end, seed): (cell, end - first)
            for cell, first, end in tasks
        }
        try:
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    cell, runs = pending.pop(future)
                    counts[cell] += future.result()
                    done += runs
                    report(done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Found(question, cases, seed, tuple(counts))


def case_seed(seed: int, case: int) -> int:
    """The seed of a case, in [0, 2**63)."""
    digest = blake2b(f"phases/{seed}/{case}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _count(name: str, cell: int, first: int, end: int, seed: int) -> int:
    question = QUESTIONS[name]
    point = question.points[cell]
    return sum(
        question.happened(question.scenario(case_seed(seed, case), point))
        for case in range(first, end)
    )
