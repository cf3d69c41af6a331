"""Every nasty text through everything that makes a file or a page of it, read back by a parser."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sim.check import Violation
from sim.draw import Case, html, png, svg
from sim.failures.failure import Failure
from sim.failures.pages import index_page, readme
from sim.files.reading import read_document
from sim.files.trace_file import TraceHeader
from sim.foreign.lines import one_line
from sim.gates import Gates, judge
from sim.gates.page import as_markdown
from sim.report.figures import Mark, marks_figure, own_ids
from sim.rules import Rules, Settings
from sim.scenario.file.yaml_lines import yaml_lines
from sim.shrink.writing import story_text
from sim.story.driver import run_story
from sim.story.format import Story, load_story
from sim.suite import CaseResult
from sim.suite.github import error_commands
from sim.suite.junit import write_junit
from sim.suite.markdown import page
from tests.foreign.nasty import NASTY, PLAIN, of_each
from tests.foreign.test_pages import Page, rendered
from tests.gates.planted import folder
from tests.suite.junit_schema import problems

ALL = NASTY | PLAIN
SAID = {name: text for name, text in ALL.items() if not re.search("[\ud800-\udfff]", text)}
"""What a file of UTF-8 can say."""


def red(text: str) -> CaseResult:
    """A result that is not as expected, of a file with a text wherever there may be one."""
    broken = Violation("log-matching", 3, text, 0, text, text)
    return CaseResult(
        path=Path(f"s/{text}.yaml"),
        id=text,
        title=text,
        verdict="violated",
        violations=(broken,),
        differences=(f"log-matching {text}", text),
        expected=(text,),
        strip=f"offset 0\n{text}",
    )


def seen(text: str) -> None:
    """Nothing in several lines of text that is not seen."""
    for line in text.replace("\t", " ").split("\n"):
        assert one_line(line) == line


def tags(page: Page) -> list[str]:
    """The elements of a page, but for those around a sign."""
    return [tag for tag in page.tags if tag not in {"span", "tspan"}]


@of_each(ALL)
def test_junit(text: str, tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", [red(text)], started=datetime.now(UTC))

    root = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - written just now
    assert problems(root) == []
    (case,) = root
    assert case.get("name") == one_line(text)
    assert f"reproduce: {red(text).command}" in (case[0].text or "").split("\n")
    seen(case[0].text or "")


@of_each(ALL)
def test_an_annotation_is_one_command_and_no_other(text: str) -> None:
    (line,) = error_commands([red(text)])

    assert one_line(line) == line
    found = re.fullmatch(r"::error file=([^,:]*),line=\d+,title=([^,:]*)::(.*)", line)
    assert found is not None
    title = re.sub("%(25|2C|3A)", lambda code: chr(int(code[1], 16)), found[2])
    assert title == f"{one_line(text)}: not as expected"


def check_markdown(put: Callable[[str], str], times: int) -> None:
    """That `put` makes pages of the same elements of any text, which shows in them so often."""
    found = rendered("\n\n".join(map(put, ALL.values())))
    plain = rendered("\n\n".join([put("x")] * len(ALL)))
    if (tags(found), found.attributes) != (tags(plain), plain.attributes):
        for name, text in ALL.items():  # which one
            assert tags(rendered(put(text))) == tags(rendered(put("x"))), name
    assert tags(found) == tags(plain)
    assert found.attributes == plain.attributes
    for name, text in ALL.items():
        assert found.text.count(one_line(text).strip()) >= times, name


def test_a_page_of_a_suite() -> None:
    check_markdown(lambda text: page([red(text)], [text], "1 not"), times=4)


def test_a_page_of_gates() -> None:
    def put(text: str) -> str:
        verdict = judge(folder({text: {"log divergence": 3}}, cases=9), Gates(fail_on=("any",)))
        return as_markdown(replace(verdict, notes=(text,)))

    check_markdown(put, times=2)


def test_the_readme_of_a_failure() -> None:
    def put(text: str) -> str:
        files = {"strip.txt": text, "explanation.txt": text}
        return readme(failure(text), command="c", texts=files)

    check_markdown(put, times=4)


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


@of_each(SAID)
def test_a_story_that_is_written_reads_back_to_the_same(text: str, tmp_path: Path) -> None:
    story = story_of(text, tmp_path / "first.yaml")

    second = tmp_path / "second.yaml"
    second.write_text(story_text(story, violated=[], head=text, remark=text), encoding="utf-8")

    again = load_story(second)
    assert (again.id, again.title, again.source) == (text, text, text)
    assert [dict(step.fields) for step in again.steps] == [dict(s.fields) for s in story.steps]


IN_PICTURES = (
    *("a sequence that clears the screen", "every other end of a line", "the other direction"),
    *("markup", "an attribute that ends", "the end of CDATA", "the end of a comment"),
    *("half of mathematics", "a command to GitHub", "a format", "emoji"),
)


@pytest.mark.parametrize("name", IN_PICTURES)
def test_pictures_of_a_story(name: str, tmp_path: Path) -> None:
    text = SAID[name]
    run = run_story(story_of(text, tmp_path / "story.yaml"))
    labels = {1: text}

    drawn = svg(Case(run.events, labels=labels), title=text, note=text, captions={2: text})

    root = ET.fromstring(drawn.encode())  # noqa: S314 - written just now
    assert {element.tag.partition("}")[2] for element in root.iter()} <= {
        *("svg", "style", "rect", "path", "text", "tspan", "title")
    }
    seen("\n".join(root.itertext()))
    found, plain = (
        Page(html(Case(run.events, None, None, labels, one, one), title=one, command=one))
        for one in (text, "x")
    )
    assert tags(found) == tags(plain)
    assert set(found.attributes) == set(plain.attributes)


@pytest.mark.parametrize("name", ["half of mathematics", "mathematics", "NUL", "Chinese, Japanese"])
def test_a_png_has_a_sign_for_every_letter(name: str) -> None:
    """Warnings are errors here: matplotlib warns of letters that its font has not."""
    assert png(Case(()), title=ALL[name], note=ALL[name]).startswith(b"\x89PNG")


FOR_A_FIGURE = {
    **{name: ALL[name] for name in ("half of mathematics", "mathematics", "markup", "emoji")},
    **{name: ALL[name] for name in ("NUL", "Chinese, Japanese", "stress", "half a character")},
    "what a figure looks for in itself": "'DejaVu Sans', x id=\"a url(#b href=\"#c #010203",
}


def test_a_figure_of_a_report() -> None:
    marks = [Mark(text, text, "#000000", 1.0, None) for text in FOR_A_FIGURE.values()]

    drawn = own_ids(marks_figure(marks, axis="$x$", reference=None), "one")

    root = ET.fromstring(drawn)  # noqa: S314 - drawn just now
    told = " ".join("".join(root.itertext()).split())
    for text in FOR_A_FIGURE.values():
        assert " ".join(one_line(text).split()) in told
    assert not any(element.tag.endswith("script") for element in root.iter())


def failure(text: str) -> Failure:
    broken = Violation("log-matching", 3, "r1", 0, text, one_line(text))
    header = TraceHeader(text, None, "story", None, Settings(), Rules(), {}, True)
    return Failure(
        id=text,
        title=text,
        violation=broken,
        violations=(broken,),
        not_judged=(),
        notes=(text,),
        complaints=(),
        verdict="violated",
        reason=None,
        events=(),
        header=header,
        rules=Rules(),
        changed_rules={},
        skews=None,
        labels={},
        digest="0",
        scenario=lambda _: "",
        made_by=text,
        shrunk=dict,
    )


@of_each(ALL)
def test_the_index_of_failures(text: str) -> None:
    """Documents are read from folders, which anybody may have written."""
    name = text.replace("/", "").replace("\x00", "").replace("\ud800", "") or "x"
    found = index_page({name: {"sentence": text, "cause": text, "events": text, "files": 1}})

    seen(found)
    assert [tag for tag in Page(found).tags if tag != "span"].count("td") == 4
    (address,) = re.findall(r'href="([^"]*)"', found)
    assert re.fullmatch(r"[\w.~%-]+/", address)


def test_json_of_nasty_texts_is_the_same_json() -> None:
    from sim.foreign.documents import json_text

    assert json.loads(json_text(ALL)) == ALL
