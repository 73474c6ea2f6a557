"""The curves of the training study: reward and bugs over the steps, as a PNG."""

from collections.abc import Sequence
from pathlib import Path

from casestudies.lunar.guided.tables import Pair, mean_interval

KINDS = {"normal": "#4a5568", "guided": "#c05621"}
FIGURES = {"reward": "mean reward", "bugs": "bugs"}


def draw(pairs: Sequence[Pair], path: Path) -> None:
    """Draw means over the runs, with the 90 % band of each mean."""
    import matplotlib as mpl

    mpl.use("Agg")  # no screen is needed
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(FIGURES), figsize=(10, 3.6))
    for axis, (name, words) in zip(axes, FIGURES.items(), strict=True):
        for kind, colour in KINDS.items():
            runs = [getattr(pair, kind)["tests"] for pair in pairs]
            steps = [test["steps"] / 1000 for test in runs[0]]
            columns = [
                [test[name] for test in tests] for tests in zip(*runs, strict=True)
            ]
            bands = [mean_interval(column) for column in columns]
            means = [sum(column) / len(column) for column in columns]
            axis.plot(steps, means, color=colour, label=kind)
            low, high = [b.low for b in bands], [b.high for b in bands]
            axis.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
        axis.set_xlabel("training steps, thousands")
        axis.set_ylabel(words)
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the date, the same runs give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
