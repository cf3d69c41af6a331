"""What a sweep stores of a violation says the same sentence, and nothing that others wrote runs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check.violation import RecordSeen, Value, Violation
from sim.errors import BadInput
from sim.study.sweep.evidence import LENGTH_MAX, sentence_of, stored

TEXTS = st.none() | st.text(st.characters(exclude_categories=()))
RECORDS = st.builds(
    RecordSeen, st.integers(), st.integers(), TEXTS, TEXTS, st.booleans(), TEXTS, label=TEXTS
)
VALUES = st.integers() | TEXTS | RECORDS | st.lists(st.integers()).map(tuple)
NAMES = ("old", "new", "at")


@st.composite
def violations(draw: st.DrawFn) -> Violation:
    evidence: dict[str, Value] = draw(st.dictionaries(st.sampled_from(NAMES), VALUES))
    known = ["{replica}", "{offset}", "{key}", "{{", "é", *(f"{{{name}}}" for name in evidence)]
    says = "".join(draw(st.lists(st.sampled_from(known))))
    return Violation("an-invariant", 7, "r1", 3, draw(TEXTS), says, evidence=(*evidence.items(),))


@given(violations())
def test_the_sentence_is_that_of_the_violation(found: Violation) -> None:
    text = stored(found)

    assert sentence_of(text) == found.sentence
    assert len(text) <= LENGTH_MAX or not found.evidence
    assert text.isascii()


@pytest.mark.parametrize(
    ("says", "evidence"),
    [
        ("took {ms:,} ms", (("ms", 1000),)),
        ("{part} of it", (("part", 0.5),)),
        ("{found.key} is gone", (("found", RecordSeen(1, 2, "K")),)),
        ("all of {found}", (("found", "x" * LENGTH_MAX),)),
    ],
)
def test_what_is_not_plain_is_stored_as_its_sentence(says: str, evidence: object) -> None:
    found = Violation("i", 7, None, None, None, says, evidence=evidence)  # type: ignore[arg-type]

    assert json.loads(stored(found)) == {"says": found.sentence}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        '{"values": {}}',
        '{"says": "{x.__class__}", "values": {"x": 1}}',
        '{"says": "{x:>999999999}", "values": {"x": 1}}',
        '{"says": "{x", "values": {"x": 1}}',
        '{"says": "{y}", "values": {"x": 1}}',
        '{"says": "{x}", "values": {"x": {"named": "one"}}}',
        '{"says": 1}',
    ],
)
def test_what_no_sweep_stores_is_one_line(text: str) -> None:
    with pytest.raises(BadInput, match=r"^evidence .*"):
        sentence_of(text)
