"""A suite on several processes: each has the plugins, and one that dies is told."""

from pathlib import Path

from tests.plugins.plugged import EXAMPLE, PAIR, replog

DEADLY = EXAMPLE.replace('"longest"', '"deadly"').replace(
    "return (",
    "return __import__('os')._exit(9) if record.value == 'exit' else "
    "__import__('os').kill(__import__('os').getpid(), 9) if record.value == 'die' else (",
)
PLAIN = "format: replog-story/1\nreplicas: [r1]\nsteps: [elect r1 1]\n"


def test_the_processes_of_a_suite_know_the_plugins_and_the_death_of_one_costs_its_file_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "longest.py").write_text(EXAMPLE)
    (tmp_path / "mine.py").write_text(DEADLY)
    (tmp_path / "a.yaml").write_text(PAIR)
    for name, value in {"b": "die", "d": "exit", "e": "exit"}.items():
        text = PAIR.replace("longest", "deadly").replace("append r1 b", f"append r1 {value}")
        (tmp_path / f"{name}.yaml").write_text(text)
    for name in ("c", "f", "g"):
        (tmp_path / f"{name}.yaml").write_text(PLAIN)
    with_both = ["suite", ".", "-j", 2, "--plugin", "longest", "--plugin", "mine"]

    deadly = replog(tmp_path, *with_both, "--junit", "j.xml")

    assert deadly.status == 1
    marks = [line.split()[0] for line in deadly.out.splitlines()[:7]]
    assert marks == ["ok", "FAIL", "ok", "FAIL", "FAIL", "ok", "ok"]
    ended = "error: the process that ran it ended, perhaps for want of memory"
    assert deadly.out.count(ended) == 3
    assert 'tests="7" failures="0" errors="3"' in (tmp_path / "j.xml").read_text()
    assert "Traceback" not in deadly.err


def test_a_plugin_that_raises_in_processes_alone_is_the_error_of_each_file(tmp_path: Path) -> None:
    only_there = "import multiprocessing\nif multiprocessing.parent_process(): 1 / 0\n"
    (tmp_path / "mine.py").write_text(only_there + EXAMPLE)
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(PLAIN)

    ran = replog(tmp_path, "suite", ".", "-j", 2, "--plugin", "mine")

    assert (ran.status, ran.err) == (1, "")
    assert ran.out.count("error: plugin mine: cannot be imported: ZeroDivisionError") == 2
