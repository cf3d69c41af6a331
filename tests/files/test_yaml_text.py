"""A file means the same to every reader, or it is refused with the line to mend."""

import pytest

from sim.errors import BadInput
from sim.files.yaml_text import parse_yaml

FILE = "some.yaml"


def test_every_value_knows_its_line() -> None:
    document = parse_yaml("a: 1\nb:\n  - x\n  - c: 2\n", FILE)

    assert document.data == {"a": 1, "b": ["x", {"c": 2}]}
    assert document.line_of(("a",)) == 1
    assert document.line_of(("b", 1, "c")) == 4
    assert document.line_of(("b", 1, "not there")) == 4


def test_an_empty_file_is_null_in_its_first_line() -> None:
    document = parse_yaml("# nothing\n", FILE)

    assert (document.data, document.line_of(())) == (None, 1)


@pytest.mark.parametrize("word", ["on", "No", "YES", "off", "True", "NULL"])
def test_a_word_that_yaml_versions_read_differently_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match=rf"^some.yaml:2: plain {word} is ambiguous"):
        parse_yaml(f"a: 1\nb: {word}\n", FILE)


@pytest.mark.parametrize(
    "word", ["012", "1e3", "1_000", "0x10", "1:30", ".inf", "-.5", "1.", "0b1"]
)
def test_a_number_that_yaml_versions_read_differently_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match=r"^some.yaml:1: plain .* is not the same number"):
        parse_yaml(f"a: {word}\n", FILE)


@pytest.mark.parametrize("word", ["on", "012", "1e3", "null", "2024-01-01"])
def test_a_quoted_word_is_text(word: str) -> None:
    assert parse_yaml(f"a: '{word}'\n", FILE).data == {"a": word}


@pytest.mark.parametrize("word", ["2024-01-01", "v1.2.3", "k1", "a/b.c", "12ab", "nothing"])
def test_plain_text_stays_text(word: str) -> None:
    assert parse_yaml(f"a: {word}\n", FILE).data == {"a": word}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1\nb: 2\na: 3\n", "some.yaml:3: a: given twice, first in line 1"),
        ("a:\n  - 1\n  - {b: 1, b: 2}\n", "some.yaml:3: a[1].b: given twice, first in line 3"),
        ("a: [1\n", "some.yaml:2: is not YAML: did not find expected ',' or ']'"),
        (
            "a: 1\n---\nb: 2\n",
            "some.yaml:2: a second document starts here; one per file is allowed",
        ),
        ("x: &x {a: 1}\ny: {<<: *x}\n", "some.yaml:2: merge keys (<<) are not allowed"),
        ("a: !!python/object:os.system x\n", "some.yaml:1: tags are not allowed"),
        ("a: &a [*a]\n", "some.yaml:1: nested deeper than 64 levels"),
        ("? [1]\n: 2\n", "some.yaml:1: a key must be a plain word"),
        ("a: " + "[" * 100_000, "some.yaml:1: nested deeper than 64 levels"),
        ("a: ä\nb: \x01\n", "some.yaml:2: is not YAML: unacceptable character #x0001: control"),
        ("a: 1\nb: \ud83d\n", "some.yaml:2: half a character (a lone surrogate)"),
        ("a: *x", "some.yaml:1: an alias has no anchor before it"),
        ("a: !" + "x" * 1_000 + " 1", f"some.yaml:1: tags are not allowed: !{'x' * 59}…"),
        ("a: " + "9" * 1_000, f"some.yaml:1: plain {'9' * 60}… is not the same number"),
        ("k" * 500 + ": 1\n" + "k" * 500 + ": 2", f"some.yaml:2: {'k' * 100}…: given twice"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_yaml(text, FILE)

    assert str(caught.value).startswith(complaint)


def test_aliases_repeat_a_value() -> None:
    document = parse_yaml("a: &x {k: 1}\nb: [*x, *x]\n", FILE)

    assert document.data == {"a": {"k": 1}, "b": [{"k": 1}, {"k": 1}]}


def test_aliases_cannot_blow_up_a_small_file() -> None:
    lines = ["x0: &x0 [0, 0, 0, 0, 0, 0, 0, 0]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 8)}]" for n in range(1, 9)]

    with pytest.raises(BadInput, match="more than 1000000 values in one file"):
        parse_yaml("\n".join(lines), FILE)
