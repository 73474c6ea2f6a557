"""What a repair came to, in a word and in a sentence; every reason given was tested."""

from collections.abc import Sequence
from typing import Literal

from nomos.train.evaluate import Evaluation
from nomos.train.rounds import Goal, Round

Verdict = Literal["clean", "repaired", "improved", "not repaired"]


def verdict_on(
    before: Evaluation, after: Evaluation, goal: Goal, chosen: int
) -> Verdict:
    """Judge a repair by the first and the chosen models on records they do not know."""
    if chosen == 0:
        return "not repaired" if before.total_rate else "clean"
    if goal.worse_specs(before, after):
        return "not repaired"
    if not goal.keeps_quality(before, after, by_chance=True):
        return "not repaired"
    if goal.is_reached(before, after) and goal.keeps_quality(before, after):
        return "repaired"
    return "improved" if goal.is_better(before, after) else "not repaired"


def repair_statement(
    before: Evaluation,
    after: Evaluation,
    goal: Goal,
    rounds: Sequence[Round],
    chosen: int,
) -> str:
    """Say what came of a repair, and where it failed, why."""
    if not before.total_rate:
        return (
            "no case of the inputs is violated, so there is nothing to repair; "
            "`nomos run` tries more of them"
        )
    if chosen == 0:
        tried = [one.without() for one in rounds[1:]]
        return f"no model was kept: {_why_none(before, tried, goal)}"
    parts = [_describe_change(before, after)]
    if higher := goal.worse_specs(before, after):
        parts.append(f"violated more often than before: {', '.join(higher)}")
    if not goal.keeps_quality(before, after):
        chance = goal.keeps_quality(before, after, by_chance=True)
        parts.append(
            f"more than the {goal.points:g} points that may be lost, "
            f"{'though by no' if chance else 'and by'} more than chance gives"
        )
    if not goal.is_reached(before, after):
        parts.append(f"{goal.times:g} times lower was asked for")
        if not goal.is_better(before, after):
            parts.append("no spec is violated less often by more than chance gives")
    return "; ".join(parts)


def _describe_change(before: Evaluation, after: Evaluation) -> str:
    how = "none are left"
    if after.total_rate:
        times = before.total_rate / after.total_rate
        how = f"{times:.3g} times lower" if times > 1 else "not lower"
    return (
        f"violations {before.mean_percent:.3g} % → {after.mean_percent:.3g} % of the "
        f"cases, the mean over the specs ({how}); {_describe_cost(before, after)}"
    )


def _describe_cost(before: Evaluation, after: Evaluation) -> str:
    lost = before.quality.points_lost(after.quality)
    chance = before.quality.points_by_chance(after.quality)
    return (
        f"{before.quality.name} {abs(lost):.2f} points {'lower' if lost > 0 else 'higher'} "
        f"(95 %: {-lost - chance:+.2f} to {-lost + chance:+.2f})"
    )


def _why_none(before: Evaluation, tried: Sequence[Evaluation], goal: Goal) -> str:
    """Say what stood in the way, as far as the rounds show it."""
    better = [one for one in tried if goal.better_specs(before, one)]
    if not better:
        return (
            f"in {len(tried)} rounds no spec was violated less often by more than chance "
            "gives, which does not say that no model could"
        )
    fine = [one for one in better if not goal.worse_specs(before, one)]
    if not fine:
        rose = goal.worse_specs(before, better[0])
        return (
            "specs pull against each other: each round that violated one less often "
            f"violated another more often, such as {', '.join(rose)}"
        )
    cheapest = min(fine, key=lambda one: before.quality.points_lost(one.quality))
    cost = _describe_cost(before, cheapest)
    sure = not goal.keeps_quality(before, cheapest, by_chance=True)
    why = ": the specs may ask for what the data deny"
    return (
        f"each of the {len(fine)} rounds that violated specs less often cost accuracy; the "
        f"cheapest: {cost}, where {goal.points:g} points may be lost"
        f"{why if sure else '; that may be chance: more records would tell'}"
    )
