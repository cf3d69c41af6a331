"""`replog run`: one story or one timed scenario."""

import errno
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import sim
from sim import __version__
from sim.files.trace_file import trace_lines
from tests.cli.conftest import Replog

ROOT = Path(__file__).resolve().parents[2]
LOST_TAIL_TOLD = ROOT / "scenarios/kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml"
LOST_TAIL = ROOT / "scenarios/kip280/timed_lost_tail.yaml"

STORY = """\
format: replog-story/1
id: tiny
title: two replicas
replicas: [r1, r2]
steps:
  - elect r1 1
  - append r1 a A
  - sync r2 r1
  - quiesce
expect: {violated: []}
"""
TIMED = "format: replog-scenario/1\nduration_ms: 500\nworkload: [{at: 100, key: k, value: v}]\n"


@pytest.fixture
def story(here: Path) -> Path:
    """A story in which all is well."""
    (here / "tiny.yaml").write_text(STORY)
    return Path("tiny.yaml")


@pytest.fixture
def timed(here: Path) -> Path:
    """A timed scenario in which all is well."""
    (here / "timed.yaml").write_text(TIMED)
    return Path("timed.yaml")


def test_a_story_shows_what_every_replica_holds(replog: Replog, story: Path) -> None:
    answer = replog("run", story)

    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "tiny: two replicas"
    assert lines[2] == "  replica r2 (up): a@0  [start 0, high watermark 1, log end 1]"
    assert lines[-1].startswith("holds; expectation met; ")


def test_a_story_as_json_has_the_shape_of_the_story_format(replog: Replog) -> None:
    answer = replog("run", LOST_TAIL_TOLD, "--json")

    document = answer.document
    assert answer.status == 0
    assert list(document) == [
        "id",
        "verdict",
        "violated",
        "violations",
        "not_judged",
        "replicas",
        "leader",
        "idle_steps",
        "notes",
        "expectation_met",
        "differences",
    ]
    assert document["verdict"] == "violated"
    assert document["violated"][0] == "follower-position-sound"
    assert list(document["violations"][0]) == [
        "invariant",
        "step",
        "replica",
        "offset",
        "key",
        "sentence",
        "since",
    ]
    assert document["violations"][0]["step"] == 12
    assert list(document["replicas"]) == ["r1", "r2", "r3"]
    assert document["replicas"]["r3"] == {
        "log": ["a@0", "b@1", "c@2", "e@3"],
        "offsets": [0, 1, 2, 3],
        "leo": 4,
        "hw": 4,
        "start": 0,
        "state": {"A": "a", "B": "b", "C": "c", "E": "e"},
        "up": True,
    }
    assert (document["leader"], document["expectation_met"]) == ("r3", True)
    assert document["differences"] == []


def test_the_steps_of_a_story_that_did_nothing_are_told(replog: Replog, story: Path) -> None:
    story.write_text(STORY.replace("  - sync r2 r1", "  - fetch_snapshot  r2 r1\n  - sync r2 r1"))

    said = "step 3 did nothing: r2 fetches no snapshot"
    assert f"  {said}\nholds; " in replog("run", story).out
    document = replog("run", story, "--json").document
    assert (document["idle_steps"], document["notes"]) == ([3], [said])


def test_what_is_judged_at_rest_tells_since_when_it_was_so(replog: Replog) -> None:
    file = LOST_TAIL.parents[1] / "upgrade/timed_12_rollback_producers_first.yaml"
    first, table = replog("run", file, "--json").document["violations"][0], sim.run(file).violations

    assert (first["at_ms"], first["since"]) == (5_000, 2_866)
    assert (table.at_ms[0], table.since[0]) == (5_000, 2_866)


def test_a_timed_scenario_shows_violations_counters_and_the_digest(replog: Replog) -> None:
    answer = replog("run", LOST_TAIL)

    assert answer.status == 0
    assert "  no-offset-reuse (4" in answer.out
    assert "  seed 280, digest " in answer.out
    assert "  reached: record-removed, earlier-record-won, tail-removed" in answer.out
    assert "violated; expectation met; " in answer.out


def test_an_expectation_that_is_not_met_is_exit_status_1_and_a_command(
    replog: Replog, story: Path
) -> None:
    text = STORY.replace("violated: []", "violated: [no-offset-reuse], leader: r2")
    story.write_text(text)

    answer = replog("run", story)

    assert answer.status == 1
    assert "  not as expected: " in answer.out
    assert answer.out.splitlines()[-1] == "reproduce: replog run tiny.yaml"


def test_the_command_at_the_end_has_the_seed_and_the_rules(replog: Replog, here: Path) -> None:
    named = here / "with space.yaml"
    named.write_text(TIMED + "expect: {reached: [marker-removed]}\n")

    answer = replog("run", named.name, "--rule", "fix=empty_batch", "--seed", 5)

    assert answer.status == 1
    last = answer.out.splitlines()[-1]
    assert last == "reproduce: replog run 'with space.yaml' --seed=5 --rule=fix=empty_batch"


def test_a_rule_replaces_that_of_the_file(replog: Replog) -> None:
    answer = replog("run", LOST_TAIL, "--rule", "fix=empty_batch", "--json")

    document = answer.document
    assert answer.status == 1
    assert (document["rules"]["fix"], document["verdict"]) == ("empty_batch", "holds")
    assert "no-offset-reuse was not violated, but expected" in document["differences"]


def test_a_preset_may_be_given_as_a_rule(replog: Replog, timed: Path) -> None:
    given = ("--rule", "preset=kafka-2.8", "--rule", "fix=leo_retention")

    rules = replog("run", timed, *given, "--json").document["rules"]

    assert (rules["tombstone_removal"], rules["fix"]) == ("last_modified", "leo_retention")


def test_a_seed_replaces_that_of_the_file(replog: Replog, timed: Path) -> None:
    runs = [replog("run", timed, "--seed", seed, "--json").document for seed in (1, 2, 1)]

    assert [run["seed"] for run in runs] == [1, 2, 1]
    assert runs[0]["digest"] == runs[2]["digest"] != runs[1]["digest"]


def test_a_trace_says_first_which_run_it_is_of_and_last_what_the_run_found(
    replog: Replog, timed: Path
) -> None:
    rules = ("--rule", "preset=kip-280", "--rule", "fix=empty_batch", "--seed", 7)
    told = replog("run", timed, *rules, "--json", "--trace", "events.ndjson").document

    header, *rows, verdict = [
        json.loads(line) for line in Path("events.ndjson").read_text().splitlines()
    ]
    assert (header["format"], header["version"]) == ("replog-trace/1", __version__)
    assert (header["id"], header["seed"], header["kind"]) == (told["id"], 7, "scenario")
    assert (header["preset"], header["rules"]) == ("kip-280", told["rules"])
    assert (header["rules"]["fix"], header["commit"]) == ("empty_batch", "isr")
    assert header["strategy"] == {"name": "header", "header": "version", "header_form": "last_long"}
    assert header["topic"]["segment.bytes"] == 2048
    assert header["topic"]["compaction.strategy"] == "header"
    assert (verdict["event"], verdict["events"]) == ("Verdict", len(rows))
    assert (verdict["verdict"], verdict["digest"]) == (told["verdict"], told["digest"])


@pytest.mark.usefixtures("here")
def test_the_violations_of_a_run_are_in_the_last_line_of_its_trace(replog: Replog) -> None:
    told = replog("run", LOST_TAIL, "--json", "--trace", "events.ndjson").document

    verdict = json.loads(Path("events.ndjson").read_text().splitlines()[-1])
    assert verdict["verdict"] == "violated"
    assert [dict(row, at_ms=row["at"]) for row in verdict["violations"]] == [
        dict(row, at=row["at_ms"]) for row in told["violations"] if row.pop("since")
    ]


@pytest.mark.parametrize(
    ("problem", "status"), [(KeyboardInterrupt, 130), (OSError(errno.ENOSPC, "full"), 2)]
)
def test_a_trace_that_was_interrupted_leaves_nothing_behind(
    replog: Replog,
    timed: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: BaseException,
    status: int,
) -> None:
    def broken(header: object, events: object, verdict: object) -> Iterator[bytes]:
        yield from islice(trace_lines(header, events, verdict), 5)  # type: ignore[arg-type]
        raise problem

    monkeypatch.setattr("sim.files.trace_file.trace_lines", broken)

    assert replog("run", timed, "--trace", "events.ndjson").status == status
    assert [path.name for path in Path().iterdir()] == ["timed.yaml"]


def test_a_trace_may_go_to_standard_output(timed: Path) -> None:
    command = [sys.executable, "-m", "sim", "run", str(timed), "--trace", "/dev/stdout"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    first, *_ = printed.splitlines()
    assert json.loads(first)["format"] == "replog-trace/1"
    assert '"event":"Verdict"' in printed


def test_an_explanation_begins_with_what_decided_and_goes_back_from_the_violation(
    replog: Replog,
) -> None:
    answer = replog("run", LOST_TAIL, "--explain")

    story = answer.out.partition("why follower-position-sound was violated (times in ms")[2]
    order = [
        "no-offset-reuse",  # what else there is to tell
        "decided by: r1 removed A=d@3 (version 1) at 2,466 ms, beaten by A=a@0 (version 9)",
        "so: r1 recorded position 4 for r3 at 3,858 ms, whose log end offset was 3",
        "committed: A=d@3 (version 1) of epoch 1 at offset 3",
        "2466  r1 cleaned [",
        "r1 appended A=d@3",
    ]
    places = [story.index(words) for words in order]
    assert places == sorted(places)


def test_any_violated_invariant_is_explained_by_its_name(replog: Replog) -> None:
    named = replog("run", LOST_TAIL, "--explain", "no-offset-reuse", "--json").document
    assert named["explained"]["invariant"] == "no-offset-reuse"
    assert named["explained"]["facts"][0]["kind"] == "version"
    assert named["explanation"][0].split()[1] == "no-offset-reuse:"
    before = replog("run", "--explain", LOST_TAIL, "--json").document
    assert before["explained"]["invariant"] == "follower-position-sound"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("election-safety", "election-safety: is not violated here; violated: "),
        ("no-offset-reus", "there is no such invariant (did you mean 'no-offset-reuse'?)"),
    ],
)
def test_what_was_not_violated_is_not_explained(replog: Replog, name: str, what: str) -> None:
    answer = replog("run", LOST_TAIL, "--explain", name)

    assert answer.status == 2
    assert what in answer.err
    assert "no-offset-reuse" in answer.err


def test_an_explanation_is_in_the_json_only_when_asked_for(replog: Replog, story: Path) -> None:
    assert replog("run", story, "--explain", "--json").document["explanation"] == []
    assert replog("run", LOST_TAIL_TOLD, "--explain", "--json").document["explanation"]
    assert "explanation" not in replog("run", story, "--json").document


def test_a_bound_that_was_hit_is_inconclusive_and_exit_status_3(
    replog: Replog, timed: Path
) -> None:
    timed.write_text(TIMED + "limits: {max_events: 20}\nexpect: {reached: [record-removed]}\n")

    answer = replog("run", timed)

    assert answer.status == 3
    assert "inconclusive (limits.max_events: 20 simulator events were used)" in answer.out
    assert answer.out.splitlines()[-1] == "reproduce: replog run timed.yaml"


def test_a_scenario_that_expects_nothing_expects_every_invariant_to_hold(
    replog: Replog, here: Path
) -> None:
    text = LOST_TAIL.read_text().partition("expect:")[0]
    (here / "plain.yaml").write_text(text)

    answer = replog("run", "plain.yaml")

    assert answer.status == 1
    assert "no-offset-reuse was violated, not expected" in answer.out


def test_a_shipped_scenario_is_run_by_its_id_from_anywhere(replog: Replog, here: Path) -> None:
    answer = replog("run", "kip280_07", "--json")

    assert answer.status == 0
    assert answer.document["id"].startswith("kip280_07_")
    assert answer.err.startswith("replog: kip280_07: the one that comes with Replog, /")
    assert replog("run", "kip280_7").complaint.startswith("kip280_7: ")
