"""The figures: wide enough for a page, and legible on a telephone."""

import re

from sim.study.report.figures import PALETTE, Mark, marks_figure
from sim.study.sweep.stats import Interval

TELEPHONE_PIXELS = 390 - 2 * 16
"""What a page of 390 pixels leaves between its margins."""
LEGIBLE_PIXELS = 9


def smallest_text(svg: str) -> float:
    """Pixels of the smallest text where the figure is as wide as a telephone."""
    [width] = re.findall(r'viewBox="0 0 ([\d.]+) ', svg)
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
    return min(sizes) * TELEPHONE_PIXELS / float(width)


def mark(label: str, value: float | None, interval: Interval | None = None) -> Mark:
    return Mark(label, f"{value}", PALETTE[0], value, interval)


def test_marks_are_legible_on_a_telephone() -> None:
    svg = marks_figure([mark("none", 1.0, Interval(0.5, 2.0))], axis="points", reference=0.0)

    assert smallest_text(svg) >= LEGIBLE_PIXELS


def test_a_long_label_goes_above_its_number() -> None:
    label = "coordinated removal, markers apart, on a broker that lost its disk"
    svg = marks_figure([mark(label, 1.0)], axis="points", reference=None)

    texts = re.findall(r">([^<>]+)</text>", svg)
    assert label.replace(" ", "") in "".join(texts).replace(" ", "")
    assert max(map(len, texts)) <= 52


def test_a_mark_without_a_number_is_told_and_not_drawn() -> None:
    svg = marks_figure([mark("none", 1.0), mark("lost", None)], axis="points", reference=1.0)

    assert ">lost</text>" in svg
    assert svg.count(PALETTE[0]) < 2 * marks_figure(
        [mark("none", 1.0), mark("lost", 2.0)], axis="points", reference=1.0
    ).count(PALETTE[0])
