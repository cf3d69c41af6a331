"""A small story as a document, and what is said about one that is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.simulate.story import load_story

BASE: dict[str, Any] = {
    "format": "replog-story/1",
    "replicas": ["1", "2"],
    "steps": [{"op": "elect", "leader": "1", "epoch": 1}],
}


def refused(tmp_path: Path, document: object) -> str:
    """What is said about a document, without the path and the line in front."""
    path = tmp_path / "story.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(BadInput) as caught:
        load_story(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return re.sub(r"^:\d+", "", message.removeprefix(str(path)))


def step_refused(tmp_path: Path, step: object) -> str:
    """What is said about a second step."""
    return refused(tmp_path, BASE | {"steps": [*BASE["steps"], step]})
