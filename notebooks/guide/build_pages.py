"""Makes the pages that nobody writes: the reference, out of the code, and the repository's own.

Pages of the repository keep their paths in the site, and so do the files that they link to: a link
that works in the one works in the other. MkDocs calls `on_files` (its hooks).
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import sim.simulate.cluster
from sim.cli import COMMANDS, PROGRAM, listing
from sim.diagnose.draw.shapes import Picture, Rect, Shape, Text, arrow, svg_of, text_width
from sim.protocol.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
OF_THE_REPOSITORY = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "scenarios/README.md",
    "sim/check/certify/README.md",
    "sim/simulate/logfile/FORMAT.md",
    "sim/protocol/events/FORMAT.md",
)
PICTURES = (".svg", ".png", ".html")
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)]*)?\))")
_LANGUAGES = {".yaml": "yaml", ".py": "python", ".json": "json", ".ipynb": "json"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference and of the repository, and what these link to."""
    texts = dict(_reference())
    for file in [file for file in files if file.src_uri.endswith(".md")]:
        texts[file.src_uri] = file.content_string
        files.remove(file)
    reports = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "reports").glob("*.md"))]
    for uri in (*OF_THE_REPOSITORY, *reports):
        texts[uri] = (ROOT / uri).read_text(encoding="utf-8")
    pages = set(texts)
    linked: set[str] = set()
    for uri in sorted(pages):
        texts[uri] = _linked(uri, texts[uri], pages, linked)
    for target in sorted(linked):
        if target.endswith(PICTURES):
            files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
        else:
            texts[f"{target}.md"] = _as_page(target)
    texts["reference/processes.svg"] = _picture_of(_processes())
    for uri, text in texts.items():
        files.append(File.generated(config, uri, content=text))
    return files


def _linked(uri: str, text: str, pages: set[str], linked: set[str]) -> str:
    """The text with its links to files of the repository made links to what shows them here.

    A page of the guide says `../../../` to reach the repository; in the site that is its root.
    """
    folder = Path(uri).parent

    def put(found: re.Match[str]) -> str:
        opening, target, closing = found.groups()
        path = _within_root(folder / target)
        if "://" in target or (path not in pages and not (ROOT / path).is_file()):
            return found[0]
        if path == "README.md":
            path = "index.md"
        elif path not in pages:
            linked.add(path)
            path = path if path.endswith(PICTURES) else f"{path}.md"
        return f"{opening}{os.path.relpath(path, folder)}{closing}"

    return _LINK.sub(put, text)


def _within_root(path: Path) -> str:
    """The path without `..`; those that lead out of the root are left out."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts[-1:] = []
        else:
            parts.append(part)
    return "/".join(parts)


def _as_page(target: str) -> str:
    """A file of the repository as a page."""
    path = ROOT / target
    language = _LANGUAGES.get(path.suffix, "text")
    return f"# {path.name}\n\n`{target}`\n\n````{language}\n{path.read_text('utf-8')}\n````\n"


def _reference() -> Iterator[tuple[str, str]]:
    yield "reference/commands.md", "\n".join(_commands())
    yield "reference/rules.md", "\n".join(_rules())
    yield "reference/processes.md", _cluster()
    for uri, title, table in (
        ("presets", "Presets", "presets"),
        ("invariants", "Invariants", "invariants"),
        ("situations", "Situations that a scenario may expect", "reached"),
        ("steps", "Steps of stories", "ops"),
        ("faults", "Faults", "faults"),
        ("mixes", "Mixes of random clusters", "mixes"),
        ("columns", "Columns of a sweep", "columns"),
        ("limits", "Limits of numbers and texts", "limits"),
    ):
        yield f"reference/{uri}.md", "\n".join(_records(title, listing.TABLES[table]()))


def _commands() -> Iterator[str]:
    """The help of every command."""
    yield "# Commands"
    yield ""
    yield "What `replog COMMAND --help` prints. Exit status of all: 0 every expectation met,"
    yield "1 one failed, 2 bad usage or input, 3 inconclusive, 130 interrupted."
    for name, command in COMMANDS.items():
        context = click.Context(PROGRAM, info_name="replog", max_content_width=100)
        declared = command.declared(name)
        text = declared.get_help(click.Context(declared, parent=context, info_name=name))
        yield from ("", f"## replog {name}", "", "```text", text, "```")


def _rules() -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "Every disputed behaviour (`replog list rules`), its values, and what shows each."
    meant = {row["rule"]: row for row in listing.rules()}
    for name in RULES:
        row = meant[name]
        source = f" ({row['source']})" if row["source"] else ""
        yield from ("", f"## {name}", "", f"{row['decides'].capitalize()}{source}.", "")
        yield from ("| value | means | source | example |", "|---|---|---|---|")
        for value in row["values"]:
            mark = " (default)" if value["value"] == row["default"] else ""
            example = value["example"]
            shown = f"[file](../{example})" if example else ""
            cells = (f"`{value['value']}`{mark}", value["means"], value["source"], shown)
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _records(title: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each row as a section that is named by its first column."""
    yield f"# {title}"
    for row in rows:
        (_, name), *others = row.items()
        yield from ("", f"## {name}", "")
        for column, value in others:
            if isinstance(value, Mapping):
                yield from (f"- `{field}`: {meaning}" for field, meaning in value.items())
            elif value:
                yield f"*{column}*: {str(value).replace('[', '&#91;')}"
            yield ""


def _cluster() -> str:
    """What the package of the cluster says of itself, with a picture of its table."""
    about = _documentation().replace(":\n\n|", f":\n\n![{_DRAWN}](processes.svg)\n\n|", 1)
    return f"# A cluster of processes\n\n{about}\n"


_DRAWN = "Each process of SimPy's, who starts it on its left, what interrupts it on its right"
_BOX, _ROW = 320, 40
"""Width of a process, and from one to the next, in pixels."""


def _documentation() -> str:
    return inspect.cleandoc(sim.simulate.cluster.__doc__ or "")


def _processes() -> list[dict[str, str]]:
    """The table of processes in the docstring of the cluster: a row each, by the heads."""
    plain = _documentation().replace("`", "").splitlines()
    lines = [line for line in plain if line.startswith("|")]
    heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(heads, row, strict=True)) for row in rows]


def _picture_of(rows: Sequence[Mapping[str, str]]) -> str:
    """Each process as a box between who starts it and what interrupts it, as SVG."""
    left = max(text_width(row["started by"], "t") for row in rows) + 46
    behind = max(text_width(row["interrupted by"], "ta") for row in rows) + 50
    shapes: list[Shape] = []
    for y, row in zip(range(0, len(rows) * _ROW, _ROW), rows, strict=False):
        name, middle, right = row["process"], y + _ROW / 2 - 4, left + _BOX
        shapes += [
            Rect(left, y, _BOX, _ROW - 8, "marker", 5),
            Text(left + 10, y + 14, name, "tb"),
            Text(left + 18 + text_width(name, "tb"), y + 14, f"of {row['owner']}", "tf"),
            Text(left + 10, y + 27, f"waits for {row['waits for']}", "tf"),
            Text(left - 40, middle + 4, row["started by"], "t", "end"),
            *arrow((left - 34, middle), (left - 2, middle), "message"),
        ]
        if row["interrupted by"]:
            shapes += arrow((right + 36, middle), (right + 2, middle), "fault")
            shapes.append(Text(right + 42, middle + 4, row["interrupted by"], "ta"))
    drawn = Picture(left + _BOX + behind, len(rows) * _ROW, tuple(shapes))
    return svg_of(drawn, alternative=_DRAWN)
