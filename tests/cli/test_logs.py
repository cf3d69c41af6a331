"""`replog clean` and `replog eligible`: what they print and how they end."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Replog
from tests.logfile.many_logs import document, log
from tests.logfile.writer import Writer

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("pyspark", "pandas", "matplotlib", "scipy", "numpy", "pyarrow", "jinja2")
DUE = 1_086_400_000


@pytest.fixture
def case(here: Path) -> Path:
    """A log file with a tombstone, a transaction and every kind of step."""
    written = Writer({"preset": "kafka-4.0"})
    written.data("k=1", "k")
    written.data("=x", producer=7)
    written.abort(7)
    written.roll()
    written.clean(now=1_000_000_000, map_capacity=9, bound=99)
    written.data("a=1")
    written.step("roll")
    written.step("reload")
    retry = {"op": "produce_duplicate", "producer_id": 7, "producer_epoch": 0, "keys": ["x"]}
    written.steps += [retry | {"base_sequence": 0}, retry | {"base_sequence": 1}]
    written.rescan()
    written.clean(0, offset_map={}, map_latest_offset=0)
    path = here / "case.json"
    path.write_text(json.dumps(written.document()))
    return Path("case.json")


def changed(path: Path, **fields: Any) -> Path:
    """The same file with other fields at the top."""
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return path


def test_a_step_is_told_as_a_table(replog: Replog, case: Path) -> None:
    answer = replog("clean", case)

    assert (answer.status, answer.err) == (0, "")
    first = answer.out.split("\n\n")[1].splitlines()
    assert first == [
        "step 1: clean [0, 99) at 1000000000 ms, map of at most 9 keys",
        "  upper bound 99 is no segment's base: rounded down to 4",
        "  read 4, kept 2, next dirty offset 4",
        "  removed 0 (by 1): superseded",
        "  removed 2: aborted",
        "  log end offset 4; last sequences 7: 0; aborted transactions 7: 2 to 3",
        "batch  segment   offsets kept  control  delete horizon  largest timestamp",
        f"0..1         0  1 (tombstone)        -      {DUE}                  -",
        "2..2         0          empty        -               -                  -",
        "3..3         0              3    ABORT               -                  -",
    ]


def test_every_kind_of_step_is_named(replog: Replog, case: Path) -> None:
    lines = replog("clean", case).out.splitlines()

    assert lines[0] == "rules: kafka-4.0"
    assert [line for line in lines if line.startswith("step ")][1:] == [
        "step 2: append 1 batch",
        "step 3: roll",
        "step 4: reload: producer state is derived from the log again",
        "step 5: producer 7, epoch 0, sends 1 record from sequence 0 again",
        "step 6: producer 7, epoch 0, sends 1 record from sequence 1 again",
        "step 7: clean [5, 5) at 0 ms, forced rescan with an empty map up to 4",
        "step 8: clean [0, 5) at 0 ms, with a given map up to 0",
    ]
    assert "  a duplicate of offsets 2 to 2" in lines
    assert "  no duplicate of any of the producer's last five batches" in lines


def test_a_rule_on_the_command_line_replaces_that_of_the_file(replog: Replog, case: Path) -> None:
    arguments = ("--rule", "delete_retention_ms=5", "--rule", "preset=kafka-3.8")
    batches = replog("clean", case, "--json", *arguments).document["steps"][0]["batches"]

    assert batches[0]["delete_horizon_ms"] == 1_000_000_005


def test_explain_tells_what_became_of_a_key(replog: Replog, case: Path) -> None:
    answer = replog("clean", case, "--explain", "k")

    assert (answer.status, answer.err) == (0, "")
    first, second = answer.out.splitlines()
    assert first == "offset 0 is a value of 'k'. Gone: step 1 removed it: superseded by 1."
    assert second.startswith("offset 1 is a tombstone of 'k'. Still here: its batch got the delete")
    explained = replog("clean", case, "--explain", "k", "--json").document["explanation"]
    assert explained[0] == {"offset": 0, "kind": "value", "fate": "gone", "sentence": first}


def test_check_compares_with_what_the_file_expects(replog: Replog, case: Path) -> None:
    claims: list[Any] = [{} for _ in range(8)]
    changed(case, expect=claims)
    assert replog("clean", case, "--check").out.endswith("\nexpectation met\n")

    claims[0]["surviving_keys"] = ["k"]
    changed(case, expect=claims)
    answer = replog("clean", case, "--check", "--rule", "fix=none")

    assert (answer.status, answer.err) == (1, "")
    assert answer.out.splitlines()[-3:] == [
        'not as expected: steps[0].surviving_keys is [], expected ["k"]',
        "expectation NOT met",
        "reproduce: replog clean case.json --rule=fix=none --check",
    ]
    as_json = replog("clean", case, "--check", "--json")
    assert (as_json.status, len(as_json.document["differences"])) == (1, 1)
    assert replog("clean", case).status == 0, "without --check it is ignored"


def test_eligible_tells_who_is_chosen_and_why(replog: Replog, here: Path) -> None:
    logs = {"tp0": log(0, 50, end=99, checkpoint=200), "tp1": log(0, end=0)}
    (here / "logs.json").write_text(json.dumps(document(**logs)))

    answer = replog("eligible", "logs.json")

    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[:3] == [
        "log  first dirty  uncleanable from  bound  clean  cleanable   ratio  delay ms  eligible",
        "tp0            0                50     50      0        100  1.0000         0       yes",
        "tp1            0                 0      0      0          0       -         0        no",
    ]
    assert lines[3].startswith("tp0: eligible: ratio 1 (100 of 100 bytes) is above ")
    assert lines[5].startswith("tp1: not eligible: 0 bytes, ")
    assert [lines[4], *lines[6:]] == [
        "tp0: the checkpoint 200 is no offset of the log, 0 to 99; it is rewritten",
        "selected: tp0",
        "max-compaction-delay-secs: 0",
    ]
    document_ = replog("eligible", "logs.json", "--json").document
    assert (document_["selected"], list(document_["logs"])) == ("tp0", ["tp0", "tp1"])


def test_a_suite_checks_log_files_like_scenarios(replog: Replog, here: Path, case: Path) -> None:
    wrong = here / "b_wrong.json"
    wrong.write_text(case.read_text())
    changed(wrong, expect=[{"log_end_offset": 7}] + [{}] * 7, id="w", title="a wrong one")
    (here / "c_choice.json").write_text(json.dumps(document() | {"expect": {"selected": "a"}}))
    (here / "d_bad.json").write_text('{"format": "replog-log/1", "steps": []}')

    answer = replog("suite", ".")

    assert answer.status == 2, "that of the worst"
    told = [
        line.rpartition("  ")[0] if line[:4] in ("ok  ", "FAIL") else line.strip()
        for line in answer.out.splitlines()
        if line
    ]
    assert told[:-1] == [
        "FAIL b_wrong.json",
        "FAIL c_choice.json",
        "ok   case.json",
        "FAIL d_bad.json",
        "b_wrong.json: a wrong one",
        "steps[0].log_end_offset is 4, expected 7",
        "reproduce: replog clean b_wrong.json --check",
        "c_choice.json",
        'selected is null, expected "a"',
        "reproduce: replog eligible c_choice.json --check",
        "d_bad.json",
        "bad input: d_bad.json: segments: missing (line 1)",
        "reproduce: replog clean d_bad.json --check",
    ]
    assert told[-1].startswith("1 as expected, 3 not; ")
