"""The part of the study's page that its results decide: sentences first, then tables."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from casestudies.lunar.guided.effects import Effect, effect, mean, mean_interval
from casestudies.lunar.guided.setting import SETTINGS
from casestudies.lunar.guided.tables import (
    REWARD_LOST,
    Group,
    bugs,
    groups_of,
    percent,
    print_study,
)

SIGNIFICANT = 0.05
PAIRS = (("guided", "normal"), ("pool", "normal"), ("guided", "pool"))


def write(study: dict[str, Any], results: Path, page: Path) -> None:
    """Write what a study came to into its page."""
    from casestudies.paper import write_part

    write_part(page, "results", markdown(study, results))


def markdown(study: dict[str, Any], results: Path) -> str:
    """Return the sentences, and the tables as the command prints them."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        print_study(study)
    lines = [line.rstrip() for line in printed.getvalue().strip().splitlines()]
    command = f"python -m casestudies.lunar.guided.study --show {results}"
    return "\n".join(
        [
            *sentences(groups_of(study)),
            "",
            "```sh",
            command,
            "```",
            "",
            "```text",
            *lines,
            "```",
        ]
    )


def sentences(groups: Sequence[Group]) -> list[str]:
    """Say what the triples show, and what they leave open."""
    setting = SETTINGS["study"]
    planned = setting.bases * setting.seeds
    lines = [f"**{len(groups)} of {planned} triples are complete.**"]
    if len(groups) < 2:
        return [*lines, "That is too few to compare anything."]
    for arm, other in PAIRS:
        columns = ([bugs(group[name]) for group in groups] for name in (other, arm))
        lines += [
            "",
            f"- {_bugs(arm, other, effect(*columns))} {_reward(groups, arm, other)}",
        ]
    return lines


def _bugs(arm: str, other: str, found: Effect) -> str:
    sure = found.p < SIGNIFICANT
    words = f"Bugs of the {arm} runs against the {other} ones: **{percent(found)}**"
    count = f"fewer in {found.lower} of {found.pairs} pairs, p = {found.p:.2g}"
    if sure:
        return f"{words}, {count}."
    return (
        f"{words}, {count}: this leaves open whether there is a difference. So many pairs"
        f" show one of {100 * (found.detectable - 1):.0f} % with a power of 80 %."
    )


def _reward(groups: Sequence[Group], arm: str, other: str) -> str:
    gaps = [
        group[arm]["chosen"]["last"]["reward"]
        - group[other]["chosen"]["last"]["reward"]
        for group in groups
    ]
    band = mean_interval(gaps)
    kept = "it is not shown to be kept"
    if band.low > -REWARD_LOST:
        kept = "it is kept"
    if band.high < -REWARD_LOST:
        kept = "it is lost"
    return (
        f"The reward differs by {mean(gaps):+.1f}"
        f" (95 %: {band.low:+.1f} to {band.high:+.1f}): {kept}."
    )
