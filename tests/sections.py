"""Sections of a report that commands make, each between two comments of its own."""

from pathlib import Path


def put_into(path: Path, name: str, text: str) -> None:
    """Put what `make NAME` found into its section; at the end of the file when it has none yet."""
    begin, end = f"<!-- {name}: from here, by make {name} -->", f"<!-- {name}: to here -->"
    old = path.read_text(encoding="utf-8") if path.exists() else "# Reliability\n"
    before, found, rest = old.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    if not found:
        before = before.rstrip("\n") + "\n\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
