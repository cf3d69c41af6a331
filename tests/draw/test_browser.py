"""The HTML page in a browser: the system's Chromium, one for all of these tests."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sim.draw import html
from sim.draw.page import PAGE_BYTES_MAX
from tests.draw.stories import FIXED_TAIL, LOST_TAIL, big_run, case

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine to drive")

SIZES = {"narrow": {"width": 390, "height": 844}, "wide": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two cases side by side: short ones, and a long one with all events that there is room for."""
    folder = tmp_path_factory.mktemp("pages")
    lost, fixed = case(LOST_TAIL, "no-offset-reuse"), case(FIXED_TAIL)
    other = replace(fixed, name="fix=empty_batch")
    contents = {
        "two": html(replace(lost, name="fix=none"), title="Lost", unit="step", against=other),
        "big": html(big_run(), title="big", unit="ms", against=big_run(), everything=True),
    }
    paths = {}
    for name, content in contents.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(content, encoding="utf-8")
    return paths


class Opened:
    """A page in the browser, and what it complained about."""

    def __init__(self, browser: Any, path: Path, size: str) -> None:
        self.context = browser.new_context(viewport=SIZES[size], offline=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._requested)
        self.page.goto(path.as_uri())

    def _requested(self, request: Any) -> None:
        if not request.url.startswith("file:"):
            self.complaints.append(request.url)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    @property
    def now(self) -> str:
        return str(self.page.inner_text("#now"))

    def place(self) -> int:
        """The number of the event that is shown."""
        return int(self.now.split("/")[0])

    def cell(self, case: int, row: int, offset: int) -> Any:
        """What is in a grid; row 0 is what was committed."""
        cells = self.page.locator("section.case").nth(case).locator("tbody tr").nth(row)
        return cells.locator("td").nth(offset)

    def rgb(self, selector: str, what: str) -> str:
        script = f"e => getComputedStyle(e).{what}"
        return str(self.page.locator(selector).first.evaluate(script))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["two", "big"])
def test_the_violation_is_in_view_and_nothing_sticks_out(
    browser: Any, pages: dict[str, Path], name: str, size: str
) -> None:
    assert pages[name].stat().st_size <= PAGE_BYTES_MAX
    with Opened(browser, pages[name], size) as opened:
        assert opened.now.endswith("violation")
        assert opened.page.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]
        shown = opened.page.locator("td.violated .cell").first.bounding_box()
        assert shown is not None
        assert shown["y"] >= 0
        assert shown["y"] + shown["height"] <= SIZES[size]["height"]
        for number in range(opened.page.locator("section.case").count()):
            if number and name == "two":
                continue  # the other fix violates nothing
            grid = opened.page.locator(".grid").nth(number)
            box, violated = grid.bounding_box(), grid.locator(".violated").first.bounding_box()
            assert box is not None
            assert violated is not None
            assert violated["x"] >= box["x"]
            assert violated["x"] + violated["width"] <= box["x"] + box["width"]
        names = opened.page.locator(".spacetime svg g text").first.bounding_box()
        row = opened.page.locator(".spacetime svg .here").first.bounding_box()
        box = opened.page.locator(".spacetime").first.bounding_box()
        assert row is not None
        assert box is not None
        assert box["y"] <= row["y"] + row["height"] / 2 <= box["y"] + box["height"]
        assert names is not None
        assert box["y"] <= names["y"] <= box["y"] + 40  # of lanes, however far it is scrolled
        assert opened.complaints == []


def test_keys_and_the_slider_step_through_the_run(browser: Any, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["two"], "wide") as opened:
        keyboard, last = opened.page.keyboard, opened.place()
        assert "E=e" in opened.cell(0, 3, 3).inner_text()
        for key, place in (
            ("ArrowLeft", last - 1),
            ("k", last - 2),
            ("j", last - 1),
            ("Home", 1),
            ("ArrowRight", 2),
            ("End", 24),
            ("Home", 1),
            ("v", last),
        ):
            keyboard.press(key)
            assert opened.place() == place, key
        opened.page.locator("#back").click()
        assert opened.cell(0, 3, 3).inner_text() == ""
        opened.page.locator("#slider").focus()
        keyboard.press("Home")
        assert opened.place() == 1
        assert opened.cell(0, 1, 0).inner_text() == ""
        keyboard.press("ArrowRight")
        assert opened.place() == 2
        assert opened.cell(0, 1, 0).inner_text().split() == ["A=a", "v9"]
        opened.page.locator("#there").click()
        assert opened.now.endswith("violation")
        assert opened.complaints == []


def test_from_violation_to_violation(browser: Any, pages: dict[str, Path]) -> None:
    violations = case(LOST_TAIL).violations
    with Opened(browser, pages["two"], "wide") as opened:
        number = [each.invariant for each in violations].index("no-offset-reuse")
        keyboard, page = opened.page.keyboard, opened.page
        for key, step in (("n", 1), ("n", 1), ("p", -1), *[("n", 1)] * len(violations)):
            keyboard.press(key)
            number = (number + step) % len(violations)
            violation = violations[number]
            assert page.inner_text("#which") == f"{number + 1}/{len(violations)}"
            assert page.inner_text("#name") == violation.invariant
            assert page.inner_text("#when").strip() == f"at step {violation.at}"
            assert page.inner_text("#sentence") == violation.sentence
            assert violation.sentence in page.inner_text("#why")
            assert f" at {violation.at}: " in opened.now
        assert opened.complaints == []


def test_the_other_fix_is_beside_it_or_below_and_goes_along(
    browser: Any, pages: dict[str, Path]
) -> None:
    with Opened(browser, pages["two"], "wide") as opened:
        for size in ("wide", "narrow"):
            opened.page.set_viewport_size(SIZES[size])
            first, second = (
                opened.page.locator("section.case").nth(number).bounding_box() for number in (0, 1)
            )
            assert (second["y"] == first["y"]) == (size == "wide")
        assert opened.cell(0, 1, 3).inner_text().split() == ["superseded", "by", "0"]
        assert opened.cell(1, 1, 3).inner_text().split() == ["empty", "by", "0"]
        opened.page.keyboard.press("Home")
        assert opened.cell(1, 1, 3).inner_text() == ""


def test_light_and_dark_by_the_system_and_by_the_button(
    browser: Any, pages: dict[str, Path]
) -> None:
    white, black = "rgb(255, 255, 255)", "rgb(21, 24, 28)"
    with Opened(browser, pages["two"], "wide") as opened:
        for scheme, colour in (("light", white), ("dark", black)):
            opened.page.emulate_media(color_scheme=scheme)
            assert opened.rgb("body", "backgroundColor") == colour
            ink = opened.rgb(".spacetime svg text.t", "fill")
            assert (ink == "rgb(27, 31, 36)") == (scheme == "light")
            for expected in (white, black, colour):  # light, dark, and what the system says
                opened.page.click("#theme")
                assert opened.rgb("body", "backgroundColor") == expected


def test_every_control_has_a_name_and_shows_its_focus(browser: Any, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["two"], "wide") as opened:
        named = opened.page.evaluate(
            "[...document.querySelectorAll('button, input, [tabindex]')]"
            ".map(e => e.getAttribute('aria-label') || e.textContent.trim())"
        )
        assert len(named) >= 11
        assert all(named)
        opened.page.keyboard.press("Tab")
        assert opened.rgb(":focus", "outlineStyle") == "solid"
        assert opened.page.locator("#now").get_attribute("aria-live") == "polite"
        scopes = opened.page.evaluate("[...document.querySelectorAll('th')].every(e => e.scope)")
        assert scopes
