"""Scenario files of a few lines, as `x.yaml` in a folder."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import Scenario

FORMAT = "format: replog-scenario/1\n"


def file_of(folder: Path, text: str) -> Path:
    """The file of what follows the line with the format."""
    path = folder / "x.yaml"
    path.write_text(FORMAT + text, encoding="utf-8")
    return path


def load(folder: Path, text: str, **options: object) -> Scenario:
    """What it becomes."""
    return load_scenario(file_of(folder, text), **options)  # type: ignore[arg-type]


def complaints(folder: Path, text: str, **options: object) -> list[str]:
    """What is wrong with it, line by line, without the path of the file."""
    with pytest.raises(BadInput) as caught:
        load(folder, text, **options)
    return [line.removeprefix(f"{folder / 'x.yaml'}:") for line in str(caught.value).splitlines()]
