"""`make bench`: what runs and commands cost; writes `reports/bench.json`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.rates import reference_mix
from tests.bench.starting import start_up
from tests.bench.trees import trees

PARTS = ("reference_mix", "start_up")


def main() -> None:
    """Measures and writes; figures that were not asked for stay as they are in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("reports/bench.json"))
    parser.add_argument("--scenarios", type=int, default=300)
    parser.add_argument("--beside", type=Path, help="another checkout, measured in turns with it")
    parser.add_argument("--only", choices=PARTS, action="append", help="may be given repeatedly")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = trees(arguments.beside)
        parts: dict[str, Callable[[], Any]] = {
            "reference_mix": lambda: reference_mix(found, arguments.scenarios),
            "start_up": lambda: start_up(found, folder),
        }
        figures: dict[str, Any] = {
            "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
        }
        if arguments.only and arguments.out.exists():
            figures = json.loads(arguments.out.read_text(encoding="utf-8")) | figures
        for part in arguments.only or PARTS:
            started = time.perf_counter()
            figures[part] = parts[part]()
            print(f"{part}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
