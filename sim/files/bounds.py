"""Types of fields with their bounds, against which a file is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le, Lt, MinLen

from sim.files import limits
from sim.files.document import TAG_PATTERN, tag_given_twice, tag_problem
from sim.files.limits import Limit

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core.core_schema import CoreSchema

_WORDS = {"integer": "maximum", "number": "maximum", "string": "maxLength", "array": "maxItems"}
"""Type in JSON Schema -> its word for the largest number, length or number of items."""


class Must:
    """A condition on a value beyond its type."""

    __slots__ = ("problem", "schema")

    def __init__(self, problem: Callable[[Any], str | None], **schema: Any) -> None:
        """Starts with the condition.

        Args:
            problem: From a value to the problem with it; None for no problem.
            schema: The condition as JSON Schema, as far as that can express it.
        """
        self.problem = problem
        self.schema = schema

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The validator for pydantic, which is imported only where files are read."""
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: Any) -> Any:
            problem = self.problem(value)
            if problem is not None:
                raise PydanticCustomError("limit", "{problem}", {"problem": problem})
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema with the condition, for editors."""
        return {**handler(schema), **self.schema}


class Within(Must):
    """A limit on a number, a text or a list (`sim.files.limits`)."""

    __slots__ = ("limit",)

    def __init__(self, limit: Limit) -> None:
        """Starts with the limit."""
        super().__init__(self._beyond)
        self.limit = limit

    def _beyond(self, value: Any) -> str | None:
        if isinstance(value, str):
            return self.limit.too_many(len(value), "characters")
        if isinstance(value, tuple | list | dict):
            return self.limit.too_many(len(value), "items")
        return self.limit.problem(value)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema with the condition, for editors."""
        found = handler(schema)
        kind = found.get("type")
        if kind in _WORDS:
            found[_WORDS[kind]] = self.limit.most
            if _WORDS[kind] == "maximum" and "minimum" not in found:
                found["minimum"] = self.limit.least
        return found


Milliseconds = Annotated[int, Ge(0), Within(limits.DURATION)]
Period = Annotated[int, Ge(1), Within(limits.DURATION)]
"""Time between repetitions, in ms; 0 would repeat for ever at one instant."""
Latency = Annotated[int, Ge(0), Within(limits.LATENCY)]
_ASCENDING = Must(
    lambda ends: "the first number is above the second" if ends[0] > ends[1] else None
)
LatencyRange = Annotated[tuple[Latency, Latency], _ASCENDING]
PeriodRange = Annotated[tuple[Period, Period], _ASCENDING]
Skew = Annotated[int, Within(limits.SKEW)]
Setting = Annotated[int, Ge(0), Within(limits.SETTING)]
"""A threshold in bytes, ms or messages; the largest stands for never."""
SettingFromOne = Annotated[int, Ge(1), Within(limits.SETTING)]
NoBound = Annotated[int, Ge(-1), Within(limits.SETTING)]
"""A bound in bytes or ms as a file gives it; -1 = none."""
Size = Annotated[int, Ge(1), Within(limits.INT_SETTING)]
"""Bytes of a setting that Kafka keeps in 32 bits."""
Count = Annotated[int, Ge(0), Within(limits.INT_SETTING)]
Offset = Annotated[int, Ge(0), Within(limits.OFFSET)]
Version = Annotated[int, Within(limits.VERSION)]
Seed = Annotated[int, Ge(0), Within(limits.SEED)]
Sends = Annotated[int, Ge(0), Within(limits.SENDS)]
BatchRecords = Annotated[int, Ge(1), Within(limits.BATCH_RECORDS)]
Changes = Annotated[int, Ge(1), Within(limits.CHANGES)]
Producer = Annotated[int, Ge(1), Within(limits.PRODUCERS)]
Rounds = Annotated[int, Ge(0), Within(limits.ROUNDS)]
Transaction = Annotated[int, Ge(1), Within(limits.TRANSACTIONS)]
Name = Annotated[str, MinLen(1), Within(limits.NAME)]
Title = Annotated[str, Within(limits.TITLE)]
Text = Annotated[str, Within(limits.TEXT)]
Key = Annotated[str, MinLen(1), Within(limits.TEXT)]
Share = Annotated[float, Ge(0), Le(1)]
Tags = Annotated[
    tuple[Annotated[str, Must(tag_problem, pattern=TAG_PATTERN)], ...],
    Must(tag_given_twice, uniqueItems=True),
]
Loss = Annotated[float, Ge(0), Lt(1)]
"""Probability that a message is lost, below 1: use a partition for a link without messages."""
