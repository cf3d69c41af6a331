"""Text of anybody's in a page of Markdown or HTML, in a command, in the name of a file."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import markdown as renderer
import pytest

from sim.foreign import html, markdown, names, shell
from sim.foreign.lines import one_line
from tests.foreign.nasty import NASTY, PLAIN, of_each

ALL = NASTY | PLAIN


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        self.text += data


EXTENSIONS = ("tables", "attr_list", "fenced_code", "md_in_html", "footnotes", "admonition")
RENDERER = renderer.Markdown(extensions=EXTENSIONS)


def rendered(page: str) -> Page:
    RENDERER.reset()
    return Page(RENDERER.convert(page))


PLACES = ("{}\n", "# {}\n", "a\n\n- {}\n", "before\n{}\nafter\n", "*{}*\n", "**a {}**\n")


@of_each(ALL)
def test_text_in_markdown_is_nothing_but_text(given: str) -> None:
    for put in (markdown.text, markdown.code):
        for page in PLACES:
            found, expected = (rendered(page.format(put(text))) for text in (given, "x"))
            assert [tag for tag in found.tags if tag != "span"] == expected.tags, page
            assert found.attributes == expected.attributes, page
            assert one_line(given).strip() in found.text, page


@of_each(ALL)
def test_text_in_a_table_stays_in_its_cell(given: str) -> None:
    cells = [markdown.text(given), markdown.code(given), f"<b>{markdown.in_html(given)}</b>"]

    found = rendered(f"| a | b | c |\n|---|---|---|\n| {' | '.join(cells)} |\n")

    assert found.tags.count("td") == 3
    assert found.text.count(one_line(given).strip()) >= 3
    assert set(found.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "span", "code", "b"}


@pytest.mark.parametrize(
    ("given", "sign"),
    [("a@octocat", "@octocat"), ("$x$", "$"), ("see #12", "#12"), ("http://a", "http://")],
)
def test_what_github_looks_for_is_not_in_the_page(given: str, sign: str) -> None:
    assert sign in given
    assert sign not in markdown.text(given)
    assert rendered(markdown.text(given)).text.strip() == given


@of_each(ALL)
def test_a_block_of_code_ends_where_it_should(given: str) -> None:
    page = markdown.block([given, "`````", "<b>"])

    found = rendered(f"{page}\n\nafter\n")

    assert found.tags == ["pre", "code", "p"]
    assert one_line(given) in found.text.replace("\n", "\\n")


@of_each(ALL)
def test_text_in_html_is_nothing_but_text(given: str) -> None:
    found = Page(f'<p title="{html.text(given)}">{html.text(given)}</p>')

    assert [tag for tag in found.tags if tag != "span"] == ["p"]
    assert found.attributes == ["title"]
    assert one_line(given) in found.text.replace("\n", "\\n")
    assert not re.search("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202e]", html.text(given))


def test_a_shell_gets_every_word_as_it_was(tmp_path: Path) -> None:
    words = [text for text in ALL.values() if "\x00" not in text and "\ud800" not in text]
    line = shell.command(["printf", "%s\\0", *words])

    told = subprocess.run(["bash", "-c", line], capture_output=True, check=True, cwd=tmp_path)

    assert one_line(line) == line
    assert told.stdout == b"".join(
        word.encode("utf-8", "surrogateescape") + b"\0" for word in words
    )
    assert list(tmp_path.iterdir()) == []


def test_a_path_in_a_command_is_no_option() -> None:
    assert shell.command(["rm", Path("-rf"), "--force", Path("a b")]) == "rm ./-rf --force 'a b'"


LONG = {text[:5]: text for text in ("x" * 300, "日" * 300, ".", "..", "-", "a/" * 99)}


@of_each(ALL | LONG)
def test_a_name_of_a_file_is_one(given: str, tmp_path: Path) -> None:
    name = names.file_name(given, instead="nothing")

    (tmp_path / name).mkdir()
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert not name.startswith((".", "-"))
    assert one_line(name) == name
    assert len(name.encode()) <= names.LONGEST_BYTES


def test_names_keep_what_people_read() -> None:
    assert names.file_name("Zusammenfassung für r2, no-resurrection", instead="x") == (
        "Zusammenfassung-für-r2--no-resurrection"
    )
    assert names.file_name("///", instead="failure") == "failure"
