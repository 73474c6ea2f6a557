"""The tables of the training study: what normal and guided runs came to, pair by pair."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nomos.results.statistics import Interval

Run = dict[str, Any]
CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class Pair:
    """The normal and the guided run of one seed."""

    seed: int
    normal: Run
    guided: Run


def pairs_of(study: dict[str, Any]) -> list[Pair]:
    """Return the pairs of a study of which both runs are there."""
    runs = {(run["seed"], run["guided"]): run for run in study["runs"] if run}
    seeds = sorted({seed for seed, _ in runs})
    return [
        Pair(seed, runs[seed, False], runs[seed, True])
        for seed in seeds
        if (seed, False) in runs and (seed, True) in runs
    ]


def watched(run: Run, choice: str) -> dict[str, Any]:
    """Return the test by which a policy was chosen."""
    test: dict[str, Any] = run["tests"][run["chosen"][choice]["test"]]
    return test


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the interval of Student's t for a mean of normal values."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(mean, mean, CONFIDENCE)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = student((1 + CONFIDENCE) / 2, count - 1) * math.sqrt(variance / count)
    return Interval(mean - half, mean + half, CONFIDENCE)


def student(chance: float, freedom: int) -> float:
    """Return the quantile of Student's t, by bisection of its integral."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)

    def below(x: float) -> float:
        steps = 2000  # Simpson's rule; far more than three digits need
        width = x / steps
        heights = [
            (1 + (i * width) ** 2 / freedom) ** (-(freedom + 1) / 2)
            for i in range(steps + 1)
        ]
        inside = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2])
        inside += 2 * sum(heights[2:-1:2])
        return 0.5 + scale * inside * width / 3

    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < chance else (low, middle)
    return (low + high) / 2


def print_study(study: dict[str, Any]) -> None:
    """Print the paper's table, what held-out states say, and the counts of pairs."""
    pairs = pairs_of(study)
    console = Console(width=120, highlight=False)
    if not pairs:
        console.print("no pair of runs is complete")
        return
    setting = pairs[0].normal["setting"]
    cpu = sum(run["cpu_s"]["all"] for p in pairs for run in (p.normal, p.guided))
    console.print(
        f"{len(pairs)} pair{'s' * (len(pairs) > 1)} of runs of {setting['steps']:,} steps, "
        f"{len(pairs[0].normal['tests'])} tests a run; {cpu:,.0f} CPU seconds"
    )
    title = f"While training: the same {setting['tests']} cases in every test"
    console.print(_table(pairs, title, PAPERS, _watched_cells))
    console.print(_summary(pairs, PAPERS, _watched_cells))
    console.print(_course(pairs))
    console.print(_practice(pairs))
    title = (
        f"Afterwards: {setting['judge_tests']} cases from states that no training saw"
    )
    console.print(_table(pairs, title, CHOICES, _judged_cells))
    console.print(_summary(pairs, CHOICES, _judged_cells))
    console.print(_chance(pairs))


Cells = Callable[[Run, str], tuple[float, float]]


def _watched_cells(run: Run, choice: str) -> tuple[float, float]:
    test = watched(run, choice)
    return test["bugs"], test["reward"]


def _judged_cells(run: Run, choice: str) -> tuple[float, float]:
    judged = run["chosen"][choice]
    return judged["relax_bugs"], judged["reward"]


KINDS = ("normal", "guided")
PAPERS = {"minimum_bug": "fewest bugs", "maximum_reward": "most reward"}
CHOICES = {**PAPERS, "last": "last policy"}


def _table(
    pairs: Sequence[Pair], title: str, choices: Mapping[str, str], cells: Cells
) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("\n\n\nseed", justify="right")
    for words in choices.values():
        above = words.replace(" ", "\n")
        for kind in KINDS:
            for what in ("bugs", "reward"):
                table.add_column(f"{above}\n{kind}\n{what}", justify="right")
    rows = [
        [
            figure
            for choice in choices
            for run in (pair.normal, pair.guided)
            for figure in cells(run, choice)
        ]
        for pair in pairs
    ]
    for pair, row in zip(pairs, rows, strict=True):
        shown = [f"{x:.0f}" if i % 2 == 0 else f"{x:.1f}" for i, x in enumerate(row)]
        table.add_row(str(pair.seed), *shown)
    means = [math.fsum(column) / len(pairs) for column in zip(*rows, strict=True)]
    table.add_section()
    table.add_row("mean", *(f"{mean:.1f}" for mean in means))
    return table


def _course(pairs: Sequence[Pair]) -> Table:
    """Show reward and bugs over the steps: means over the runs, with their bands."""
    title = "Over the steps: means, with 90 % bands"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("\nsteps", justify="right")
    columns = [(what, kind) for what in ("reward", "bugs") for kind in KINDS]
    for what, kind in columns:
        table.add_column(f"{kind}\n{what}", justify="right")
    for number, test in enumerate(pairs[0].normal["tests"]):
        shown = (
            _mean([getattr(pair, kind)["tests"][number][what] for pair in pairs])
            for what, kind in columns
        )
        table.add_row(
            f"{test['steps']:,}", *(text.replace("90 %: ", "") for text in shown)
        )
    return table


def _practice(pairs: Sequence[Pair]) -> str:
    """Say how much of the guided training came from bugs, where the runs tell it."""
    tests = [test for pair in pairs for test in pair.guided["tests"]]
    most = max(test.get("probability", 0.0) for test in tests)
    shares = [
        100 * test["guided_steps"]
        for test in tests
        if "guided_steps" in test and test["probability"] == most
    ]
    known = [pair.guided["tests"][-1].get("known_bugs", 0) for pair in pairs]
    line = f"guided runs came to know {min(known)} to {max(known)} bugs"
    if not shares:
        return line
    return (
        f"{line}; with {most:.0%} of the episodes from bugs,"
        f" {min(shares):.0f} to {max(shares):.0f} % of the steps were theirs"
    )


def _summary(pairs: Sequence[Pair], choices: Mapping[str, str], cells: Cells) -> str:
    """Say in how many pairs guiding gave fewer bugs, and what the rewards are."""
    lines = []
    for choice, words in choices.items():
        normal = [cells(pair.normal, choice) for pair in pairs]
        guided = [cells(pair.guided, choice) for pair in pairs]
        gaps = [
            ours[0] - theirs[0] for ours, theirs in zip(guided, normal, strict=True)
        ]
        fewer, more = sum(g < 0 for g in gaps), sum(g > 0 for g in gaps)
        lines.append(
            f"{words}: guided has fewer bugs in {fewer} of {len(pairs)} pairs, as many in"
            f" {len(pairs) - fewer - more}, more in {more}; difference {_mean(gaps, '+')}"
        )
        for kind, figures in (("normal", normal), ("guided", guided)):
            rewards = [reward for _, reward in figures]
            lines.append(f"  {kind}: mean reward {_mean(rewards)}")
    return "\n".join(lines)


def _mean(values: Sequence[float], sign: str = "") -> str:
    """Write a mean with its band, where there is more than one value."""
    mean = format(math.fsum(values) / len(values), f"{sign}.1f")
    if len(values) < 2:
        return mean
    band = mean_interval(values)
    return f"{mean} (90 %: {band.low:{sign}.1f} to {band.high:{sign}.1f})"


def _chance(pairs: Sequence[Pair]) -> str:
    """Say how many bugs chance alone gives to the same policies, and what they win."""
    runs = [run for p in pairs for run in (p.normal, p.guided)]
    counts = [run["chosen"][c]["control_bugs"] for run in runs for c in CHOICES]
    normal, guided = (
        100 * math.fsum(getattr(p, kind)["chosen"]["last"]["won"] for p in pairs)
        for kind in KINDS
    )
    return (
        f"by chance alone (a state against itself): {sum(counts) / len(counts):.1f}"
        f" of as many cases on average, at most {max(counts)}\n"
        f"the last policies won from {normal / len(pairs):.1f} % of those states (normal)"
        f" and {guided / len(pairs):.1f} % (guided)"
    )
