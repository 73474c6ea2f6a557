"""The tables of a training study: effects with their intervals first, then the runs."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from casestudies.lunar.guided.effects import Effect, effect, mean, mean_interval

Run = dict[str, Any]
Group = dict[str, Run]  # the runs of one base and one seed, by their arms
CHOICES = {
    "last": "the last policy",
    "minimum_bug": "the policy with the fewest bugs while training",
    "maximum_reward": "the policy with the most reward while training",
}
REWARD_LOST = 10.0  # that a reward may be lower by and still be called kept


def groups_of(study: dict[str, Any]) -> list[Group]:
    """Return the groups of runs of which every arm is there."""
    groups: dict[tuple[int, int], Group] = {}
    for run in study["runs"]:
        groups.setdefault((run["base"], run["seed"]), {})[run["arm"]] = run
    wanted = set(study["runs"][0]["setting"]["arms"]) if groups else set()
    return [group for _, group in sorted(groups.items()) if wanted <= set(group)]


def bugs(run: Run, choice: str = "last") -> float:
    """Return the bugs of a policy in held-out cases."""
    return float(run["chosen"][choice]["relax_bugs"])


def per_won(run: Run, choice: str = "last") -> float:
    """Return the bugs for each hundred held-out cases whose first game is won."""
    evaluated = run["chosen"][choice]
    won = evaluated["won"] * run["setting"]["judge_tests"]
    return 100.0 * float(evaluated["relax_bugs"]) / max(1.0, won)


def print_study(study: dict[str, Any]) -> None:
    """Print what a study came to."""
    console = Console(width=100, highlight=False)
    groups = groups_of(study)
    if not groups:
        console.print("no seed has all of its runs yet")
        return
    setting = next(iter(groups[0].values()))["setting"]
    runs = [run for group in groups for run in group.values()]
    words = {2: "pairs", 3: "triples"}[len(setting["arms"])]
    cpu_h = sum(run["cpu_s"]["all"] for run in runs) / 3600
    console.print(
        f"{len(groups)} {words} of runs of {setting['steps']:,} steps;"
        f" {cpu_h:.1f} CPU hours"
    )
    for choice in setting["choices"]:
        console.print(
            f"\n[bold]{CHOICES[choice]}[/], {setting['judge_tests']:,} held-out cases"
        )
        console.print("\n".join(comparisons(groups, choice)), soft_wrap=True)
        console.print(_arms(groups, choice))
    if len({group["normal"]["base"] for group in groups}) > 1:
        console.print(_bases(groups))
    console.print(_course(groups))
    console.print(_runs(groups))


def comparisons(groups: Sequence[Group], choice: str) -> list[str]:
    """Say what each arm does against the others, as effects with intervals."""
    arms = list(groups[0])
    pairs = [(a, b) for a, b in (("normal", "guided"), ("normal", "pool")) if b in arms]
    pairs += [("pool", "guided")] * ("pool" in arms)
    lines = []
    for other, arm in pairs:
        found = effect(*_columns(groups, other, arm, choice, bugs))
        lines.append(f"{arm} against {other}: {_words(found)}")
        won = effect(*_columns(groups, other, arm, choice, per_won))
        lines.append(f"  per won case {percent(won)}; p = {won.p:.2g}")
        lines.append(f"  {_reward(groups, other, arm, choice)}")
    return lines


def _columns(
    groups: Sequence[Group], other: str, arm: str, choice: str, figure: Any
) -> tuple[list[float], list[float]]:
    before, after = (
        [figure(group[name], choice) for group in groups] for name in (other, arm)
    )
    return before, after


def _words(found: Effect) -> str:
    return (
        f"bugs {percent(found)}, {found.difference:+.1f}"
        f" ({found.interval.low:+.1f} to {found.interval.high:+.1f})\n"
        f"  fewer in {found.lower} of {found.pairs}, more in {found.higher};"
        f" Wilcoxon p = {found.p:.2g}; so many pairs show a change of"
        f" {100 * (found.detectable - 1):.0f} % with a power of 80 %"
    )


def percent(found: Effect) -> str:
    """Return the change in proportion, with its interval."""
    low, high = found.ratio_interval.low, found.ratio_interval.high
    return (
        f"{100 * (found.ratio - 1):+.0f} %"
        f" (95 %: {100 * (low - 1):+.0f} % to {100 * (high - 1):+.0f} %)"
    )


def _reward(groups: Sequence[Group], other: str, arm: str, choice: str) -> str:
    gaps = [
        group[arm]["chosen"][choice]["reward"]
        - group[other]["chosen"][choice]["reward"]
        for group in groups
    ]
    band = mean_interval(gaps)
    kept = "kept" if band.low > -REWARD_LOST else "not shown to be kept"
    if band.high < -REWARD_LOST:
        kept = "lost"
    return (
        f"reward {mean(gaps):+.1f} (95 %: {band.low:+.1f} to {band.high:+.1f}): {kept}"
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def _arms(groups: Sequence[Group], choice: str) -> Table:
    columns = ("bugs", "per 100 won", "control", "reward", "landed", "won", "steps")
    table = _table("", "arm", *columns)
    for arm in groups[0]:
        runs = [group[arm] for group in groups]
        evaluated = [run["chosen"][choice] for run in runs]
        table.add_row(
            arm,
            f"{mean([one['relax_bugs'] for one in evaluated]):.1f}",
            f"{mean([per_won(run, choice) for run in runs]):.1f}",
            f"{mean([one['control_bugs'] for one in evaluated]):.1f}",
            f"{mean([one['reward'] for one in evaluated]):.1f}",
            f"{100 * mean([one['landed'] for one in evaluated]):.0f} %",
            f"{100 * mean([one['won'] for one in evaluated]):.1f} %",
            f"{100 * mean([run['guided_steps'] for run in runs]):.0f} %",
        )
    table.caption = (
        f"control: of {groups[0]['normal']['setting']['control_tests']:,} cases; "
        "won: first games of cases; steps: of episodes from bugs or the pool"
    )
    return table


def _bases(groups: Sequence[Group]) -> Table:
    arms = list(groups[0])
    table = _table("Base by base: mean bugs", "base", "seeds", *arms, "guided/normal")
    for base in sorted({group["normal"]["base"] for group in groups}):
        own = [group for group in groups if group["normal"]["base"] == base]
        found = effect(*_columns(own, "normal", "guided", "last", bugs))
        means = (f"{mean([bugs(group[arm]) for group in own]):.1f}" for arm in arms)
        table.add_row(str(base), str(len(own)), *means, percent(found))
    return table


def _course(groups: Sequence[Group]) -> Table:
    arms = list(groups[0])
    fixed = groups[0]["normal"]["setting"]["tests"]
    names = [f"{arm}\n{what}" for what in ("bugs", "reward") for arm in arms]
    title = f"While training: means of bugs in {fixed} cases that stay the same, reward"
    table = _table(title, "\nsteps", *names)
    length = min(len(run["tests"]) for group in groups for run in group.values())
    for number in range(0, length, max(1, length // 9)):
        tests = {arm: [group[arm]["tests"][number] for group in groups] for arm in arms}
        table.add_row(
            f"{tests['normal'][0]['steps']:,}",
            *(f"{mean([t['bugs'] for t in tests[arm]]):.1f}" for arm in arms),
            *(f"{mean([t['reward'] for t in tests[arm]]):.0f}" for arm in arms),
        )
    return table


def _runs(groups: Sequence[Group]) -> Table:
    arms = list(groups[0])
    names = [f"{arm}\n{what}" for what in ("bugs", "reward") for arm in arms]
    table = _table("Run by run: the last policies", "\nbase", "\nseed", *names)
    for group in groups:
        last = {arm: group[arm]["chosen"]["last"] for arm in arms}
        table.add_row(
            str(group["normal"]["base"]),
            str(group["normal"]["seed"]),
            *(str(last[arm]["relax_bugs"]) for arm in arms),
            *(f"{last[arm]['reward']:.1f}" for arm in arms),
        )
    return table
