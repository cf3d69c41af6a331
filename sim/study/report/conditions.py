"""The exposure of an environment, counted over its cases, not read off the plan."""

from __future__ import annotations

from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording


def hunts_text(folder: SweepFolder) -> str:
    """An environment's seeds: how many have a scripted hunt, and how many of their runs it changed.

    Other environments have the same seeds; a run that is the same in the first one, event by event,
    shows nothing new.
    """
    entries, first = folder.statistics["rule_sets"], folder.plan["environments"][0]["name"]
    counts, runs = entries[0]["counts"], entries[0]["runs"]
    hunted = counts["hunted"].get("hunted", {"runs": 0})["runs"]
    hunts = f"{wording.share(hunted / runs)} with a scripted hunt" if hunted else "no hunts"
    if counts["hunts"].keys() - {"tail"}:
        each = (
            f"{name.replace('_', ' ')} {wording.share(one['runs'] / runs)}"
            for name, one in sorted(counts["hunts"].items())
        )
        hunts += f" ({', '.join(each)})"
    same = "" if folder.environment == first else "the same "
    told = f"{folder.environment}: {same}{wording.counted(runs, 'seed')}, {hunts}"
    twins = sum(one["twins"] for one in entries)
    changed = wording.count(sum(one["changed"] for one in entries))
    again = f"; {changed} of {wording.counted(twins, 'run')} are not as in {first}"
    return told + (again if twins else "")


def exposure_of(folder: SweepFolder) -> dict[str, str]:
    """Outages, late sends and rolls of an environment, over the runs that ended."""
    entries = folder.statistics["rule_sets"]
    lives = sorted({one["rules"]["delete_retention_ms"] for one in folder.plan["rule_sets"]})
    totals, ended = entries[0]["totals"], max(1, entries[0]["ended"])
    beyond = [
        one["totals"]["outages_beyond_retention"] / one["totals"]["outages"]
        for one in entries
        if one["totals"]["outages"]
    ]
    more = " or more" if len({*beyond}) > 1 else ""
    retention = f"of them longer than {' or '.join(map(wording.count, lives))} ms"
    return {
        "outages per case": wording.number(totals["outages"] / ended),
        retention: f"{wording.share(min(beyond))}{more}" if beyond else "-",
        "sends late": wording.share(totals["late_sends"] / totals["sends"])
        if totals["sends"]
        else "-",
        "forced rolls per case": wording.number(totals["rolls"] / ended),
    }
