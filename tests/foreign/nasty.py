"""Texts that do more than be seen where they are shown as they are; texts of every script."""

from pathlib import Path
from typing import Final

import yaml

_TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
NASTY: Final[dict[str, str]] = _TEXTS["nasty"]
"""What each does, and the text."""
PLAIN: Final[dict[str, str]] = _TEXTS["plain"]
"""What is to stay as it is."""
