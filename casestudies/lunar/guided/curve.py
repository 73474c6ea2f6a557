"""The curves of a training study: reward and bugs over the steps, as a PNG."""

from pathlib import Path
from typing import Any

from casestudies.lunar.guided.effects import mean, mean_interval
from casestudies.lunar.guided.tables import groups_of

COLOURS = {"normal": "#4a5568", "guided": "#c05621", "pool": "#2b6cb0"}
FIGURES = {"reward": "mean reward", "bugs": "bugs"}


def draw(study: dict[str, Any], path: Path) -> None:
    """Draw means over the runs, with the 95 % band of each mean."""
    import matplotlib as mpl

    mpl.use("Agg")  # no screen is needed
    from matplotlib import pyplot

    groups = groups_of(study)
    figure, axes = pyplot.subplots(1, len(FIGURES), figsize=(10, 3.6))
    for axis, (name, words) in zip(axes, FIGURES.items(), strict=True):
        for arm in groups[0]:
            runs = [group[arm]["tests"] for group in groups]
            steps = [test["steps"] / 1000 for test in runs[0]]
            columns = [
                [test[name] for test in tests] for tests in zip(*runs, strict=True)
            ]
            bands = [mean_interval(column) for column in columns]
            means = [mean(column) for column in columns]
            axis.plot(steps, means, color=COLOURS[arm], label=arm)
            low, high = [b.low for b in bands], [b.high for b in bands]
            if len(groups) > 1:
                axis.fill_between(
                    steps, low, high, color=COLOURS[arm], alpha=0.2, linewidth=0
                )
        axis.set_xlabel("training steps, thousands")
        axis.set_ylabel(words)
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the date, the same runs give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
