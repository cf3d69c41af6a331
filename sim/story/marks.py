"""What makes an appended record a tombstone in a story: which field of the step, by the rule."""

from __future__ import annotations

from sim.story.steps import Step


def value_and_flag(step: Step, mark: str) -> tuple[str | None, bool | None]:
    """The value and the tombstone attribute of what an `append` writes under `tombstone_mark`.

    Only the field that the mark names is looked at. With `magic` a step that gives `flag` writes a
    record of magic 2, and any other one of a format without a flag, in which `null_value` decides.
    """
    label = step["label"]
    if mark == "flag" or (mark == "magic" and "flag" in step.fields):
        return label, step.get("flag", False)
    deleted = step.get("tombstone" if mark == "explicit" else "null_value", False)
    flagged = None if mark == "magic" else deleted and mark == "explicit"
    return None if deleted else label, flagged
