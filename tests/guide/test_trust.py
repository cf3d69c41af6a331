"""The page about what may be opened safely names a test for each claim, and each is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "notebooks/guide/pages/trust.md").read_text("utf-8")


def test_each_claim_names_tests_that_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)

    assert len(named) > 20
    for file, test in named:
        assert f"def {test}" in (ROOT / file).read_text("utf-8"), f"{file}::{test}"
    for row in PAGE.splitlines():
        if row.startswith("| ") and "shown by" not in row:
            assert row.rstrip(" |").endswith("`"), f"no test: {row}"
