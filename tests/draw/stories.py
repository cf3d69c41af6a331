"""Stories, and a long random run, for the tests of pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from msgspec.structs import replace as changed

from sim.diagnose.draw import DrawnCase
from sim.files.reading import document_in
from sim.protocol.events import Appended, Event
from sim.protocol.rules import Rules, rules_from
from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.story import load_story
from sim.simulate.story.format import story_in
from tests.commands import SCENARIOS

LOST_TAIL = "kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml"
FIXED_TAIL = "kip280/kip280_26_believed_position_hw_truncation_empty_batch.yaml"
LOST_MARKER = "transactions/txn_02_commit_marker_lost.yaml"
STORIES = sorted(
    path.relative_to(SCENARIOS).as_posix()
    for path in SCENARIOS.rglob("*.yaml")
    if "replog-story/1" in path.read_text(encoding="utf-8")
)


@cache
def story(path: str) -> Run:
    """A story of `scenarios/`."""
    return run_story(load_story(SCENARIOS / path))


def case(path: str, invariant: str | None = None) -> DrawnCase:
    """A story to be drawn at its first violation, or the first of an invariant, or at its end."""
    run = story(path)
    found = [each for each in run.violations if invariant in (None, each.invariant)]
    first = found[0] if found else None
    return DrawnCase(run, first)


def drawn_events(events: Sequence[tuple[int, Event]]) -> DrawnCase:
    """Events as they are, at their end."""
    return DrawnCase(replace(story(LOST_TAIL), events=events, violations=(), labels={}))


@cache
def four_replicas() -> DrawnCase:
    """Four replicas, of which one copies so much at once that the sentence is long."""
    names = ["r1", "r2", "r3", "r4"]
    appends = "".join(f"  - append r1 key-{number} value-{number}\n" for number in range(9))
    text = f"format: replog-story/1\nreplicas: [{', '.join(names)}]\nsteps:\n  - elect r1 1\n"
    steps = appends + "".join(f"  - fetch {name} r1\n" for name in names[1:]) + "  - elect r4 2\n"
    run = run_story(story_in(document_in(text + steps, Path("four.yaml")), default_id="four"))
    return DrawnCase(run)


def red(every: int, start: int = 0) -> Iterator[tuple[str, DrawnCase]]:
    """Of every so many stories of the repository those that violate something."""
    found = ((path, case(path)) for path in STORIES[start::every])
    return ((path, drawn) for path, drawn in found if drawn.violation is not None)


def holding(key: str, value: str) -> DrawnCase:
    """A log with a single record of a key and a value that no story may have."""
    events = story(LOST_TAIL).events
    place = next(n for n, (_, each) in enumerate(events) if isinstance(each, Appended))
    at, first = events[place]
    assert isinstance(first, Appended)
    batch = changed(first.batch, records=(changed(first.batch.records[0], key=key, value=value),))
    return drawn_events([*events[:place], (at, changed(first, batch=batch))])


@cache
def big_run() -> DrawnCase:
    """A random run of more than 3,000 events, as a sweep has them, with violations at its end."""
    values = {"preset": "kafka-4.0", "strategy": "header", "delete_retention_ms": "500"}
    rules: Rules = rules_from(values | {"fix": "none", "map_range": "full"}, where="test")
    mix = Mix(duration_ms=25_000, sends=(260, 310), replicas=(4, 4), keys=(10, 20), tail_hunts=1.0)
    scenario = generate(59, mix).with_rules(rules)
    run = run_scenario(scenario, keep_events=True)
    return DrawnCase(run, run.violations[0])
