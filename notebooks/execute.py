"""Executes every notebook beside this file and compares its outputs with those that stand in it.

python notebooks/execute.py            an error, a warning or another output fails
python notebooks/execute.py --write    puts the new outputs in their place
python notebooks/execute.py 2_two      only those whose name begins so
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
AT_ONCE = 2
CELL_SECONDS_MAX = 120
"""After so long a cell hangs; a whole notebook takes less than 10 s on an idle machine."""
PICTURES = ("image/png",)
"""Bytes that depend on fonts and versions: not compared."""
_MARKUP = re.compile(r"<style.*?</style>|<[^<>]*>", re.DOTALL)
_FRAME_STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)


def cleaned(notebook: Any) -> Any:
    """The notebook without what differs from one execution, or one machine, to the next."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            output.get("metadata", {}).clear()
            data = output.get("data", {})
            if "text/html" in data:
                # The look of pandas' tables, which every page that shows notebooks has anyway.
                data["text/html"] = _FRAME_STYLE.sub("", data["text/html"])
    return notebook


def problems(notebook: Any) -> list[str]:
    """What must not stand in outputs: errors, warnings, and where this machine keeps its files."""
    found = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", ()):
            text = "".join(_texts(output))
            if output.output_type == "error" or output.get("name") == "stderr":
                found.append(f"cell {number}: {text or output.get('evalue')}")
            if re.search(r"(/tmp|/home|/root|/Users|/work)/|site-packages", text):
                found.append(f"cell {number}: names a path of this machine")
    return found


def _texts(output: Any) -> list[str]:
    """What an output says; how it looks does not count, nor where in a picture it stands."""
    data = output.get("data", {})
    texts = [str(data[kind]) for kind in sorted({*data} - {*PICTURES})]
    return [output.get("text", ""), *(" ".join(_MARKUP.sub(" ", text).split()) for text in texts)]


def differences(before: Any, after: Any) -> list[str]:
    """The cells whose outputs are not those that stand in the notebook."""
    found = []
    for number, (old, new) in enumerate(zip(before.cells, after.cells, strict=True), start=1):
        texts = [[_texts(one) for one in cell.get("outputs", ())] for cell in (old, new)]
        if texts[0] != texts[1]:
            found.append(
                f"cell {number}: another output than the one that stands there; if it is right: "
                "make notebooks ARGS=--write"
            )
    return found


async def executed(path: Path, sockets: Path, turn: asyncio.Semaphore) -> tuple[Any, list[str]]:
    """The notebook with new outputs, and what is wrong with it.

    Kernels are talked to through files in `sockets`, which nobody else on the machine can read.
    """
    notebook = nbformat.read(path, as_version=4)
    before = nbformat.read(path, as_version=4)
    kernel = AsyncKernelManager(
        kernel_name="python3", transport="ipc", ip=str(sockets / path.stem[:1])
    )
    client = NotebookClient(
        notebook,
        km=kernel,
        timeout=CELL_SECONDS_MAX,
        resources={"metadata": {"path": str(HERE)}},
    )
    async with turn:
        started = time.monotonic()
        try:
            await client.async_execute()
        except CellExecutionError as error:
            return notebook, [str(error)]
        finally:
            await kernel.shutdown_kernel(now=True)
        print(f"{path.name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
    cleaned(notebook)
    found = problems(notebook)
    return notebook, found if "--write" in sys.argv else [*found, *differences(before, notebook)]


async def main(names: list[str]) -> int:
    """The exit status: 0 if all is well."""
    turn = asyncio.Semaphore(AT_ONCE)
    paths = [
        path
        for path in sorted(HERE.glob("*.ipynb"))
        if not names or path.name.startswith(tuple(names))
    ]
    with TemporaryDirectory() as folder:
        results = await asyncio.gather(*(executed(path, Path(folder), turn) for path in paths))
    status = 0
    for path, (notebook, found) in zip(paths, results, strict=True):
        for problem in found:
            print(f"{path.name}: {problem}")
            status = 1
        if not found and "--write" in sys.argv:
            nbformat.write(notebook, path)
    return status


if __name__ == "__main__":
    sys.exit(asyncio.run(main([word for word in sys.argv[1:] if not word.startswith("--")])))
