"""`python -m tests.conformance`: its exit status, its page, what it leaves beside the page."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from tests.conformance import __main__ as command
from tests.conformance.broker_compare import BrokerResult
from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.cluster_all import RealResult
from tests.conformance.cluster_run import ClusterResult
from tests.conformance.compare import replog_answer
from tests.conformance.noticing import Noticed
from tests.conformance.planted import PLANTED

Json = dict[str, Any]


class Standin:
    """Answers for Kafka as Replog does, or wrongly."""

    preset = "kafka-4.0"

    def __init__(self, version: str) -> None:
        self.version = version

    def answer(self, document: Json) -> Json:
        answer = replog_answer(document)
        if self.version == "0.0.1":
            for step in answer["steps"]:
                step["log_end_offset"] += 1
        return answer


class NothingBeside:
    """Nothing is compared in other processes."""

    started = 0
    stopped = 0

    def __init__(self, version: str, seed: int, *, record: int | None = None) -> None:
        NothingBeside.started += 1

    def result(self) -> None:
        return None

    def stop(self) -> None:
        NothingBeside.stopped += 1


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "KafkaCleaner", Standin)
    monkeypatch.setattr(command, "Beside", NothingBeside)
    monkeypatch.setattr(command, "_with_broker", lambda chosen, status: broker())
    monkeypatch.setattr(command, "_with_real", lambda status: real())
    return tmp_path / "conformance.md"


def broker(difference: str | None = None) -> BrokerResult:
    return BrokerResult((), {}, frozenset(), difference, {"format": "replog-log/1"})


def real(difference: str | None = None) -> RealResult:
    seek = SeekResult("4.3.1", {}, None, 25.0)
    return RealResult(seek, (ClusterResult("3.8.0", {}, difference, 28.0),))


def run(page: Path, *arguments: str) -> int:
    return command.main(["--out", str(page), "--no-planted", *arguments])


def test_all_agree_but_too_few_logs_show_too_little(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(page, "--count", "3") == 1
    assert "in none of them" in capsys.readouterr().out
    assert "raise --count" in page.read_text()


def test_a_run_in_which_all_agree_and_everything_happens_exits_0(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.conformance.random_runs.features_expected", lambda preset: ())

    assert run(page, "--count", "5") == 0

    out = capsys.readouterr().out
    assert "5 different random logs" in out
    assert "real broker, 0 passes" in out
    assert "**All agree.**" in page.read_text()


def test_a_difference_exits_1_and_leaves_the_smallest_log(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(page, "--count", "5", "--kafka", "0.0.1", "--no-broker") == 1

    written = json.loads(page.with_name("conformance-difference.json").read_text())
    out = capsys.readouterr().out
    assert written["format"] == "replog-log/1"
    assert "log_end_offset: Replog says 0, Kafka says 1" in out
    assert json.dumps(written, indent=1) in out
    assert "They differ" in page.read_text()


def test_an_error_that_no_log_notices_exits_1(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def notice(logs: Path, *, progress: Any) -> list[Noticed]:
        assert len(logs.read_text().splitlines()) == 2
        return [Noticed(PLANTED[0], None, "")]

    monkeypatch.setattr(command, "notice", notice)
    monkeypatch.setattr("tests.conformance.random_runs.features_expected", lambda preset: ())

    assert command.main(["--out", str(page), "--count", "2"]) == 1

    assert "planted errors: 0 of 1 noticed" in capsys.readouterr().out
    assert f"no log notices that {PLANTED[0].what}" in page.read_text()


def test_a_difference_on_the_broker_exits_1_and_leaves_its_log(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_with_broker", lambda chosen, status: broker("pass 1: no"))
    monkeypatch.setattr("tests.conformance.random_runs.features_expected", lambda preset: ())

    assert run(page, "--count", "2") == 1
    assert page.with_name("conformance-broker.json").exists()


def test_a_difference_on_a_cluster_exits_1_and_is_said(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_with_real", lambda status: real("a_story: tail: y"))
    monkeypatch.setattr("tests.conformance.random_runs.features_expected", lambda preset: ())

    assert run(page, "--count", "2") == 1
    assert "cluster of Kafka 3.8.0: a_story: tail: y" in capsys.readouterr().out
    assert "They differ" in page.read_text()


def test_no_broker_means_no_cluster_either(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.conformance.random_runs.features_expected", lambda preset: ())

    run(page, "--count", "2", "--no-broker")

    assert "real" not in capsys.readouterr().out
    assert "Real clusters" not in page.read_text()


def test_recordings_are_made_when_all_agree(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tests.conformance.random_runs.features_expected", lambda preset: ())
    monkeypatch.chdir(tmp_path)

    assert run(page, "--count", "12", "--record", "3") == 0
    (file,) = (tmp_path / "tests" / "data" / "kafka").iterdir()
    assert 0 < len(file.read_text().splitlines()) <= 3


def test_no_recording_is_made_of_a_run_with_a_complaint(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(page, "--count", "2", "--record", "3") == 1
    assert not (tmp_path / "tests").exists()


def test_without_java_or_network_it_exits_2(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(version: str) -> Standin:
        raise BadInput("no java on the PATH; Kafka needs Java 17 or newer")

    monkeypatch.setattr(command, "KafkaCleaner", missing)

    assert run(page) == 2
    assert "no java on the PATH" in capsys.readouterr().err
    assert not page.exists()


def test_an_interrupted_run_exits_130(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(version: str) -> Standin:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "KafkaCleaner", interrupted)

    assert run(page) == 130
    assert not page.exists()


@pytest.mark.parametrize("arguments", [["--count", "0"], ["--count", "few"], ["--nothing"]])
def test_bad_usage_exits_2(page: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(page, *arguments)

    assert ended.value.code == 2


def test_a_page_that_cannot_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    assert command.main(["--out", str(tmp_path)]) == 2


def test_what_goes_on_beside_is_begun_for_the_newest_release_and_stopped_when_interrupted(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = NothingBeside.started
    run(page, "--count", "2", "--no-beside")
    assert NothingBeside.started == before

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_with_logs", interrupted)
    stopped = NothingBeside.stopped
    assert run(page, "--count", "2") == 130
    assert (NothingBeside.started, NothingBeside.stopped) == (before + 1, stopped + 1)
