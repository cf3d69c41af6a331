"""Any model, a dataclass or a pydantic one, is loaded with every problem at its line."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field

from sim.errors import BadInput
from sim.files.models import validate
from sim.files.reading import read_document

Write = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class Inner:
    """A part."""

    size: Annotated[int, Ge(0)] = 1
    span: tuple[int, int] = (0, 1)


class Plain(BaseModel):
    """A model with parts, one of them a dataclass."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal["thing/1"]
    name: str
    inner: Inner = Inner()
    kind: Literal["red", "green"] = "red"


class Checked(BaseModel):
    """A model with mappings and lists."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal["thing/1"]
    rules: dict[str, str | int | bool] = Field(default_factory=dict)
    parts: list[Inner] = []


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes `x.yaml` into the current folder."""
    monkeypatch.chdir(tmp_path)

    def to_file(text: str) -> Path:
        path = Path("x.yaml")
        path.write_text(text)
        return path

    return to_file


def complaints(path: Path, model: type[BaseModel]) -> list[str]:
    with pytest.raises(BadInput) as caught:
        validate(read_document(path), model)
    return str(caught.value).splitlines()


def test_a_model_is_loaded(write: Write) -> None:
    path = write("format: thing/1\nrules: {a: true, b: 1, c: x}\nparts: [{size: 2}]\n")

    loaded = validate(read_document(path), Checked)

    assert loaded.rules == {"a": True, "b": 1, "c": "x"}
    assert loaded.parts == [Inner(2)]


def test_all_problems_are_told_at_once_in_order_of_lines(write: Write) -> None:
    path = write(
        "format: thing/1\ninner:\n  size: -1\n  spam: 3\n  span: [1]\nkind: grene\nwhat: 3\n"
    )

    assert complaints(path, Plain) == [
        "x.yaml:1: name: missing",
        "x.yaml:3: inner.size: -1 is below the smallest allowed, 0",
        "x.yaml:4: inner.spam: unknown field (did you mean 'span'?); allowed: size, span",
        "x.yaml:5: inner.span[1]: missing",
        "x.yaml:6: kind: unknown value \"grene\" (did you mean 'green'?); allowed: red, green",
        "x.yaml:7: what: unknown field; allowed: format, name, inner, kind",
    ]


def test_numbers_are_not_made_of_text_nor_text_of_numbers(write: Write) -> None:
    path = write("format: thing/1\nname: 3\ninner: {size: '3'}\n")

    assert complaints(path, Plain) == [
        "x.yaml:2: name: expected text, not 3",
        'x.yaml:3: inner.size: expected a whole number, not "3"',
    ]


def test_a_value_of_several_possible_kinds_gets_one_complaint(write: Write) -> None:
    path = write("format: thing/1\nrules: {fix: null}\nparts: 3\n")

    assert complaints(path, Checked) == [
        "x.yaml:2: rules.fix: expected text or a whole number or true or false, not null",
        "x.yaml:3: parts: expected a list, not 3",
    ]


def test_a_value_where_fields_belong_is_told_which_fields(write: Write) -> None:
    path = write("format: thing/1\nname: a\ninner: 3\n")

    assert complaints(path, Plain) == [
        "x.yaml:3: inner: expected fields, not 3; allowed: size, span"
    ]


def test_a_hundred_complaints_are_told_and_the_others_counted(write: Write) -> None:
    path = write("format: thing/1\nparts:\n" + "  - 3\n" * 2_500)

    lines = complaints(path, Checked)

    assert lines[99].startswith("x.yaml:102: parts[99]: expected fields, not 3")
    assert lines[100:] == ["and 2,400 more"]


@pytest.mark.parametrize(
    "line", ["{k}: 1", "name: [{k}]", "name: a\nkind: {k}", "name: a\ninner: {{{k}: {k}}}"]
)
def test_no_complaint_repeats_a_long_value(write: Write, line: str) -> None:
    (told,) = complaints(write("format: thing/1\n" + line.format(k="k" * 5_000)), Plain)

    assert len(told) < 300
