"""Tables that a seed makes: six columns, a noisy label, and nothing that repair was tuned on."""

import numpy as np
from tables import Table, part_of

from nomos import Schema, batched, load_model
from nomos.domain import Flag, Integer


def make_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return people and a score: it rises with `a` and falls with `b`; `group` is noise.

    The seed chooses how many there are, how strong each column is, how columns hang
    together, and how much is noise.
    """
    rng = np.random.default_rng([38, seed])
    count = int(rng.integers(800, 3000))
    group = rng.integers(0, 2, count)
    rows = rng.integers(0, [41, 21, 11, 6, 100], (count, 5))
    rows[:, 2] = np.clip(rows[:, 2] + group * rng.integers(0, 4), 0, 10)
    unit = rows / [40, 20, 10, 5, 99]
    strong = rng.uniform(0.3, 2, 5) * [1, -1, *rng.choice([-1, 1], 3)]
    score = unit @ strong + rng.uniform(0.5, 2) * unit[:, 2] * unit[:, 4]
    noisy = score + rng.normal(0, rng.uniform(0.3, 1), count) + 0.2 * group
    return np.column_stack([rows, group]), noisy - np.median(noisy)


class Made(Table):
    """A table of a seed: whether the score is above its median, or the score itself."""

    schema = Schema(
        Integer("a", 0, 40),
        Integer("b", 0, 20),
        Integer("c", 0, 10),
        Integer("d", 0, 5),
        Integer("e", 0, 99),
        Flag("group"),
    )

    def __init__(
        self, model: str, part: str = "given", seed: int = 0, scored: bool = False
    ) -> None:
        self.seed, self.scored = seed, scored
        self.rows, self.answers = part_of(*self.table(seed, scored), part)
        self.model = load_model(model, trust=True)

    @staticmethod
    def table(seed: int = 0, scored: bool = False):
        """Return all records and their labels; scores are in hundredths."""
        rows, score = make_table(seed)
        return rows, 100 * score if scored else score > 0

    def training(self):
        """Return what the model was trained on."""
        return part_of(*self.table(self.seed, self.scored), "training")

    @batched
    def decide(self, rows):
        """Return what the model says."""
        said = np.asarray(self.model.predict(rows)).reshape(len(rows))
        return said.astype(float if self.scored else int)
