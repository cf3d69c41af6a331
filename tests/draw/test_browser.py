"""The HTML page in a browser: the system's Chromium, one for all of these tests."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sim.diagnose.draw import html
from tests.draw.stories import FIXED_TAIL, LOST_TAIL, big_run, case, four_replicas

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine to drive")

SIZES = {"narrow": {"width": 390, "height": 844}, "wide": {"width": 1280, "height": 900}}


Open = Callable[..., AbstractContextManager[Any]]
"""Opens a page of a name and a size, and says in the end what it complained about: nothing."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Two cases side by side: short ones, and a long one with all events that there is room for."""
    lost, other = case(LOST_TAIL, "no-offset-reuse"), replace(case(FIXED_TAIL), name="other")
    contents = {
        "two": html(replace(lost, name="lost"), title="Lost", against=other),
        "four": html(replace(four_replicas(), missed=("expected: leader: r1",))),
        "big": html(big_run(), title="big", against=big_run()),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, content in contents.items():
        (folder / f"{name}.html").write_text(content, encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield partial(_open, browser, folder)
        browser.close()


@contextmanager
def _open(browser: Any, folder: Path, name: str, size: str = "wide") -> Iterator[Any]:
    context = browser.new_context(viewport=SIZES[size], offline=True)
    page, complaints = context.new_page(), list[str]()
    page.set_default_timeout(10_000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto((folder / f"{name}.html").as_uri())
    yield page
    context.close()
    assert [each for each in complaints if not each.startswith("file:")] == []


def place(page: Any) -> int:
    """The number of the event that is shown."""
    return int(page.inner_text("#now").split("/")[0])


def cell(page: Any, case: int, row: int, offset: int) -> list[str]:
    """What is in a grid; row 0 is what was committed."""
    cells = page.locator("section.case").nth(case).locator("tbody tr").nth(row).locator("td")
    return str(cells.nth(offset).inner_text()).split()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "violated"), [("two", 1), ("big", 2)])
def test_the_violation_is_in_view_and_nothing_sticks_out(
    opened: Open, name: str, violated: int, size: str
) -> None:
    with opened(name, size) as page:
        assert page.inner_text("#now").endswith("violation")
        assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]
        shown = page.locator("td.violated .cell").first.bounding_box()
        assert 0 <= shown["y"] <= shown["y"] + shown["height"] <= SIZES[size]["height"]
        for number in range(violated):
            grid = page.locator(".grid").nth(number)
            box, column = grid.bounding_box(), grid.locator(".violated").first.bounding_box()
            right = box["x"] + box["width"]
            assert box["x"] <= column["x"] <= column["x"] + column["width"] <= right
        scrolls = ".happened" if size == "wide" else ".spacetime"
        box, row, names = (
            page.locator(which).first.bounding_box()
            for which in (scrolls, ".spacetime svg .here", ".spacetime svg g text")
        )
        assert box["y"] <= row["y"] + row["height"] / 2 <= box["y"] + box["height"]
        assert box["y"] <= names["y"] <= box["y"] + 40  # of lanes, however far it is scrolled


def test_a_narrow_page_shows_whole_sentences_with_four_replicas_too(opened: Open) -> None:
    with opened("four", "narrow") as page:
        assert page.locator(".spacetime svg").count() == 1
        told = page.locator(".sentences li, #why li, .missed li, #now, .subject")
        boxes = told.evaluate_all(
            "all => all.map(e => [e.getBoundingClientRect().left, e.getBoundingClientRect().right,"
            " e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight])"
        )
        assert len(boxes) > 8
        for left, right, hidden, below in boxes:
            assert 0 <= left <= right <= SIZES["narrow"]["width"]
            assert (hidden, below) == (0, 0)
        assert max(map(len, page.locator(".sentences").inner_text().split("\n"))) > 100
        page.locator(".sentences li").nth(1).click()
        assert place(page) == 2


def test_keys_and_the_slider_step_through_the_run(opened: Open) -> None:
    with opened("two") as page:
        names = page.evaluate(
            "[...document.querySelectorAll('button, input, [tabindex]')]"
            ".map(e => e.getAttribute('aria-label') || e.textContent.trim())"
        )
        assert len(names) >= 11
        assert all(names)
        assert page.locator("#now").get_attribute("aria-live") == "polite"
        assert page.evaluate("[...document.querySelectorAll('th')].every(e => e.scope)")
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        last = place(page)
        moves = {"ArrowLeft": last - 1, "k": last - 2, "j": last - 1, "Home": 1}
        for key, expected in (moves | {"ArrowRight": 2, "End": 24, "v": last}).items():
            page.keyboard.press(key)
            assert place(page) == expected, key
        assert cell(page, 0, 3, 3)[0] == "E=e"
        page.locator("#back").click()
        assert cell(page, 0, 3, 3) == []
        page.locator("#slider").focus()
        page.keyboard.press("Home")
        assert (place(page), cell(page, 0, 1, 0)) == (1, [])
        page.keyboard.press("ArrowRight")
        assert (place(page), cell(page, 0, 1, 0)) == (2, ["A=a", "v9"])
        page.locator("#there").click()
        assert place(page) == last


def test_from_violation_to_violation(opened: Open) -> None:
    violations = case(LOST_TAIL).run.seen
    number = [each.invariant for each in violations].index("no-offset-reuse")
    with opened("two") as page:
        for key, step in (("n", 1), ("n", 1), ("p", -1), *[("n", 1)] * len(violations)):
            page.keyboard.press(key)
            number = (number + step) % len(violations)
            violation = violations[number]
            said = [page.inner_text(f"#{each}") for each in ("which", "name", "sentence")]
            count = f"{number + 1}/{len(violations)}"
            assert said == [count, violation.invariant, violation.sentence]
            assert page.inner_text("#when").strip() == f"at step {violation.at}"
            assert violation.sentence in page.inner_text("#why")
            assert f" at {violation.at}: " in page.inner_text("#now")
            concerned = page.locator("tr.concerned th b").first
            assert concerned.inner_text() == violation.replica


def test_the_other_fix_is_beside_it_or_below_and_goes_along(opened: Open) -> None:
    with opened("two") as page:
        for size in ("wide", "narrow"):
            page.set_viewport_size(SIZES[size])
            first, second = (page.locator("section.case").nth(n).bounding_box() for n in (0, 1))
            assert (second["y"] == first["y"]) == (size == "wide")
        assert cell(page, 0, 1, 3) == ["superseded", "by", "0"]
        assert cell(page, 1, 1, 3) == ["empty", "by", "0"]
        page.keyboard.press("Home")
        assert cell(page, 1, 1, 3) == []


def test_light_and_dark_by_the_system_and_by_the_button(opened: Open) -> None:
    ground, ink = ("body", "backgroundColor"), (".sentences li", "color")
    white, black = "rgb(255, 255, 255)", "rgb(21, 24, 28)"
    with opened("two") as page:

        def rgb(selector: str, what: str) -> str:
            return str(page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{what}"))

        for scheme, colour in (("light", white), ("dark", black)):
            page.emulate_media(color_scheme=scheme)
            assert rgb(*ground) == colour
            assert (rgb(*ink) == "rgb(27, 31, 36)") == (scheme == "light")
            for expected in (white, black, colour):  # light, dark, and what the system says
                page.click("#theme")
                assert rgb(*ground) == expected
