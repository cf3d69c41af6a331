"""The Java that Spark would start: whether there is one, and a new enough one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from sim.errors import BadInput

JAVA_MIN = 17
JAVA_ADVICE = (
    "sweeps on Spark need Java 17 or 21; on Debian: apt-get install openjdk-17-jre-headless "
    "(--engine process needs no Java)"
)


def find_java() -> Path:
    """The `java` that Spark would start: JAVA_HOME's, then the PATH's.

    Raises BadInput, naming the package to install, when there is none or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise BadInput(f"JAVA_HOME is {home}, which has no bin/java; {JAVA_ADVICE}")
    else:
        on_path = shutil.which("java")
        if on_path is None:
            raise BadInput(f"no Java found in JAVA_HOME or on the PATH; {JAVA_ADVICE}")
        java = Path(on_path)
    major = _java_major(java)
    if major is None or major < JAVA_MIN:
        found = "does not run" if major is None else f"is Java {major}"
        raise BadInput(f"{java}: {found}; {JAVA_ADVICE}")
    return java


def _java_major(java: Path) -> int | None:
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else None
