"""A story's `hdr` is a version in the form that the rules read; `hdr_bytes` is taken as it is."""

from itertools import product

import pytest

from sim.errors import BadInput
from sim.rules import Rules
from tests.story.running import log, run_steps

FORMS = ("last_long", "first_varint", "unchecked_varint")


@pytest.mark.parametrize("form", [*FORMS, "last_bytes"])
@pytest.mark.parametrize("strategy", ["header", "offset", "timestamp"])
def test_versions_above_zero_decide_alike_in_every_form(form: str, strategy: str) -> None:
    steps = """
        elect 1 1
        append 1 high K hdr=9000000000 ts=5
        append 1 low K hdr=8 ts=4
        compact 1
        quiesce"""
    run = run_steps(steps, replicas=["1"], rules={"strategy": strategy, "header_form": form})

    assert log(run) == (["low@1"] if strategy == "offset" else ["high@0"])
    assert run.violated == []


@pytest.mark.parametrize(("form", "other"), list(product(FORMS, FORMS)))
def test_a_version_is_judged_by_what_was_meant(form: str, other: str) -> None:
    """Bytes of one form under the rules of another: the higher version should win."""
    high, low = ("0000000000000005", "0000000000000003") if form == "last_long" else ("0a", "06")
    steps = f"""
        elect 1 1
        append 1 high K hdr_bytes={high}
        append 1 low K hdr_bytes={low}
        compact 1
        quiesce"""
    run = run_steps(steps, replicas=["1"], rules={"strategy": "header", "header_form": other})

    alike = (form == "last_long") == (other == "last_long")
    assert log(run) == (["high@0"] if alike else ["low@1"])
    lost = "materialized-state-equivalence" in run.violated
    assert lost == (form == "last_long" and other != "last_long")


def test_a_header_may_be_there_twice() -> None:
    steps = """
        elect 1 1
        append 1 twice K hdr=9 hdr_bytes=0000000000000001
        append 1 once K hdr=5
        compact 1"""

    assert log(run_steps(steps, replicas=["1"], rules={"strategy": "header"})) == ["once@1"]


@pytest.mark.parametrize("given", ["0", "xy", "0a0"])
def test_bytes_are_pairs_of_hexadecimal_digits(given: str) -> None:
    with pytest.raises(BadInput, match=r"step 2 \(append\): hdr_bytes: .* hexadecimal digits"):
        run_steps(f"elect 1 1\nappend 1 a K hdr_bytes={given}", replicas=["1"])


def test_rules_default_to_the_form_of_the_kip() -> None:
    assert Rules().cleaner.header_form == "last_long"
