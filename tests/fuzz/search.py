"""Looks for cases with a fault, and makes the one it finds small."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, seed, settings

from tests.commands import ROOT
from tests.fuzz.case import Case
from tests.fuzz.mistakes import Cases, contents, readers, shipped
from tests.fuzz.running import judged, run_in
from tests.sweeps.fakes import plan_text

KEPT = ROOT / "build/fuzz"
PLAN = plan_text(
    count=6,
    seed=3,
    generate={"mix": "reference", "duration_ms": 3000},
    rules={"preset": "kip-280"},
    rule_sets=[{"fix": "none"}, {"fix": "leo_retention"}],
)


def mistaken() -> dict[str, Cases]:
    """What is tried on each reader; makes the sweep and the trace that some of it starts from."""
    with TemporaryDirectory(prefix="replog-fuzz-") as folder:
        home, place = Path(folder), Path(folder, "here")
        place.mkdir()
        story = shipped("*/*.yaml", "replog-story/1")[0]
        Case((), {"plan.yaml": PLAN.encode(), "story.yaml": story}).lay(place)
        for words in ("sweep plan.yaml --out swept --engine process", "run story.yaml --trace t"):
            assert run_in(place, words.split(), home).status == 0
        return dict(readers((place / "t").read_bytes(), contents(place / "swept")))


def tried(name: str, cases: Cases, *, number: int, examples: int) -> list[str]:
    """Faults of so many cases, the same for the same number; of the smallest case that has any.

    That case is kept in build/fuzz.
    """
    found: dict[str, list[str]] = {}

    @seed(number)
    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases)
    def search(case: Case) -> None:
        _, faults = judged(case)
        if faults:
            found[name] = [*faults, f"replog {case.argv}, kept in {_keep(name, case)}"]
        assert not faults

    with suppress(AssertionError):
        search()
    return found.get(name, [])


def _keep(name: str, case: Case) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{name.replace(' ', '_')}.txt"
    path.write_text(f"{case!r}\n")
    return path.relative_to(ROOT)
