"""What `import sim` offers: what it costs, what it lists, and that its examples run."""

import doctest
import inspect
import pydoc

import pytest

import sim
from sim.api import answers, failures, runs, scenarios
from sim.simulate.run import value
from tests.commands import ROOT


def test_a_script_that_sweeps_needs_no_guard_against_being_run_by_its_workers(
    printed_and_swept: tuple[str, sim.Sweep],
) -> None:
    assert printed_and_swept[0] == "run once: TestResults(failed=0, attempted=4)\n"


def test_every_name_of_the_facade_is_there_listed_and_documented() -> None:
    namespace: dict[str, object] = {}
    exec("from sim import *", namespace)  # noqa: S102 - a star import is wanted inside a function

    assert set(sim.__all__) <= namespace.keys()
    assert dir(sim) == sorted(sim.__all__)
    text = pydoc.plain(pydoc.render_doc(sim))
    for name in sim.__all__:
        assert name == "__version__" or name in text
        assert name == "__version__" or inspect.getdoc(getattr(sim, name))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sweeep'"):
        _ = sim.sweeep  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "module",
    [sim, scenarios, runs, failures, value, answers],
    ids=lambda module: module.__name__,
)
def test_the_examples_run(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    tests = doctest.DocTestFinder(exclude_empty=True).find(module, globs={})
    examples = [test for test in tests if test.examples]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        runner.run(test)

    assert runner.failures == 0
    assert examples or module in (failures, value, answers)
