"""What `compaction.strategy` names in a scenario file: a strategy, or in KIP-280's drafts a header.

Null means that the setting is not given. Empty is offset, in whichever place it stands, as KIP-280
says (Public Interfaces). The case does not matter: apache/kafka PR 7528, SkimpyOffsetMap.init. A
name that no strategy has went by offset there; it is refused here, as in its successor.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sim.errors import did_you_mean
from sim.files.document import Report
from sim.protocol.compaction import STRATEGIES
from sim.simulate.scenario.file.configs import BrokerSettings, TopicSettings, alias_of
from sim.simulate.scenario.file.format import ScenarioFile

OFFSET = "offset"
HEADER = "header"

S = TypeVar("S", TopicSettings, BrokerSettings)


def with_known_strategies(file: ScenarioFile, report: Report) -> ScenarioFile:
    """The file with strategies by their own names; one that is not known goes to `report`.

    With `broker.strategy_names: header_keys` what no other strategy is called is the header
    strategy, and the key of its header.
    """
    by_key = file.broker.strategy_names == "header_keys"
    topic = with_known_strategy(file.topic, "topic", by_key=by_key, report=report)
    broker = with_known_strategy(file.broker, "broker", by_key=by_key, report=report)
    if topic is file.topic and broker is file.broker:
        return file
    return file.model_copy(update={"topic": topic, "broker": broker})


def with_known_strategy(settings: S, section: str, *, by_key: bool, report: Report) -> S:
    """The settings of one section, with its strategy by a name that exists."""
    given = settings.compaction_strategy
    if given is None:
        return settings
    changed: dict[str, Any] = {}
    name = next((name for name in (given, given.strip().lower()) if name in STRATEGIES), None)
    if not given.strip():
        changed = {"compaction_strategy": OFFSET}
    elif by_key and name in (None, HEADER):
        header = settings.compaction_strategy_header
        if header is not None:
            text = f"{given!r} is the key of a header already, so {header!r} cannot be another one"
            report((section, alias_of(settings, "compaction_strategy_header")), text)
        changed = {"compaction_strategy": HEADER, "compaction_strategy_header": given}
    elif name is None:
        allowed = f"{', '.join(STRATEGIES)}, or nothing, which is {OFFSET}"
        text = f"unknown value {given!r}{did_you_mean(given, STRATEGIES)}; allowed: {allowed}"
        report((section, alias_of(settings, "compaction_strategy")), text)
        changed = {"compaction_strategy": None}
    elif name != given:
        changed = {"compaction_strategy": name}
    return settings.model_copy(update=changed) if changed else settings
