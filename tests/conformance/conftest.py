"""A Java that is a Python program, for tests of processes."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes `java` a Python program, and keeps temporary folders where the test sees them."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    folders = tmp_path / "folders"
    folders.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(folders))
    monkeypatch.setattr("tempfile.tempdir", str(folders))

    def write(program: str) -> None:
        (home / "program.py").write_text(program)
        script = home / "bin" / "java"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{home}/program.py" "$@"\n')
        script.chmod(0o755)

    return write
