"""What is no invariant is not taken for one."""

import pytest

from sim.check.registry import INVARIANTS, Invariant, register


def test_a_method_that_no_event_is_called_like_is_refused() -> None:
    class Deaf(Invariant):
        name = "deaf"

        def on_apended(self, event: object) -> None:
            """Nobody would ever call it."""

    with pytest.raises(ValueError, match=r"Deaf\.on_apended: there is no such event"):
        register(Deaf)

    assert "deaf" not in INVARIANTS


def test_a_name_is_missing_or_taken() -> None:
    class Nameless(Invariant):
        pass

    class Twin(Invariant):
        name = "twin"

    register(Twin)
    try:
        with pytest.raises(ValueError, match="'twin' is registered twice"):
            register(Twin)
        with pytest.raises(ValueError, match="Nameless has no name"):
            register(Nameless)
    finally:
        del INVARIANTS["twin"]
