"""What a repair came to, in a word and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from nomos.train.repairing.judging.evaluate import Evaluation
from nomos.train.repairing.rounds import Goal, Round

Verdict = Literal["clean", "repaired", "improved", "not repaired"]
_MUCH = 0.5  # of the rate before: a round below this has lowered it, at whatever cost


def verdict_on(
    before: Evaluation,
    after: Evaluation,
    goal: Goal,
    chosen: int,
    noise: float = 0.0,
) -> Verdict:
    """Judge a repair by the first and the chosen model on held-out records.

    `noise` is the standard error of the change in accuracy, in points.
    """
    if chosen == 0:
        return "not repaired" if before.total_rate else "clean"
    if goal.worse_specs(before, after) or not goal.allows(before, after, noise):
        return "not repaired"
    if not before.total_rate:  # held-out cases cannot tell
        return "improved"
    if goal.is_reached(before, after) and goal.allows(before, after):
        return "repaired"
    return "improved" if goal.is_better(before, after) else "not repaired"


def why_not_kept(before: Evaluation, after: Evaluation, goal: Goal) -> str:
    """Say why the best model of all rounds was not kept: it failed on held-out records."""
    parts = [_describe_change(before, after)]
    if higher := goal.worse_specs(before, after):
        parts.append(f"violated more often than before: {', '.join(higher)}")
    if not goal.allows(before, after):
        parts.append(_too_much(goal))
    if not goal.is_better(before, after):
        parts.append("no spec is violated less often by more than chance gives")
    return (
        "no model was kept: the best one of the rounds did not hold what it promised "
        f"on held-out records: {'; '.join(parts)}"
    )


def repair_statement(
    before: Evaluation,
    after: Evaluation,
    goal: Goal,
    rounds: Sequence[Round],
    chosen: int,
) -> str:
    """Say what came of a repair, and where it failed, why."""
    if not rounds:
        return (
            "no case of the inputs that are not trained on is violated, so there is "
            "nothing to repair; `nomos run` tries all inputs"
        )
    if chosen == 0:
        return f"no model was kept: {_describe_conflict(goal, rounds)}"
    parts = [_describe_change(before, after)]
    if not goal.allows(before, after):
        parts.append(f"{_too_much(goal)}, though by no more than chance can give")
    if not before.total_rate:
        parts.append("no held-out case was violated before, so they cannot tell")
    elif not goal.is_reached(before, after):
        parts.append(f"{goal.times:g} times lower was asked for")
        parts.append(_describe_conflict(goal, rounds))
    return "; ".join(parts)


def _too_much(goal: Goal) -> str:
    return f"more than the {goal.points:g} points of accuracy that may be lost"


def _describe_change(before: Evaluation, after: Evaluation) -> str:
    lost = 100 * (before.accuracy.value - after.accuracy.value)
    change = (
        f"{lost:.2f} points lower" if lost > 0 else f"{abs(lost):.2f} points higher"
    )
    how = "none are left"
    if after.total_rate:
        times = before.total_rate / after.total_rate
        how = f"{times:.3g} times lower" if times > 1 else "not lower"
    return (
        f"violations {before.mean_percent:.3g} % → {after.mean_percent:.3g} % of the "
        f"held-out cases, the mean over the specs ({how}); accuracy {change}"
    )


def _describe_conflict(goal: Goal, rounds: Sequence[Round]) -> str:
    """Say what stood in the way: the data, another spec, or what the spec asks."""
    first, tried = rounds[0].evaluation, rounds[1:]
    lowest = min((r.evaluation for r in tried), key=lambda s: s.total_rate)
    lost = 100 * (first.accuracy.value - lowest.accuracy.value)
    if any(
        goal.is_reached(first, r.evaluation)
        and goal.allows(first, r.evaluation, r.noise)
        for r in tried
    ):
        return (
            "on the other inputs that it was looked at after each round it was reached, "
            "so there are too few of them to tell"
        )
    against = _opposing_round(first, tried)
    if against is not None:
        return against
    if lost > goal.points and lowest.total_rate < first.total_rate:
        return (
            f"in {len(tried)} rounds the lowest rate was {lowest.mean_percent:.3g} %, and it cost "
            f"{lost:.1f} points of accuracy (allowed: {goal.points:g}): the specs may "
            "ask for what the data deny"
        )
    stuck = [
        name
        for name, rate in first.rates.items()
        if rate.count
        and min(r.evaluation.rates[name].value for r in tried) > _MUCH * rate.value
    ]
    names = ", ".join(stuck) or "the specs"
    return (
        f"{len(tried)} rounds did not lower the rate of {names} by half, which does not "
        "say that no model could: more rounds, more data or another kind of model may"
    )


def _opposing_round(first: Evaluation, tried: Sequence[Round]) -> str | None:
    """Find a round in which one spec was broken less often and another one more."""
    for one in reversed(tried):
        rates = one.evaluation.rates
        fell = [
            n
            for n, r in first.rates.items()
            if r.count and rates[n].value < _MUCH * r.value
        ]
        rose = [n for n, r in first.rates.items() if rates[n].value > r.value + 0.01]
        if fell and rose:
            changes = (
                f"`{n}` from {100 * first.rates[n].value:.3g} % to "
                f"{100 * rates[n].value:.3g} %"
                for n in (fell[0], rose[0])
            )
            return (
                "specs pull against each other: in round "
                f"{one.number}, {' and '.join(changes)}"
            )
    return None
