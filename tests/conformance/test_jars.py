"""Kafka's jars: what is asked of Ivy, what is kept, and what is said when that cannot work.

A script stands in for Java here; no test needs the network.
"""

from pathlib import Path

import pytest

from sim.errors import BadInput
from tests.conformance.jars import IVY_SETTINGS, KAFKA_VERSION, default_cache, kafka_jars

VERSION = "1.2.3"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache folder that does not exist yet."""
    return tmp_path / "deep" / "cache"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that notes what it is asked, and "downloads" two jars."""
    script = tmp_path / "home" / "bin" / "java"
    script.parent.mkdir(parents=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(IVY_SETTINGS, raising=False)
    answers(script, f"mkdir jars; touch jars/kafka_2.13-{VERSION}.jar jars/a-1.jar")
    return script


def answers(script: Path, commands: str) -> None:
    """Let the stand-in do this, after it noted what it was asked in the file `asked` beside it."""
    script.write_text(f'#!/bin/sh\necho "$@" >> {script.parent}/asked\n{commands}\n')
    script.chmod(0o755)


def asked(java: Path) -> list[str]:
    """The command lines that the stand-in was given."""
    return (java.parent / "asked").read_text().splitlines()


def test_the_jars_of_a_release_are_fetched_whole_and_named_in_order(
    cache: Path, java: Path
) -> None:
    found = kafka_jars(VERSION, cache=cache)

    folder = cache / f"kafka-{VERSION}"
    assert found == [folder / "a-1.jar", folder / f"kafka_2.13-{VERSION}.jar"]
    (command,) = asked(java)
    assert f"-dependency org.apache.kafka kafka_2.13 {VERSION}" in command
    assert "-settings" not in command


def test_what_is_in_the_cache_is_not_fetched_again(cache: Path, java: Path) -> None:
    first = kafka_jars(VERSION, cache=cache)
    second = kafka_jars(VERSION, cache=cache)

    assert first == second
    assert len(asked(java)) == 1


def test_a_mirror_is_named_by_an_ivy_settings_file(
    cache: Path, java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "mine.xml"
    settings.touch()
    monkeypatch.setenv(IVY_SETTINGS, str(settings))

    kafka_jars(VERSION, cache=cache)

    assert f"-settings {settings}" in asked(java)[0]


def test_a_settings_file_that_is_not_there_is_named(
    cache: Path, java: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"mine\.xml: no such Ivy settings file"):
        kafka_jars(VERSION, cache=cache, ivy_settings=tmp_path / "mine.xml")

    assert not (java.parent / "asked").exists()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (f"module not found: org.apache.kafka#kafka_2.13;{VERSION}", "no such release"),
        (
            "module not found: org.apache.kafka#kafka-raft;1.2.3",
            r"incomplete on Maven Central: no kafka-raft 1\.2\.3",
        ),
        (
            f"Host mirror.example not found. url=x\nmodule not found: x#kafka_2.13;{VERSION}",
            r"no network: Host mirror\.example not found",
        ),
        ("Exception in thread main\n\tof another kind", "Ivy failed: of another kind"),
        ("", "Ivy failed: it said nothing"),
    ],
)
def test_a_failure_of_ivy_is_one_clear_line_and_leaves_nothing_behind(
    cache: Path, java: Path, output: str, words: str
) -> None:
    answers(java, f"mkdir jars; touch jars/a-1.jar\ncat <<'END'\n{output}\nEND\nexit 1")

    with pytest.raises(BadInput, match=f"^Kafka {VERSION}: {words}") as caught:
        kafka_jars(VERSION, cache=cache)

    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_an_ivy_that_retrieved_nothing_has_failed(cache: Path, java: Path) -> None:
    answers(java, "exit 0")

    with pytest.raises(BadInput, match="Ivy failed"):
        kafka_jars(VERSION, cache=cache)

    assert list(cache.iterdir()) == []


def test_a_download_that_another_process_finished_first_is_taken(cache: Path, java: Path) -> None:
    theirs = cache / f"kafka-{VERSION}" / f"kafka_2.13-{VERSION}.jar"
    answers(
        java,
        f"mkdir jars; touch jars/a-1.jar; mkdir {theirs.parent}; touch {theirs}",
    )

    assert kafka_jars(VERSION, cache=cache) == [theirs]
    assert list(cache.iterdir()) == [theirs.parent]


def test_a_folder_without_the_broker_is_told_apart_from_a_release(cache: Path) -> None:
    (cache / f"kafka-{VERSION}").mkdir(parents=True)

    with pytest.raises(BadInput, match=r"has no kafka_2\.13-1\.2\.3\.jar; remove the folder"):
        kafka_jars(VERSION, cache=cache)


@pytest.mark.parametrize("version", ["latest", "4.3", "../4.3.1", ""])
def test_only_the_number_of_a_release_is_a_version(cache: Path, version: str) -> None:
    with pytest.raises(BadInput, match=f"not a release; give a version such as {KAFKA_VERSION}"):
        kafka_jars(version, cache=cache)


def test_without_java_the_package_to_install_is_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BadInput, match=r"no java on the PATH; .*openjdk-17-jre-headless"):
        kafka_jars(VERSION, cache=cache)


def test_a_cache_that_cannot_be_written_is_named(java: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match=r"file/cache/kafka-1\.2\.3: cannot be written"):
        kafka_jars(VERSION, cache=tmp_path / "file" / "cache")

    assert not (java.parent / "asked").exists()


def test_the_cache_is_where_the_users_caches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_cache() == Path("/caches/replog")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_cache() == Path("/home/me/.cache/replog")
