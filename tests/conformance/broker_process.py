"""Processes of Kafka nodes: their folders, ports, output, and that none outlives the harness.

A node runs in a session of its own, so that Ctrl-C reaches the harness alone, which then ends the
nodes itself. A watchman beside each node ends it when the harness is killed.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from tests.conformance.jars import java_command

LOOPBACK = "127.0.0.1"
START_S = 120
STOP_S = 30
POLL_S = 0.1
_CLUSTER_ID = "cmVwbG9nLWNvbmZvcm1hbg"
_HEAP = ("-Xms128m", "-Xmx512m", "-XX:TieredStopAtLevel=1")

# Waits until its input ends, which it does when the harness is gone, then ends the node.
_WATCHMAN = 'read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"'


def java_with(jars: Sequence[Path], *options: str) -> list[str]:
    """The command that starts Java with these jars, without the class to run.

    Raises:
        BadInput: There is no Java.
    """
    return [java_command(), *_HEAP, *options, "-cp", ":".join(map(str, jars))]


def free_ports(count: int) -> list[int]:
    """Ports of loopback nobody listens on at the moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind((LOOPBACK, 0))
        return [int(bound.getsockname()[1]) for bound in sockets]


def write_settings(path: Path, settings: Mapping[str, str]) -> Path:
    """Write the settings of a node as a properties file."""
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    path.write_text(text, encoding="utf-8")
    return path


def format_storage(java: Sequence[str], settings: Sequence[Path], *, folder: Path) -> None:
    """Prepare the log folder of each node, as `kafka-storage.sh format` does, all at once.

    Args:
        java: What `java_with` gives.
        settings: The properties file of each node.
        folder: Removed by a watchman if the harness is killed meanwhile.

    Raises:
        BadInput: It cannot be done; the text has the tool's last words.
    """
    tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c"]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [*java, *tool, str(path)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for path in settings
        ]
        for process in running:
            stack.enter_context(_ended_at_the_end(process, folder, orderly=False))
        try:
            for process in running:
                _, said = process.communicate(timeout=START_S)
                if process.returncode != 0:
                    raise BadInput(f"the broker's folder cannot be formatted: {last_words(said)}")
        except subprocess.TimeoutExpired:
            raise BadInput(f"the broker's folder was not formatted in {START_S} s") from None


@contextmanager
def running_node(
    java: Sequence[str], settings: Path, *, output: Path, folder: Path, orderly: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a node; end it on leaving.

    Args:
        java: What `java_with` gives.
        settings: Its properties file.
        output: Takes what it says.
        folder: Removed by the watchman if the harness is killed.
        orderly: Whether the node may shut down in order; else it is killed at once, which also ends
            one that is paused.
    """
    with output.open("wb") as said:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd=output.parent,
            start_new_session=True,  # Ctrl-C is the harness's: it ends the node itself
        )
    with _ended_at_the_end(process, folder, orderly=orderly):
        yield process


@contextmanager
def _ended_at_the_end(
    process: subprocess.Popen[Any], folder: Path, *, orderly: bool
) -> Iterator[None]:
    """End the node on leaving; a watchman does it if the harness is killed before."""
    with subprocess.Popen(
        ["sh", "-c", _WATCHMAN, "sh", str(process.pid), str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as watchman:
        try:
            yield
        finally:
            try:
                if orderly:
                    process.terminate()
                    process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                pass
            finally:
                process.kill()
                process.wait()
                watchman.kill()


def await_listening(
    process: subprocess.Popen[bytes], port: int, output: Path, start_s: float
) -> None:
    """Wait until a node takes connections.

    Raises:
        BadInput: It ended, or does not listen in time.
    """
    end = time.monotonic() + start_s
    while time.monotonic() < end:
        if process.poll() is not None:
            words = last_words(output.read_text(encoding="utf-8", errors="replace"))
            raise BadInput(f"the broker ended with status {process.returncode}: {words}")
        try:
            with socket.create_connection((LOOPBACK, port), timeout=1):
                return
        except OSError:
            time.sleep(POLL_S)
    raise BadInput(f"the broker does not listen on port {port} after {start_s:.0f} s")


def last_words(output: str) -> str:
    """The last line a node said, SLF4J's complaints left out."""
    lines = [line for line in output.splitlines() if line.strip() and "SLF4J" not in line]
    return lines[-1].strip() if lines else "it said nothing"


def await_that(
    happened: Callable[[], bool],
    what: str,
    *,
    patience_s: float,
    last: Callable[[], object] | None = None,
) -> None:
    """Wait until something has happened.

    Args:
        happened: Whether it has; asked again and again.
        what: What is waited for.
        patience_s: For how long at most.
        last: Says the state it is in instead, for the error.

    Raises:
        BadInput: It has not in time; the text says what is so instead.
    """
    until = time.monotonic() + patience_s
    while not happened():
        if time.monotonic() > until:
            instead = "" if last is None else f"; last seen: {last()}"
            raise BadInput(f"waited {patience_s:.0f} s in vain for {what}{instead}")
        time.sleep(POLL_S / 2)  # briefly: Java takes the signal, Python sees it when it wakes up
