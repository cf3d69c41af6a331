"""Whatever happens to a file of a suite is that file's result; the others are run."""

from pathlib import Path

import pytest

from sim.study import suite
from sim.study.suite import BAD_INPUT, ERROR, CaseResult, collect, run_suite
from tests.suite.conftest import GOOD, Fill


def told(results: list[CaseResult]) -> dict[str, tuple[str, str | None]]:
    return {one.path.name: (one.verdict, one.reason) for one in results}


@pytest.mark.parametrize(
    ("raised", "verdict", "reason"),
    [
        (SystemExit(7), ERROR, "SystemExit"),
        (ZeroDivisionError("by zero"), ERROR, "ZeroDivisionError: by zero (test_many.py, line "),
        (MemoryError(), "inconclusive", "memory: none is left"),
        (RecursionError("deep"), ERROR, "RecursionError"),
    ],
)
def test_what_a_run_raises_is_the_result_of_that_file(
    fill: Fill,
    monkeypatch: pytest.MonkeyPatch,
    raised: BaseException,
    verdict: str,
    reason: str,
) -> None:
    def load(path: Path) -> suite.SuiteCase:
        if path.name == "b.yaml":
            raise raised
        return loaded(path)

    loaded = suite.load_case
    monkeypatch.setattr(suite, "load_case", load)

    folder = fill(dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), GOOD))

    results = list(run_suite(collect([folder])))

    assert [one.verdict for one in results] == ["holds", verdict, "holds"]
    assert (results[1].reason or "").startswith(reason)


def test_a_file_that_goes_while_a_suite_is_run_is_bad_input(fill: Fill) -> None:
    folder = fill({"a.yaml": GOOD, "b.yaml": GOOD})
    running = run_suite(collect([folder]))

    assert next(running).verdict == "holds"
    (folder / "b.yaml").unlink()
    assert told(list(running)) == {
        "b.yaml": (BAD_INPUT, "s/b.yaml: cannot be read: No such file or directory")
    }
