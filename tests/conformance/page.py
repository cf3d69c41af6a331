"""The page `reports/conformance.md`: the comparisons with each release, and their results.

Its text is `page_template.md`, without the parts that were left out of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from sim.files.atomic import replace_text
from tests.conformance.broker_compare import BrokerResult
from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.compare import BATCH_FIELDS, CLEAN_FIELDS, STEP_FIELDS, Result
from tests.conformance.random_runs import Compared
from tests.conformance.recordings import STORIES
from tests.conformance.stories import ClusterResult

TEMPLATE = Path(__file__).with_name("page_template.md")


@dataclass
class ConformanceResult:
    """Results of a whole conformance run.

    Attributes:
        version: The Kafka release that answered.
        command: Command line of the run.
        random: The comparison of random logs.
        old: The same with an old release; None if it was left out.
        choices: The comparison of choices among logs; None if it was left out.
        broker: The comparison with a real broker; None if it was left out.
        partitions: The comparisons of partitions on disk; empty if they were left out.
        seek: The comparison with a broker that has a bug of Kafka; None if it was left out.
        clusters: The comparison with a cluster of each release.
    """

    version: str
    command: str
    random: Compared
    old: Compared | None = None
    choices: Compared | None = None
    broker: BrokerResult | None = None
    partitions: Sequence[Result] = ()
    seek: SeekResult | None = None
    clusters: Sequence[ClusterResult] = ()

    @property
    def parts(self) -> list[Result]:
        """The comparisons that were run."""
        single = (self.random, self.old, self.choices, self.broker, self.seek)
        run = [one for one in single if one is not None]
        return [*run, *self.partitions, *self.clusters]

    @property
    def complaints(self) -> list[str]:
        """A sentence for each difference or missing feature; empty if all agree."""
        return [text for part in self.parts for text in part.complaints]


def write_page(result: ConformanceResult, path: Path) -> None:
    """Writes the page to a file.

    Raises:
        BadInput: It cannot be written.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = "{:,}".format
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        result=result,
        step_fields=(*STEP_FIELDS, *CLEAN_FIELDS),
        batch_fields=BATCH_FIELDS,
        stories=STORIES,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, page)
