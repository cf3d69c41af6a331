"""Recordings of what the brokers of real clusters held, so that stories are compared without Java.

One file for each story, named after it: the release, and for each moment what every replica held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from sim.errors import BadInput
from sim.files.atomic import replacing
from tests.conformance.compare import Json

FOLDER = Path("tests/data/kafka_cluster")


def write_cluster_recording(
    version: str, seen: Mapping[str, Mapping[str, Json]], *, folder: Path = FOLDER
) -> Iterator[Path]:
    """Write what a cluster held, by story and moment; yields each file.

    Raises:
        BadInput: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for story, moments in seen.items():
        path = folder / f"{story}.json"
        with replacing(path) as file:
            recording = {"kafka": version, "story": story, "moments": moments}
            file.write(_lines(recording).encode())
        yield path


def read_cluster_recordings(folder: Path = FOLDER) -> Iterator[tuple[str, Json]]:
    """Every recording under a folder, with the version that gave it and the moments, by its story.

    Raises:
        BadInput: A file is no recording.
    """
    for path in sorted(folder.glob("*.json")):
        try:
            recording = json.loads(path.read_text(encoding="utf-8"))
            yield recording["story"], {name: recording[name] for name in ("kafka", "moments")}
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{path}: not a recording of a cluster") from None


def _lines(recording: Json) -> str:
    """JSON with a line for each replica of each moment."""
    moments = []
    for name, moment in recording["moments"].items():
        held = ",\n".join(
            f"   {json.dumps(who)}: {json.dumps(what)}" for who, what in moment.items()
        )
        moments.append(f"  {json.dumps(name)}: {{\n{held}\n  }}")
    head = "".join(
        f" {json.dumps(key)}: {json.dumps(recording[key])},\n" for key in ("kafka", "story")
    )
    return f'{{\n{head} "moments": {{\n' + ",\n".join(moments) + "\n }\n}\n"
