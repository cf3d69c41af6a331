"""Texts of anybody's, wherever they are shown: each is seen there, and is nothing but text."""

import json
import re
import subprocess
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import markdown as renderer
import pytest

from sim.check import Violation
from sim.diagnose.draw import DrawnCase, html, png, svg
from sim.diagnose.failures import RunFailure, readme
from sim.diagnose.shrink.writing import story_text
from sim.errors import BadInput
from sim.files import markdown
from sim.files.foreign import (
    LONGEST_BYTES,
    command_line,
    file_name,
    fit_for,
    html_text,
    json_text,
    one_line,
    plain_lines,
    readable,
)
from sim.files.reading import read_document
from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.scenario.file.write import yaml_lines
from sim.simulate.story.format import Story, StoryExpect, load_story
from sim.study.gates import Gates, judge
from sim.study.suite import CaseResult
from sim.study.suite.reports import error_commands, page, write_junit
from tests.foreign.nasty import NASTY, PLAIN
from tests.gates.planted import folder
from tests.html_page import Page
from tests.suite.junit_schema import problems

ALL = NASTY | PLAIN
SAID = {name: text for name, text in ALL.items() if not re.search("[\ud800-\udfff]", text)}
"""What a file of UTF-8 can say."""


EXTENSIONS = ("tables", "attr_list", "fenced_code", "md_in_html", "footnotes", "admonition")
RENDERER = renderer.Markdown(extensions=EXTENSIONS)


def rendered(text: str) -> Page:
    RENDERER.reset()
    return Page(RENDERER.convert(text))


@contextmanager
def each(texts: dict[str, str] = ALL) -> Iterator[Iterator[str]]:
    """The texts; of which one something failed is said."""
    at = ["", ""]

    def one_by_one() -> Iterator[str]:
        for at[:] in texts.items():
            yield at[1]

    try:
        yield one_by_one()
    except Exception as error:
        error.add_note(f"of {at[0]}: {at[1]!a}")
        raise


def seen(text: str) -> None:
    """Nothing in several lines of text that is not seen."""
    assert not {unicodedata.category(one) for one in text} & {"Cs", "Co", "Cn", "Zl", "Zp"}
    for line in text.replace("\t", " ").split("\n"):
        assert one_line(line) == line


def test_every_character_is_either_seen_or_escaped_as_python_writes_it() -> None:
    for code in [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFB00, 0x10100)]:
        shown = one_line(chr(code))
        seen(shown)
        assert shown == chr(code) or shown.startswith("\\"), hex(code)
    assert one_line("\n\x1b\x9b\u202e\U000e0041\udcff") == r"\n\x1b\x9b\u202e\U000e0041\udcff"


def test_text_of_any_script_stays_as_it_is() -> None:
    with each(PLAIN) as texts:
        for text in texts:
            assert one_line(text) == text
            assert plain_lines(f"{text}\n\t{text}\n") == f"{text}\n\t{text}\n"


def test_of_a_long_line_the_middle_is_left_out() -> None:
    shown = one_line("a" * 50 + "\x00" * 500 + "b" * 50, longest=90)

    assert len(shown) == 90
    assert re.fullmatch("aaaa.*….*bbbb", shown)


def test_a_message_is_one_line_for_each_thing_that_is_wrong() -> None:
    error = BadInput("a\nb.yaml: \x1b[2J: no such file", "second")

    assert str(error) == "a\\nb.yaml: \\x1b[2J: no such file\nsecond"
    assert str(type(error)(*error.args)) == str(error)
    assert len(str(BadInput("x" * 100_000))) < 5_000


def test_json_is_exact_in_any_encoding() -> None:
    document = json_text(ALL, indent=1)

    assert json.loads(document) == ALL
    assert json.loads(fit_for(document, "latin-1").encode("ascii")) == ALL
    seen(document)
    assert readable("plan\udcff – 日.yaml") == "plan\\udcff – 日.yaml"


PLACES = (
    "{}\n",
    "# {}\n",
    "a\n\n- {}\n",
    "before\n{}\nafter\n",
    "**a {}**\n",
    "| a |\n|---|\n| {} |\n",
)


def test_text_in_a_page_is_nothing_but_text() -> None:
    html_in_markdown: Callable[[str], str] = lambda text: f"<b>{markdown.in_html(text)}</b>"  # noqa: E731
    with each() as texts:
        for text in texts:
            for put in (markdown.text, markdown.code, html_in_markdown):
                for place in PLACES:
                    found, plain = (rendered(place.format(put(one))) for one in (text, "x"))
                    assert found.tags == plain.tags, place
                    assert found.names == plain.names, place
                    assert one_line(text).strip() in found.text, place
            block = rendered(f"{markdown.block([text, '`````', '<b>'])}\n\nafter\n")
            assert block.tags == ["pre", "code", "p"]
            shown = Page(f'<p title="{html_text(text)}">{html_text(text)}</p>')
            assert (shown.tags, shown.names) == (["p"], ["title"])
            assert one_line(text) in shown.text.replace("\n", "\\n")


def test_a_shell_gets_every_word_as_it_was(tmp_path: Path) -> None:
    words = [text for text in ALL.values() if "\x00" not in text and "\ud800" not in text]
    line = command_line(["printf", "%s\\0", *words])

    told = subprocess.run(["bash", "-c", line], capture_output=True, check=True, cwd=tmp_path)

    assert one_line(line) == line
    assert told.stdout == b"".join(
        word.encode("utf-8", "surrogateescape") + b"\0" for word in words
    )
    assert list(tmp_path.iterdir()) == []
    assert command_line(["rm", Path("-rf"), "--force", Path("a b")]) == "rm ./-rf --force 'a b'"


def test_a_name_of_a_file_is_one(tmp_path: Path) -> None:
    long = {text[:5]: text for text in ("x" * 300, "日" * 300, ".", "..", "-", "a/" * 99)}
    with each(ALL | long) as texts:
        for number, text in enumerate(texts):
            name, place = file_name(text, instead="nothing"), tmp_path / str(number)
            (place / name).mkdir(parents=True)
            assert [one.name for one in place.iterdir()] == [name]
            assert not name.startswith((".", "-"))
            assert len(name.encode()) <= LONGEST_BYTES
    assert file_name("für r2, no-resurrection", instead="x") == "für-r2--no-resurrection"


def red(text: str) -> CaseResult:
    """A result that is not as expected, of a file with a text wherever there may be one."""
    broken = Violation("log-matching", 3, text, 0, text, text)
    story = replace(NOTHING, id=text, title=text, expect=StoryExpect((text,)))
    differences = (f"log-matching {text}", text)
    run = Run(
        content=story,
        rules=story.rules,
        verdict="violated",
        violations=(broken,),
        differences=differences,
    )
    return CaseResult(Path(f"s/{text}.yaml"), run.without_events(), strip=f"offset 0\n{text}")


NOTHING = Story("s", replicas=("r1",), isr=("r1",), voters=("r1",))


def failure(text: str) -> RunFailure:
    broken = Violation("log-matching", 3, "r1", 0, text, one_line(text))
    run = replace(run_story(NOTHING), violations=(broken,), differences=(text,), remarks=(text,))
    return RunFailure(
        id=text,
        file=Path(text),
        run=replace(run, content=replace(NOTHING, title=text, expect=StoryExpect((text,)))),
        violation=broken,
        mix=None,
        scenario=lambda _: "",
        made_by=text,
    )


def page_of_gates(text: str) -> str:
    label = text.encode(errors="backslashreplace").decode()  # a plan's texts are UTF-8
    verdict = judge(folder({label: {"log divergence": 3}}, cases=9), Gates(fail_on=("any",)))
    return verdict.as_markdown()


def readme_of(text: str) -> str:
    return readme(failure(text), {})


@pytest.mark.parametrize(
    ("put", "times"),
    [
        (lambda text: page([red(text)], [text], "1 not"), 4),
        (page_of_gates, 1),
        (readme_of, 4),
    ],
    ids=["suite", "gates", "failure"],
)
def test_a_page_of_markdown_has_the_same_elements_whatever_is_in_it(
    put: Callable[[str], str], times: int
) -> None:
    plain = rendered(put("x"))
    with each() as texts:
        for text in texts:
            found = rendered(put(text))
            assert (found.tags, found.names) == (plain.tags, plain.names)
            assert found.text.count(one_line(text).strip()) >= times


def test_junit_and_annotations(tmp_path: Path) -> None:
    with each() as texts:
        for text in texts:
            write_junit(tmp_path / "junit.xml", [red(text)], started=datetime.now(UTC))
            root = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - written just now
            assert problems(root) == []
            assert root[0].get("name") == one_line(text)
            said = root[0][0].text or ""
            assert f"reproduce: {red(text).command}" in said.split("\n")
            seen(said)

            for line in error_commands([red(text)]):
                found = re.fullmatch(r"::error file=([^,:]*),line=\d+,title=([^,:]*)::(.*)", line)
                assert found is not None
                title = re.sub("%(25|2C|3A)", lambda code: chr(int(code[1], 16)), found[2])
                assert title == f"{one_line(text)}: not as expected"


def story_of(text: str, path: Path) -> Story:
    """A story with a text wherever it may have one, read from a file."""
    append = {"op": "append", "leader": "r1", "label": text, "key": text}
    document = {
        "format": "replog-story/1",
        "id": text,
        "title": text,
        "source": text,
        "replicas": ["r1", "r2"],
        "steps": ["elect r1 1", append, "sync r2 r1"],
    }
    path.write_text("\n".join(yaml_lines(document)) + "\n", encoding="utf-8")
    assert read_document(path).data == document
    return load_story(path)


def test_a_story_reads_back_to_the_same_and_is_drawn(tmp_path: Path) -> None:
    with each(SAID) as texts:
        for text in texts:
            story = story_of(text, tmp_path / "first.yaml")
            second = tmp_path / "second.yaml"
            written = story_text(story, violated=[], remark=text)
            second.write_text(written, encoding="utf-8")
            again = load_story(second)
            assert (again.id, again.title, again.source) == (text, text, text)
            assert [dict(step.fields) for step in again.steps] == [
                dict(step.fields) for step in story.steps
            ]

            run = replace(run_story(story), labels={1: text})
            drawn = svg(DrawnCase(run), title=text, note=text, captions={2: text})
            root = ET.fromstring(drawn.encode())  # noqa: S314 - drawn just now
            assert {element.tag.partition("}")[2] for element in root.iter()} <= {
                *("svg", "style", "rect", "path", "text", "tspan", "title")
            }
            seen("\n".join(root.itertext()))
            found, plain = (
                Page(html(DrawnCase(run, None, one, [one]), title=one, command=one))
                for one in (text, "x")
            )
            assert [tag for tag in found.tags if tag != "tspan"] == [
                tag for tag in plain.tags if tag != "tspan"
            ]
            assert set(found.names) == set(plain.names)


def test_a_picture_shows_every_text() -> None:
    # Warnings are errors here: matplotlib warns of letters that its font has not.
    assert png(DrawnCase(run_story(NOTHING)), title=" ".join(ALL.values())).startswith(b"\x89PNG")
