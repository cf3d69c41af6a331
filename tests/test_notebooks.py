"""What stands in the notebooks: a question each, asked through the facade, with its answers.

That executing them gives these answers is what `make notebooks` finds out.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sim
from tests.commands import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
OFFERED = {"sim", "sim.plugins", "pandas", "matplotlib.pyplot", "networkx"}
"""What a notebook may import: what a user is told about."""
BYTES_MAX = 400_000


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def code(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_are_seven() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{number}_" for number in range(1, 8)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_in_order_without_error_or_warning(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path, "code")]
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]

    assert counts == list(range(1, len(counts) + 1))
    assert {output["output_type"] for output in outputs} <= {
        "display_data",
        "execute_result",
        "stream",
    }
    assert [output for output in outputs if output.get("name") == "stderr"] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asks_one_question_and_shows_a_picture(path: Path) -> None:
    title = code(cells(path, "markdown")[0]).splitlines()[0]
    text = path.read_text(encoding="utf-8")

    assert re.fullmatch(r"# .*\?", title)
    assert "<svg" in text
    assert len(cells(path, "code")) <= 10
    assert len(text.encode()) < BYTES_MAX
    assert not re.search(r"(/tmp|/home|/root|/Users)/|site-packages", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_nothing_but_what_the_facade_offers(path: Path) -> None:
    text = "\n".join(code(cell) for cell in cells(path, "code"))
    imported = re.findall(r"^\s*(?:import|from) (\S+)", text, re.MULTILINE)
    asked = re.findall(r"(?<!import )(?<!from )\bsim\.(\w+)", text)

    assert {*imported} <= OFFERED
    assert {*asked} <= {*sim.__all__}
