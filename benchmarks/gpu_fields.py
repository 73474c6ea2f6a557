"""Fields of draws on a GPU beside those of numpy: the same bits, and how fast they are.

python -m benchmarks.gpu_fields
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.gpu import timed
from nomos.domain import fields
from nomos.domain.fields import Draws

SHAPE = (3, 32, 32)


def main() -> None:
    """Compare, and print; exit status 1 where bits differ."""
    seeds = np.random.default_rng(0).integers(0, 2**63 - 1, 257)
    here, there = Draws(seeds), Draws(seeds, "cuda")
    same = [
        np.array_equal(h, t.cpu().numpy())
        for h, t in (
            (here.integers(-5, 1000, SHAPE), there.integers(-5, 1000, SHAPE)),
            (here.uniform(SHAPE), there.uniform(SHAPE)),
            (here.uniform(7), there.uniform(7)),
        )
    ]
    plain = fields._tensor_halves(seeds, 1, 9, "cuda").cpu().numpy()
    same.append(
        np.array_equal(
            plain, fields._halve_words(fields._words(seeds, 1, 36)).astype("i8")
        )
    )
    print("integers, uniform, uniform of 7, plain operations: the same bits:", same)
    a, b = here.normal(SHAPE), there.normal(SHAPE).cpu().numpy()
    print(
        "normal: differ by at most",
        float(abs(a - b).max()),
        "and equal in",
        float((a == b).mean()),
    )
    many = Draws(np.arange(8192), "cuda")
    print(
        "normal numbers a second:", 8192 * 3072 / timed(lambda: many.normal(SHAPE), 1)
    )
    kernels, fields._kernels = fields._kernels, lambda device: None
    print("by plain operations:", 8192 * 3072 / timed(lambda: many.normal(SHAPE), 1))
    fields._kernels = kernels
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
