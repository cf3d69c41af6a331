"""Which strategy a topic is compacted by, and who says so: the file of each topic of a cluster.

A run has one log. The topics of one cluster are scenario files that share a `broker` section, which
has the defaults, and differ in their `topic` section (KIP-280, Public Interfaces).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sim.files.models import validate
from sim.files.reading import read_document
from sim.protocol.rules import PRESETS
from sim.simulate.scenario.file.format import ScenarioFile
from sim.simulate.scenario.file.load import load_scenario


class TopicStrategy(NamedTuple):
    """What a topic is compacted by.

    Attributes:
        strategy: The strategy in force at the start.
        header: Name of the header that it reads; empty for the others.
        given_in: The section that says so: topic, broker, rules, or preset; else default.
        default: What the broker gives to topics that say nothing; empty = nothing.
    """

    strategy: str
    header: str
    given_in: str
    default: str


def topic_strategy(path: Path) -> TopicStrategy:
    """The strategy of the topic in a scenario file.

    Raises:
        BadInput: It is no scenario file, or it contradicts itself.
    """
    rules = load_scenario(path).rules
    file = validate(read_document(path), ScenarioFile)
    preset = PRESETS.get(str(file.rules.get("preset")))
    said = {
        "rules": "strategy" in file.rules,
        "topic": file.topic.compaction_strategy is not None,
        "broker": file.broker.compaction_strategy is not None,
        "preset": preset is not None and "strategy" in preset.values,
    }
    strategy = rules.cleaner.strategy
    return TopicStrategy(
        strategy,
        rules.topic.strategy_header if strategy == "header" else "",
        next((section for section, given in said.items() if given), "default"),
        file.broker.compaction_strategy or "",
    )
