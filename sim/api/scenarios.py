"""Scenarios for notebooks: stories and timed ones as one kind of value, from any source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sim.api.tables import facts, plain_text
from sim.errors import BadInput
from sim.files.formats import SCENARIO_FORMAT, STORY_FORMAT
from sim.files.limits import SEED
from sim.plugins import command_of

if TYPE_CHECKING:
    from sim.files.document import Document
    from sim.simulate.scenario.generate import Mix
    from sim.simulate.scenario.model import Scenario as TimedScenario
    from sim.simulate.story.format import Story

Value = str | int | bool
"""A value of a rule."""
Source = str | int | Path | Mapping[str, Any] | list[str | Path]
"""A source of a scenario, see `load`."""
TEXT = "the text"
"""Name of a scenario without a file, in messages."""


class Row(NamedTuple):
    """The row of a run in the table of a sweep.

    Attributes:
        folder: Folder of the sweep.
        run_id: Number of the run.
        case_id: Number of its random scenario, which runs under every rule set of the plan.
        rule_set: Label of its rules.
        digest: Digest of all events; None for a run that did not end, and without a table.
        sentence: The first violation; empty where the table was not asked for it.
        lasting: False for a temporary folder, which goes when this Python ends.
    """

    folder: Path
    run_id: int
    case_id: int
    rule_set: str
    digest: str | None
    sentence: str
    lasting: bool


@dataclass(frozen=True)
class Scenario:
    """An immutable story or timed scenario, ready to run.

    Attributes:
        content: The model that the simulator takes (`sim.simulate.story.Story`,
            `sim.simulate.scenario.model.Scenario`).
        path: The file it was read from; None without a file.
        text: The text that it was loaded from, YAML or JSON; None for a scenario that was changed,
            or came from something else.
        changes: Options of `replog run` that make this scenario from the file.
        mix: The mix it was drawn from; None for a written scenario.
    """

    content: Story | TimedScenario = field(repr=False)
    path: Path | None = None
    text: str | None = field(default=None, repr=False)
    changes: tuple[str, ...] = ()
    mix: Mix | None = field(default=None, repr=False)

    @property
    def kind(self) -> Literal["story", "timed"]:
        """`story` for single steps, `timed` for a cluster in simulated time."""
        return "story" if self.unit == "step" else "timed"

    @property
    def id(self) -> str:
        """The name of the scenario."""
        return self.content.id

    @property
    def title(self) -> str:
        """The title of the scenario; empty for one drawn at random."""
        return self.content.title

    @property
    def headline(self) -> str:
        """The title; of a changed scenario its name and the changes, since the title may be wrong.

        Empty for one drawn at random.
        """
        if not self.changes or not self.title:
            return self.title
        return f"{self.id} with {', '.join(one.split('=', 1)[1] for one in self.changes)}"

    @property
    def source(self) -> str:
        """The source of the scenario: a KIP, a ticket."""
        return self.content.source

    @property
    def seed(self) -> int | None:
        """The seed of everything random in it; None for a story, where nothing is."""
        return self.content.seed

    @property
    def unit(self) -> Literal["step", "ms"]:
        """The unit of its times: numbers of steps, from 1, or milliseconds of simulated time."""
        return self.content.unit

    @property
    def time(self) -> Literal["step", "at_ms"]:
        """The name of the column of its times."""
        return "step" if self.kind == "story" else "at_ms"

    @property
    def rules(self) -> dict[str, Value]:
        """All rules by name."""
        return self.content.rules.as_dict()

    @property
    def changed_rules(self) -> dict[str, Value]:
        """The rules that differ from the defaults of its kind of scenario."""
        return self.content.rules.differing_from(self.content.default_rules)

    def with_rules(self, **rules: Value) -> Scenario:
        """Returns the scenario under other rules; `preset` names several at once.

            >>> import sim
            >>> sim.load(7).with_rules(fix="empty_batch").rules["fix"]
            'empty_batch'

        Raises:
            BadInput: Unknown rule or value.
        """
        return under(self, rules)

    @property
    def command(self) -> str | None:
        """The command that runs the scenario; None without a file."""
        if self.path is None:
            return None
        return command_of("run", self.path, *self.changes)

    def as_file(self, folder: str | Path = ".") -> str:
        """The text of a scenario file that loads to this scenario, for a file in `folder`.

        One that was loaded and not changed is given as it stands, unless it reads a trace. Of a
        changed story `expect` keeps `violated` alone: the rest was said about another one.

            >>> import sim
            >>> sim.run(sim.load(7).as_file()).digest == sim.run(7).digest
            True

        Raises:
            BadInput: It has something that no scenario file can say.
        """
        content: Any = self.content
        if self.kind == "story":
            from sim.diagnose.shrink.writing import story_text

            return self.text or story_text(content, violated=content.expect.violated)
        if self.text is not None and content.workload.trace is None:
            return self.text
        from sim.simulate.scenario.file.write import scenario_text

        return scenario_text(content, folder=Path(folder))

    def save(self, path: str | Path) -> Path:
        """Writes the scenario to a file, such as `my_case.yaml`; returns its path.

        Raises:
            BadInput: It cannot be written, or has something that no scenario file can say.
        """
        from sim.files.atomic import replace_text

        where = Path(path)
        text = self.as_file(where.parent)
        replace_text(where, text)
        return where

    def __repr__(self) -> str:
        """Returns one line for people."""
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"Scenario({self.id}, {self.kind}{seed})"

    def _repr_html_(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.changed_rules.items())
        rows = [
            ("scenario", self.id),
            ("title", self.title),
            ("source", self.source),
            ("kind", self.kind),
            ("seed", "" if self.seed is None else self.seed),
            ("rules", changed),
        ]
        return facts(rows) + (plain_text(self.text) if self.text and self.kind == "story" else "")


def under(scenario: Scenario, rules: Mapping[str, Value], *, where: str = "rules") -> Scenario:
    """Puts a scenario under other rules, which messages call `where`. Raises BadInput."""
    if not rules:
        return scenario
    from sim.protocol.rules import shown
    from sim.study.suite.scenario_files import under as content_under

    content = content_under(scenario.content, rules, where=where)
    options = tuple(f"--rule={name}={shown(value)}" for name, value in rules.items())
    return replace(scenario, content=content, text=None, changes=(*scenario.changes, *options))


def load(source: Source, *, seed: int | None = None) -> Scenario:
    """Loads a scenario, ready to run.

        >>> import sim
        >>> sim.load(7)
        Scenario(reference-7, timed, seed 7)

    Args:
        source: The path of a story or a timed scenario, or the id of a shipped one, as `replog run`
            takes it; its text, YAML or JSON, which has more than one line or begins with `{`; its
            data as a mapping; or a seed, which draws a timed scenario from the built-in mix
            `reference`; or the folder of a broker's partition, or a list of its replicas' folders,
            for a story that begins with these replicas.
        seed: Of a timed scenario: replaces its own.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    if isinstance(source, list):
        return _beginning(source)
    if isinstance(source, bool) or not isinstance(source, str | int | Path | Mapping):
        what = type(source).__name__
        raise BadInput(
            f"load: a {what}; allowed: a path, a text, a mapping, a seed, or a list of folders"
        )
    if isinstance(source, int):
        if seed is not None:
            raise BadInput("load: seed: the scenario is drawn from a seed; give one of them")
        if not 0 <= source <= SEED.most:
            raise BadInput(f"seed {source}: a seed is between 0 and {SEED.most}")
        from sim.simulate.scenario.generate import Mix, generate

        return Scenario(generate(source, Mix()), mix=Mix())
    document = document_of(source, TEXT)
    if document is not None:
        text = source if isinstance(source, str) else None
        return _loaded(document, path=None, text=text, seed=seed)
    from sim.files.reading import document_in, read_text
    from sim.files.shipped import shipped_path

    path = shipped_path(str(source))
    if path.is_dir():
        return _beginning([path])
    text = read_text(path)  # once: it may come through a pipe
    return _loaded(document_in(text, path), path=path, text=text, seed=seed)


def document_of(given: object, name: str) -> Document | None:
    """The document of a scenario or plan that is given as data or as text.

    Args:
        given: A mapping; a text, JSON if it begins with `{`, else YAML, if it has several lines; or
            a path.
        name: Name in messages.

    Returns:
        None for the path of a file.

    Raises:
        BadInput: The text is neither YAML nor JSON.
    """
    from sim.files.document import Document
    from sim.files.reading import parse_json
    from sim.files.yaml_text import parse_yaml

    if isinstance(given, Mapping):
        return Document(name, dict(given))
    if isinstance(given, str) and given.lstrip().startswith("{"):
        return parse_json(given, name)
    return parse_yaml(given, name) if isinstance(given, str) and "\n" in given else None


def _beginning(places: list[str | Path]) -> Scenario:
    """The story that begins with the replicas in these folders. Raises BadInput."""
    from sim.api.partitions import open_replicas

    return Scenario(open_replicas(places).story().story)


def _loaded(
    document: Document, *, path: Path | None, text: str | None, seed: int | None
) -> Scenario:
    from sim.study.suite.scenario_files import content_in, elsewhere, format_complaints

    if complaints := format_complaints(
        document, path or Path("scenario"), (STORY_FORMAT, SCENARIO_FORMAT)
    ):
        other = elsewhere(document, path)
        raise BadInput(*(complaints if other is None else [other]))
    default = Path("story" if document.data["format"] == STORY_FORMAT else "scenario")
    content = content_in(document, path or default, seed=seed)
    if seed is None:
        return Scenario(content, path, text)
    return Scenario(content, path, None, (f"--seed={seed}",))
