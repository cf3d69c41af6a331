"""An invariant in a module of a user judges every run, and is held to the shape of its kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import sim
from sim.check.registry import INVARIANTS, registered_invariants
from sim.plugins import Invariant, register_invariant
from sim.protocol.events import Appended
from tests.plugins.plugged import folder, forgetting_plugins, replog

__all__ = ["folder"]

STORY = """\
format: replog-story/1
id: two_writes
replicas: [r1]
steps: [elect r1 1, append r1 a K, append r1 b {key}]
expect: {{checked: [one-write-per-key]}}
"""
MODULE = '''
from sim.plugins import Invariant, register_invariant


@register_invariant
class OneWritePerKey(Invariant):
    """Nobody writes a key a second time."""

    name = "one-write-per-key"
    source = "a test"

    def on_appended(self, event):
        for record in event.batch.records:
            if len(self.history.uids_of_key[record.key]) > 1:
                sentence = f"{event.replica} wrote {record.key} once more."
                self.violated(sentence, replica=event.replica, offset=record.offset, key=record.key)
'''


@pytest.fixture
def laws(folder: Path) -> Path:
    """The folder of a user, with a module that registers an invariant."""
    (folder / "laws.py").write_text(MODULE)
    (folder / "broken.yaml").write_text(STORY.format(key="K"))
    (folder / "kept.yaml").write_text(STORY.format(key="L"))
    return folder


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is gone after it."""
    with forgetting_plugins():
        yield


def test_a_story_that_breaks_the_law_says_where(laws: Path) -> None:
    ran = replog(laws, "run", "broken.yaml", "--plugin", "laws", "--json")

    assert (ran.status, ran.document["violated"]) == (1, ["one-write-per-key"])
    (found,) = ran.document["violations"]
    assert found == {
        "invariant": "one-write-per-key",
        "step": 3,
        "replica": "r1",
        "offset": 1,
        "key": "K",
        "sentence": "r1 wrote K once more.",
        "since": 3,
    }
    assert replog(laws, "run", "kept.yaml", "--plugin", "laws").status == 0


def test_without_the_plugin_the_name_is_unknown(laws: Path) -> None:
    ran = replog(laws, "run", "broken.yaml")

    assert ran.status == 2
    assert 'unknown invariant "one-write-per-key"' in ran.err
    assert "one-write-per-key" not in INVARIANTS


def test_it_is_listed_with_its_docstring_and_source(laws: Path) -> None:
    named = ("--plugin", "laws", "--json")
    rows = replog(laws, "list", "invariants", *named).document

    assert rows[-1] == {
        "invariant": "one-write-per-key",
        "kind": "safety",
        "family": "in no family",
        "says": "Nobody writes a key a second time.",
        "source": "a test",
    }


def test_a_timed_run_is_judged_by_it_too() -> None:
    assert sim.run(7).verdict == "holds"

    @register_invariant
    class NoAppends(Invariant):
        """Nothing is ever written."""

        name, source = "no-appends", "a test"

        def on_appended(self, event: Appended) -> None:
            self.violated(f"{event.replica} wrote.", replica=event.replica)

    run = sim.run(7)
    assert run.violated == ["no-appends"]
    assert run.digest == sim.run(7).digest
    assert run.violations.sentence.tolist()[0].endswith(" wrote.")


def test_a_run_is_judged_after_the_history_took_the_event_in() -> None:
    seen: list[int] = []

    @register_invariant
    class Watches(Invariant):
        """Nothing; it looks."""

        name, source = "watches", "a test"

        def on_appended(self, event: Appended) -> None:
            seen.append(self.history.replicas[event.replica].log_end_offset)

    sim.run(STORY.format(key="L").replace("one-write-per-key", "watches"))
    assert seen == [1, 2]


def made(**attributes: object) -> type:
    """A class as it should be, but for some attributes."""
    right = {
        "__doc__": "A law.",
        "name": "a-law",
        "source": "a test",
        "on_appended": lambda self, event: None,
    }
    return type("ALaw", (Invariant,), {**right, **attributes})


WRONG = {
    "no class of ours": (type("Other", (), {}), "not a class made from sim.plugins.Invariant"),
    "no name": (made(name=""), "name is ''; allowed: words in lower case"),
    "no kebab-case": (made(name="A Law"), "name is 'A Law'; allowed: words in lower case"),
    "no source": (made(source=" "), "source is ' '; allowed: a text that is not empty"),
    "no docstring": (made(__doc__=None), "the docstring is missing"),
    "no such event": (
        made(on_apended=lambda self, event: None),
        r"on_apended: there is no such event \(did you mean 'on_appended'\?\)",
    ),
    "deaf": (
        type("Deaf", (Invariant,), {"__doc__": "A law.", "name": "deaf", "source": "a test"}),
        "it listens to nothing",
    ),
}


@pytest.mark.parametrize(("cls", "complaint"), WRONG.values(), ids=WRONG)
def test_what_is_no_invariant_is_refused_in_one_line(cls: type, complaint: str) -> None:
    before = registered_invariants()

    with pytest.raises(sim.BadInput, match=complaint):
        register_invariant(cls)  # type: ignore[type-var]

    assert registered_invariants() == before


def test_a_name_is_given_once() -> None:
    register_invariant(made())
    with pytest.raises(sim.BadInput, match="the name is taken; taken are a-law"):
        register_invariant(made())
    register_invariant(made(name="no-offset-reuse"))
    with pytest.raises(sim.BadInput, match="is taken by one of Replog's own"):
        sim.run(7)


def test_a_cell_of_a_notebook_may_be_executed_again() -> None:
    register_invariant(made(__module__="__main__"))
    newer = register_invariant(made(__module__="__main__"))

    assert registered_invariants()["a-law"] is newer
    sim.run(7)
    assert INVARIANTS["a-law"] is newer
