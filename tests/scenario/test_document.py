"""A file means the same to every reader, or it is refused with the line to mend."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.scenario.file.document import parse_document, read_document

FILE = Path("some.yaml")


def test_every_value_knows_its_line() -> None:
    document = parse_document("a: 1\nb:\n  - x\n  - c: 2\n", FILE)

    assert document.root.data() == {"a": 1, "b": ["x", {"c": 2}]}
    assert document.line_of(("a",)) == 1
    assert document.line_of(("b", 1, "c")) == 4
    assert document.line_of(("b", 1, "not there")) == 4


def test_json_is_accepted_with_its_lines() -> None:
    document = parse_document('{\n\t"a": null,\n\t"b": [true, -1.5]\n}\n', FILE)

    assert document.root.data() == {"a": None, "b": [True, -1.5]}
    assert document.line_of(("b",)) == 3


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = tmp_path / "with-mark.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")

    assert read_document(path).root.data() == {"a": 1}


@pytest.mark.parametrize("word", ["on", "No", "YES", "off", "True", "NULL"])
def test_a_word_that_yaml_versions_read_differently_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match=rf"^some.yaml:2: plain {word} is ambiguous"):
        parse_document(f"a: 1\nb: {word}\n", FILE)


@pytest.mark.parametrize(
    "word", ["012", "1e3", "1_000", "0x10", "1:30", ".inf", "-.5", "1.", "0b1"]
)
def test_a_number_that_yaml_versions_read_differently_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match=r"^some.yaml:1: plain .* is not the same number"):
        parse_document(f"a: {word}\n", FILE)


@pytest.mark.parametrize("word", ["on", "012", "1e3", "null", "2024-01-01"])
def test_a_quoted_word_is_text(word: str) -> None:
    assert parse_document(f"a: '{word}'\n", FILE).root.data() == {"a": word}


@pytest.mark.parametrize("word", ["2024-01-01", "v1.2.3", "k1", "a/b.c", "12ab", "nothing"])
def test_plain_text_stays_text(word: str) -> None:
    assert parse_document(f"a: {word}\n", FILE).root.data() == {"a": word}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1\nb: 2\na: 3\n", "some.yaml:3: a: given twice, first in line 1"),
        ("a: [1\n", "some.yaml:2: is not YAML: did not find expected ',' or ']'"),
        ("- 1\n", "some.yaml:1: expected fields, `name: value`, at the top level"),
        ("", "some.yaml:1: expected fields, `name: value`, at the top level"),
        (
            "a: 1\n---\nb: 2\n",
            "some.yaml:2: a second document starts here; one per file is allowed",
        ),
        ("x: &x {a: 1}\ny: {<<: *x}\n", "some.yaml:2: merge keys (<<) are not allowed"),
        ("a: !!python/object:os.system x\n", "some.yaml:1: tags are not allowed"),
        ("a: &a [*a]\n", "some.yaml:1: alias *a has no anchor before it"),
        ("? [1]\n: 2\n", "some.yaml:1: a key must be a plain word"),
        ("a: " + "[" * 100_000, "some.yaml:1: nested deeper than 64 levels"),
        ("a: \x01\n", "some.yaml: is not YAML: unacceptable character"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_document(text, FILE)

    assert str(caught.value).startswith(complaint)


def test_aliases_repeat_a_value() -> None:
    document = parse_document("a: &x {k: 1}\nb: [*x, *x]\n", FILE)

    assert document.root.data() == {"a": {"k": 1}, "b": [{"k": 1}, {"k": 1}]}


def test_aliases_cannot_blow_up_a_small_file() -> None:
    lines = ["x0: &x0 [0, 0, 0, 0, 0, 0, 0, 0]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 8)}]" for n in range(1, 9)]

    with pytest.raises(BadInput, match="more than 1000000 values in one file"):
        parse_document("\n".join(lines), FILE)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff\n")

    with pytest.raises(BadInput, match=r"nowhere.yaml: cannot be read: No such file"):
        read_document(tmp_path / "nowhere.yaml")
    with pytest.raises(BadInput, match=r"cannot be read: Is a directory"):
        read_document(tmp_path)
    with pytest.raises(BadInput, match=r"binary.yaml: is not UTF-8 text \(byte 3\)"):
        read_document(binary)
