"""A suite on several processes: each has the plugins, and one that dies is told."""

from pathlib import Path

from tests.plugins.plugged import EXAMPLE, PAIR, replog

DEADLY = EXAMPLE.replace('"longest"', '"deadly"').replace(
    "return (", "return __import__('os')._exit(9) if record.value == 'die' else ("
)
PLAIN = "format: replog-story/1\nreplicas: [r1]\n"


def test_the_processes_of_a_suite_know_the_plugins_and_the_death_of_one_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "longest.py").write_text(EXAMPLE)
    (tmp_path / "mine.py").write_text(DEADLY)
    (tmp_path / "a.yaml").write_text(PAIR)
    (tmp_path / "b.yaml").write_text(
        PAIR.replace("longest", "deadly").replace("append r1 b", "append r1 die")
    )
    (tmp_path / "c.yaml").write_text(PLAIN)
    with_both = ["suite", ".", "-j", 2, "--plugin", "longest", "--plugin", "mine"]

    deadly = replog(tmp_path, *with_both)
    (tmp_path / "b.yaml").unlink()
    harmless = replog(tmp_path, *with_both)

    assert deadly.returncode == 1
    assert "FAIL b.yaml" in deadly.stdout
    assert "error: the process that was to run it ended, perhaps for want of" in deadly.stdout
    assert "Traceback" not in deadly.stderr
    assert harmless.returncode == 0
    assert "2 as expected, 0 not" in harmless.stdout
