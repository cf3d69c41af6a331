"""What stories predict is what the brokers of real clusters held, at every moment; without Java."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.story import load_story
from tests.conformance.cluster_moments import STORIES, moments_of, predicted
from tests.conformance.cluster_recordings import (
    FOLDER,
    read_cluster_recordings,
    write_cluster_recording,
)

RECORDINGS = dict(read_cluster_recordings())
NAMES = sorted(path.stem for path in STORIES.glob("*.yaml"))


def test_every_story_seen_on_a_cluster_has_a_recording() -> None:
    assert sorted(RECORDINGS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_story_predicts_what_the_brokers_held(name: str) -> None:
    recorded = RECORDINGS[name]["moments"]
    leaders = {
        moment: held["consumer"]["leader"]
        for moment, held in recorded.items()
        if "consumer" in held
    }

    views = moments_of(name)

    assert recorded == {
        moment: predicted(views[moment], leader=leaders.get(moment)) for moment in views
    }
    assert leaders, "nobody read from the leader"


@pytest.mark.parametrize("name", NAMES)
def test_a_story_names_the_release_it_was_seen_on(name: str) -> None:
    source = load_story(STORIES / f"{name}.yaml").source

    assert source.startswith(f"Seen on Kafka {RECORDINGS[name]['kafka']}: ")


def test_the_bugs_and_their_near_misses_differ_in_what_the_brokers_held() -> None:
    ends = {name: RECORDINGS[name]["moments"]["elected"]["consumer"]["reads"] for name in NAMES}

    assert ends["kafka_01_lost_tombstone"][0] == "K=v@0"
    assert "K=v@0" not in ends["kafka_02_tombstone_kept"]
    assert ends["kafka_03_lost_log_end"] == ["A@0", "E@1"]
    assert ends["kafka_04_log_end_kept"] == ["A@0", "E@4"]


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    moments = {"written": {"r1": {"batches": [], "epochs": [[0, 0]], "log_end": 0}}}

    (path,) = write_cluster_recording("9.9.9", {"a_story": moments}, folder=tmp_path)

    assert path == tmp_path / "a_story.json"
    assert dict(read_cluster_recordings(tmp_path)) == {
        "a_story": {"kafka": "9.9.9", "moments": moments}
    }


def test_the_recordings_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 20_000


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")

    with pytest.raises(BadInput, match=r"x\.json: not a recording of a cluster"):
        list(read_cluster_recordings(tmp_path))
