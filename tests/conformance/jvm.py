"""One Java machine in this process, with the classes of one Kafka release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jpype

from sim.errors import BadInput
from tests.conformance.jars import JAVA_ADVICE, KAFKA_VERSION, java_command, kafka_jars

OPTIONS = ("-Xss1m", "-Xmx1g", "-Xrs", "-XX:+UseSerialGC", "-Djava.awt.headless=true")
_running: list[str] = []


def start_jvm(version: str = KAFKA_VERSION) -> None:
    """Start Java with the jars of a Kafka release; does nothing when that was done before.

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
        jpype.startJVM(
            str(_library()), *OPTIONS, classpath=[str(jar) for jar in jars], interrupt=False
        )
        _running.append(version)
        with_quiet_logging(lambda: jpype.JClass("org.apache.kafka.common.TopicPartition"))
    except (OSError, RuntimeError, TypeError) as error:
        raise BadInput(f"{_library()}: Java does not start: {error}; {JAVA_ADVICE}") from None


def java_class(*names: str) -> Any:
    """The first class of these names that there is: a class may move between releases.

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


def proxy(interface: str, methods: dict[str, Callable[..., object]]) -> Any:
    """An object of a Java interface whose methods are these functions."""
    return jpype.JProxy(java_class(interface), dict=methods)


def private_method(of: Any, name: str, *arguments: Any) -> Any:
    """A method that the class keeps to itself or to its package, ready to call by `invoke`."""
    method = of.class_.getDeclaredMethod(name, *arguments)
    method.setAccessible(True)
    return method


def with_quiet_logging(load: Callable[[], object]) -> None:
    """Run `load` with Java's stderr switched off.

    The first class that logs makes SLF4J say that it found no logger; that is meant here.
    """
    system = jpype.JClass("java.lang.System")
    stream = jpype.JClass("java.io.PrintStream")
    nowhere = jpype.JClass("java.io.OutputStream").nullOutputStream()
    before = system.err
    system.setErr(stream(nowhere))
    try:
        load()
        jpype.JClass("org.slf4j.LoggerFactory").getLogger("replog")
    finally:
        system.setErr(before)


def _library() -> Path:
    """The shared library of the Java that `java` on the command line starts."""
    home = Path(java_command()).resolve().parent.parent
    found = sorted(home.glob("lib/server/libjvm.*")) or sorted(home.glob("**/libjvm.*"))
    if not found:
        raise BadInput(f"{home}: has no libjvm; {JAVA_ADVICE}")
    return found[0]
