"""Text of anybody's in a line: seen, and nothing more."""

import json
import unicodedata

import msgspec
import pytest

from sim.errors import BadInput
from sim.foreign.documents import fit_for, json_text, readable
from sim.foreign.lines import one_line, plain_lines, without_commands
from tests.foreign.nasty import NASTY, PLAIN, of_each

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def unseen(text: str) -> set[str]:
    """Characters that are not to be seen, but for the joiner within an emoji."""
    text = text.replace("👩\u200d💻", "")
    return {one for one in text if unicodedata.category(one) in UNSEEN or one in "\u3164\ufe00"}


@of_each(NASTY)
def test_a_line_holds_nothing_that_is_not_seen(text: str) -> None:
    shown = one_line(text)

    assert unseen(shown) == set()
    assert shown.encode()
    assert one_line(shown) == shown
    if not unseen(text) and "\U000e0100" not in text:
        assert shown == text


@of_each(PLAIN)
def test_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert one_line(text) == text
    assert plain_lines(f"{text}\n\t{text}\n") == f"{text}\n\t{text}\n"


def test_what_is_not_seen_is_written_as_python_writes_it() -> None:
    assert one_line("\n\r\t\x1b\x9b\u202e\U000e0041\udcff") == (
        r"\n\r\t\x1b\x9b\u202e\U000e0041\udcff"
    )


def test_every_character_is_either_seen_or_escaped() -> None:
    """Of all there are, by what Unicode calls each."""
    for code in [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFB00, 0x10100)]:
        shown = one_line(chr(code))
        assert unseen(shown) == set(), hex(code)
        assert shown == chr(code) or shown.startswith("\\"), hex(code)


def test_of_a_long_line_the_middle_is_left_out() -> None:
    shown = one_line("a" * 50 + "\x00" * 500 + "b" * 50, longest=90)

    assert len(shown) == 90
    assert shown.startswith("aaaa")
    assert shown.endswith("bbbb")
    assert "…" in shown


def test_several_lines_keep_their_ends_and_tabs() -> None:
    assert plain_lines("a\n\tb\r\x1b[0m\n") == "a\n\tb\\r\\x1b[0m\n"


@pytest.mark.parametrize("text", ["::error::x", "  ::error::x", "a ##[error]x", "##vso[task]x"])
def test_no_line_is_a_command_to_what_runs_the_step(text: str) -> None:
    shown = without_commands(f"first\n{text}")

    assert not any(line.lstrip().startswith("::") for line in shown.split("\n"))
    assert "##[" not in shown
    assert "##vso[" not in shown
    assert without_commands("a::b :: # ##") == "a::b :: # ##"


@of_each(NASTY | PLAIN)
def test_json_is_exact_and_holds_nothing_that_is_not_seen(text: str) -> None:
    document = json_text({text: [text]}, indent=1)

    assert json.loads(document) == {text: [text]}
    assert json.loads(without_commands(plain_lines(document))) == {text: [text]}
    assert unseen(document.replace("\n", "")) == set()
    assert json.loads(fit_for(document, "ascii").encode("ascii")) == {text: [text]}
    assert json.loads(fit_for(document, "latin-1").encode("ascii")) == {text: [text]}


def test_a_message_is_one_line_for_each_thing_that_is_wrong() -> None:
    error = BadInput("a\nb.yaml: \x1b[2J: no such file", "second")

    assert str(error) == "a\\nb.yaml: \\x1b[2J: no such file\nsecond"
    assert str(type(error)(*error.args)) == str(error)
    assert len(str(BadInput("x" * 100_000))) < 5_000


def test_what_json_keeps_of_a_name_every_reader_takes() -> None:
    """A lone surrogate is JSON for some readers only."""
    name = readable("plan\udcff – 日.yaml")

    assert name == "plan\\udcff – 日.yaml"
    assert msgspec.json.decode(json_text({"plan_file": name})) == {"plan_file": name}
