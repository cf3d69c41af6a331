"""A Java machine in this process, with the jars of an Apache Kafka release from Maven Central.

The jars are kept in a folder of the user's cache. Ivy fetches them: its jar comes with PySpark, and
Maven Central is its default.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jpype

from sim.errors import BadInput

KAFKA_VERSION = "4.3.1"
"""The newest release that Maven Central has whole: 4.4.0 lacks its `kafka-tools-api`."""

IVY_SETTINGS = "REPLOG_IVY_SETTINGS"
"""Environment variable with the path of an Ivy settings file, for users of a mirror."""

JAVA_ADVICE = "Kafka needs Java 17 or newer; on Debian: apt-get install openjdk-17-jre-headless"
_VERSION = re.compile(r"\d+(\.\d+){2,3}")
_KAFKA = "kafka_2.13"
_PATIENCE_S = 900
_COMMAND = ("-confs", "default", "-warn", "-cache", "ivy")
_PATTERN = "jars/[artifact]-[revision](-[classifier]).[ext]"
OPTIONS = ("-Xss1m", "-Xmx1g", "-Xrs", "-XX:+UseSerialGC", "-Djava.awt.headless=true")
_running: list[str] = []
SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": 2**30,
    "segment.ms": 2**62,
    "segment.jitter.ms": 0,
    "segment.index.bytes": 2**16,
    "max.message.bytes": 2**30,
    "retention.ms": -1,
    "flush.messages": 2**62,
    "flush.ms": 2**62,
    "message.timestamp.type": "CreateTime",
}
"""Settings with which Kafka rolls, flushes and deletes nothing by itself."""


def kafka_jars(version: str = KAFKA_VERSION) -> list[Path]:
    """The jars of the broker of a Kafka release (`kafka_2.13`) and of all it needs to run.

    They are downloaded when the folder `kafka-<version>` of the cache does not have them, all or
    none; from the mirror of the Ivy settings file that `REPLOG_IVY_SETTINGS` names, if it does.

    Returns:
        The jar files, sorted by name.

    Raises:
        BadInput: No release of that name, no Java, no PySpark, no network, no place to write.
    """
    if not _VERSION.fullmatch(version):
        raise BadInput(f"Kafka {version}: not a release; give a version such as {KAFKA_VERSION}")
    folder = default_cache() / f"kafka-{version}"
    if not folder.is_dir():
        _download(version, folder)
    jars = sorted(folder.glob("*.jar"))
    if not any(jar.name == f"{_KAFKA}-{version}.jar" for jar in jars):
        raise BadInput(f"{folder}: has no {_KAFKA}-{version}.jar; remove the folder and try again")
    return jars


def default_cache() -> Path:
    """The folder `replog` in this user's cache: `$XDG_CACHE_HOME`, else `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "replog"


def java_command() -> str:
    """The `java` to start: JAVA_HOME's, else the one on the PATH.

    Raises:
        BadInput: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found is None:
        raise BadInput(f"no java in {home or 'a folder of PATH'}; {JAVA_ADVICE}")
    return found


def _download(version: str, folder: Path) -> None:
    """Downloads to a temporary folder, which is renamed to `folder` when it is complete."""
    command = ["-jar", str(_ivy_jar()), *_COMMAND]
    settings = os.environ.get(IVY_SETTINGS)
    if settings:
        command += ["-settings", str(Path(settings).resolve())]
    command += ["-dependency", "org.apache.kafka", _KAFKA, version, "-retrieve", _PATTERN]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder.parent) as work:
            done = run_java(*command, what=f"the download of Kafka {version}", work=Path(work))
            if done.returncode != 0 or not Path(work, "jars").is_dir():
                raise BadInput(f"Kafka {version}: {_reason(done.stdout + done.stderr, version)}")
            Path(work, "jars").rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another process was faster, with the same jars
            raise BadInput(f"{folder}: cannot be written: {error.strerror or error}") from None


def run_java(
    *arguments: str, what: str, patience_s: float = _PATIENCE_S, work: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs Java to its end, in the folder `work` or here.

    Raises:
        BadInput: There is no Java, or `what` is not done in time.
    """
    command = [java_command(), *arguments]
    try:
        return subprocess.run(
            command, cwd=work, capture_output=True, timeout=patience_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"{what}: not done in {patience_s:.0f} s") from None


def _reason(said: bytes, version: str) -> str:
    """Reason of Ivy's failure in one line; an unreachable host comes before a missing module."""
    output = said.decode(errors="replace")
    unreachable = re.search(r"Host (\S+) not found|(\S*(?:Unknown|NoRoute|Connect)\w*: .+)", output)
    if unreachable:
        return f"no network: {unreachable[0].strip()}"
    missing = re.search(r"module not found: \S+#(\S+);(\S+)", output)
    if missing and missing.groups() == (_KAFKA, version):
        return f"no such release on Maven Central; {KAFKA_VERSION} is one"
    if missing:
        return f"incomplete on Maven Central: no {missing[1]} {missing[2]}"
    lines = [line.strip() for line in output.splitlines() if line.strip(" \t:")]
    return f"Ivy failed: {lines[-1] if lines else 'it said nothing'}"


def _ivy_jar() -> Path:
    """Path of the Ivy jar that PySpark ships; PySpark itself is not imported."""
    found = importlib.util.find_spec("pyspark")
    home = Path(found.origin).parent if found is not None and found.origin else None
    jars = sorted((home / "jars").glob("ivy-*.jar")) if home is not None else []
    if not jars:
        raise BadInput("no Ivy to download with: it comes with PySpark; `make install` brings it")
    return jars[-1]


def start_jvm(version: str = KAFKA_VERSION) -> None:
    """Starts Java with the jars of a Kafka release, unless it runs with them already.

    Args:
        version: The release, such as `4.3.1`. A process can have one only.

    Raises:
        BadInput: Java runs with another release, is too old, is missing; or there are no jars.
    """
    if _running == [version]:
        return
    if jpype.isJVMStarted():
        has = f"Kafka {_running[0]}" if _running else "other classes"
        raise BadInput(f"Kafka {version}: this process runs Java with {has}; start another process")
    jars = kafka_jars(version)
    try:
        jpype.startJVM(*OPTIONS, classpath=[str(jar) for jar in jars], interrupt=False)
        _running.append(version)
        _load_quietly()
    except (jpype.JVMNotFoundException, OSError, RuntimeError, TypeError) as error:
        raise BadInput(f"Java does not start: {error}; {JAVA_ADVICE}") from None


def java_class(*names: str) -> Any:
    """The first existing class of these names: a class may move between releases.

    A name starts below `org.apache.kafka.` unless it starts with `java.`, `kafka.` or `scala.`.

    Raises:
        BadInput: No class of any of these names, as in a release that cannot be driven.
    """
    for name in names:
        whole = (
            name if name.startswith(("java.", "kafka.", "scala.")) else f"org.apache.kafka.{name}"
        )
        try:
            return jpype.JClass(whole)
        except TypeError:
            continue
    has = f"Kafka {_running[0]}" if _running else "Java"
    raise BadInput(f"{has} has no class {' or '.join(names)}; it cannot be driven")


def record_class(name: str) -> Any:
    """A class of the package of records, which newer releases count as internal."""
    return java_class(f"common.record.internal.{name}", f"common.record.{name}")


def proxy(interface: str, methods: dict[str, Callable[..., object]]) -> Any:
    """An object of a Java interface whose methods are these functions."""
    return jpype.JProxy(java_class(interface), dict=methods)


def private_method(of: Any, name: str, *arguments: Any) -> Any:
    """A private method, or one of the package, ready to be called by `invoke`."""
    method = of.class_.getDeclaredMethod(name, *arguments)
    method.setAccessible(True)
    return method


def _load_quietly() -> None:
    """Loads Kafka's logging without Java's stderr, where SLF4J reports that it finds no logger."""
    system = jpype.JClass("java.lang.System")
    nowhere = jpype.JClass("java.io.OutputStream").nullOutputStream()
    before = system.err
    system.setErr(jpype.JClass("java.io.PrintStream")(nowhere))
    try:
        jpype.JClass("org.slf4j.LoggerFactory").getLogger("replog")
    finally:
        system.setErr(before)


class Clock:
    """Kafka's `Time`, which stands still at `now_ms`."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.time: Any = proxy(
            "common.utils.Time",
            {
                "milliseconds": lambda: self.now_ms,
                "hiResClockMs": lambda: self.now_ms,
                "nanoseconds": lambda: self.now_ms * 1_000_000,
                "sleep": lambda _: None,
            },
        )


class Housekeeping:
    """Kafka's `Scheduler` without threads: deletes files of replaced segments in `run_due` alone.

    Leader epochs are flushed at once. Other tasks are dropped: other flushes, and the expiry of
    producers.

    Args:
        interface: Name of the `Scheduler` of the release.
        run: Name of the method that runs a task.
    """

    def __init__(self, interface: str, *, run: str) -> None:
        self._run = run
        self._due: list[Any] = []
        future = proxy("java.util.concurrent.ScheduledFuture", {"cancel": lambda _: True})

        def keep(name: object, task: Any, *_: object) -> object:
            if "delete" in str(name):
                self._due.append(task)
            elif "leader-epoch-cache-flush" in str(name):
                getattr(task, self._run)()
            return future

        self.scheduler: Any = proxy(
            interface,
            {
                "startup": lambda: None,
                "shutdown": lambda: None,
                "schedule": keep,
                "scheduleOnce": keep,
                "resizeThreadPool": lambda _: None,
                "isStarted": lambda: True,
            },
        )

    def run_due(self) -> None:
        """Runs the tasks that were put off: deletes files."""
        due, self._due = self._due, []
        for task in due:
            getattr(task, self._run)()


def set_modified(folder: Path, at_ms: int, files: str = "*.log") -> None:
    """Sets the modification time of all segments in a folder, or of one file, in ms."""
    for file in folder.glob(files):
        os.utime(file, ns=(at_ms * 1_000_000, at_ms * 1_000_000))


def settings(values: Mapping[str, object]) -> dict[str, str]:
    """Settings of a topic: `SETTINGS`, and these values."""
    return {name: str(value) for name, value in {**SETTINGS, **values}.items()}
