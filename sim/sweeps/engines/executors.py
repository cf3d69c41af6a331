"""What the driver knows of its executors, asked of its Java."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkContext

from sim.errors import BadInput
from sim.sweeps.engines.master import is_local


class SparkFailed(BadInput):
    """Spark, its Java or the cluster failed the sweep; Spark's log may say more."""


KEPT = "what is finished is kept, --resume continues"
ALONE_SECONDS = 30.0
"""How long a sweep goes on without an executor, in which a cluster may start another."""
LOOK_SECONDS = 1.0


def registered_executors(context: SparkContext) -> int:
    """How many executors are there now; the driver is none."""
    return int(_scala(context).getExecutorMemoryStatus().size()) - 1


def is_stopped(context: SparkContext) -> bool:
    """Whether Spark has ended the application, as when no executor of it stays alive."""
    return bool(_scala(context).isStopped())


def _scala(context: SparkContext) -> Any:
    return context._jsc.sc()  # noqa: SLF001 - PySpark has no other way to ask


@dataclass(slots=True)
class Watch:
    """Notices a cluster that will not answer any more. Spark itself waits for ever."""

    context: SparkContext
    alone_seconds: float = ALONE_SECONDS
    _looked: float = 0.0
    _seen: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Raises SparkFailed once there has been no executor for `alone_seconds`."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS or is_local(self.context.master):
            return
        self._looked = now
        if is_stopped(self.context):
            raise SparkFailed(f"{self.context.master}: the cluster ended the application; {KEPT}")
        if registered_executors(self.context):
            self._seen = now
        elif now - self._seen > self.alone_seconds:
            raise SparkFailed(
                f"{self.context.master}: no executor for {self.alone_seconds:g} s "
                f"(is the master gone, or its workers?); {KEPT}"
            )
