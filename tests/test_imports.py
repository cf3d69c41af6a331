"""What starts often imports no more than it needs, so that it starts quickly."""

from pathlib import Path

import pytest

from tests.commands import python

ROOT = Path(__file__).resolve().parent.parent
STORY = ROOT / "scenarios/kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml"
LOG = ROOT / "scenarios/kip280/log_late_version_azure.json"
TIMED = ROOT / "scenarios/kip280/timed_lost_tail.yaml"
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


@pytest.mark.parametrize(
    ("words", "needed", "others"),
    [
        (("run", STORY), "sim.simulate.story.driver", HEAVY | TIMES),
        (("run", TIMED), "sim.simulate.run.timed", HEAVY),
        (("clean", LOG), "sim.simulate.logfile.answer", HEAVY),
    ],
)
def test_a_command_loads_nothing_that_only_others_need(
    words: tuple[object, ...], needed: str, others: set[str]
) -> None:
    modules = loaded(COMMAND, *words)

    assert needed in modules
    assert modules & others == set()


@pytest.mark.parametrize(
    ("code", "needed", "others"),
    [
        (
            f"import sim; sim.run({str(STORY)!r}).explain()",
            "sim.simulate.story.driver",
            HEAVY | {"simpy", "pydantic"},
        ),
        ("import sim.simulate.story", "sim.simulate.story", HEAVY | TIMES | {"yaml"}),
        (
            (
                "import sim.simulate.scenario.file.load, sim.simulate.scenario.generate, "
                "sim.files.changes"
            ),
            "sim.simulate.scenario.file.load",
            TABLES | {"pyarrow", "simpy"},
        ),
        ("import sim.study.sweep.runner", "sim.study.sweep.runner", TABLES),
    ],
)
def test_a_part_of_the_package_needs_no_other(code: str, needed: str, others: set[str]) -> None:
    modules = loaded(code)

    assert needed in modules
    assert modules & others == set()


SWEEP = """
from pathlib import Path
from sim.study.sweep.work import Work
from tests.sweeps.fakes import plan, quick
from sim.study.sweep.plan import number_runs
work = Work(number_runs(plan(), count=2), quick)
work.write(range(2), Path(sys.argv[1]))
"""


def test_who_sweeps_needs_no_data_frame_but_for_what_arrow_imports(tmp_path: Path) -> None:
    assert TABLES & loaded(f"import sys\n{SWEEP}", tmp_path) <= {"pandas"}


def test_to_import_the_package_imports_nothing_but_its_version() -> None:
    ours = {name for name in loaded("import sim") if name.partition(".")[0] == "sim"}

    assert ours == {"sim", "sim.version"}
