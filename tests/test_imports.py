"""What starts often imports no more than it needs, so that it starts quickly."""

import pytest

from tests.commands import ROOT, STORY, TIMED, python

LOG = ROOT / "scenarios/kip280/log_late_version_azure.json"
TABLES = {"pyspark", "pandas", "matplotlib"}
HEAVY = TABLES | {"scipy", "numpy", "pyarrow", "jinja2", "networkx"}
"""What only sweeps and reports need."""
TIMES = {
    "simpy",
    "pydantic",
    "annotated_types",
    "sim.simulate.run.timed",
    "sim.simulate.scenario.model",
}
"""What timed scenarios need."""
COMMAND = """
from sim.cli import main
try:
    main()
except SystemExit as ended:
    assert ended.code == 0, ended.code
"""


def loaded(code: str, *words: object) -> set[str]:
    """The modules of a process that has done this."""
    program = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    ended = python("-c", program, *words)
    assert ended.status == 0, ended.err
    return set(ended.err.split())


ANSWERED = f"import sim; sim.run({str(STORY)!r}).explain()"
GENERATED = (
    "import sim.simulate.scenario.file.load, sim.simulate.scenario.generate, sim.files.changes"
)


@pytest.mark.parametrize(
    ("code", "words", "needed", "others"),
    [
        (COMMAND, ("run", STORY), "sim.simulate.story.driver", HEAVY | TIMES),
        (COMMAND, ("run", TIMED), "sim.simulate.run.timed", HEAVY),
        (COMMAND, ("clean", LOG), "sim.simulate.logfile.answer", HEAVY),
        (ANSWERED, (), "sim.simulate.story.driver", HEAVY | {"simpy", "pydantic"}),
        ("import sim.simulate.story", (), "sim.simulate.story", HEAVY | TIMES | {"yaml"}),
        (GENERATED, (), "sim.simulate.scenario.file.load", TABLES | {"pyarrow", "simpy"}),
        ("import sim.study.sweep.runner", (), "sim.study.sweep.runner", TABLES),
    ],
)
def test_what_starts_loads_nothing_that_only_others_need(
    code: str, words: tuple[object, ...], needed: str, others: set[str]
) -> None:
    modules = loaded(code, *words)

    assert needed in modules
    assert modules & others == set()
