"""Fields of draws: each number has its address, alone, together and on tensors."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.domain import fields
from nomos.domain.fields import Draws, generator

SEEDS = np.array([5, 2**62 + 77, 123456789012345678])


def test_the_bits_are_numpys_philox_with_the_seed_and_the_field_as_key() -> None:
    for count in (4, 64, 65, 1000):  # drawn together, and case by case
        words = fields._words(SEEDS, 3, count)
        for seed, row in zip(SEEDS.tolist(), words, strict=True):
            bits = np.random.Philox(key=np.array([seed, 3], dtype=np.uint64))
            assert row.tolist() == bits.random_raw(count).tolist()


def test_numbers_are_pinned() -> None:
    """Stored bugs are run again by these: they may never change."""
    draws = Draws([42])
    assert draws.integers(0, 99, 5).tolist() == PINNED_INTEGERS
    assert draws.uniform(2).tolist() == PINNED_SHARES


@pytest.mark.parametrize("shape", [(), 3, (2, 5), (3, 40, 40)])
def test_a_case_draws_the_same_alone_and_among_others(shape) -> None:
    def drawn(draws: Draws) -> list[np.ndarray]:
        return [draws.normal(shape), draws.uniform(shape), draws.integers(-3, 9, shape)]

    together = drawn(Draws(SEEDS))
    for row, seed in enumerate(SEEDS.tolist()):
        for one, all_of_them in zip(drawn(Draws([seed])), together, strict=True):
            assert np.array_equal(one[0], all_of_them[row])
    backwards = drawn(Draws(SEEDS)[::-1])
    assert all(
        np.array_equal(b[::-1], t) for b, t in zip(backwards, together, strict=True)
    )


def test_each_field_of_a_function_has_other_numbers() -> None:
    draws = Draws(SEEDS)
    assert not np.array_equal(draws.uniform(9), draws.uniform(9))


def test_as_a_sequence_they_are_a_generator_for_each_case() -> None:
    drawn = [rng.random() for rng in Draws(SEEDS)]
    assert drawn == [generator(seed).random() for seed in SEEDS.tolist()]


def test_a_domain_may_hand_over_its_generators() -> None:
    rngs = [np.random.default_rng(n) for n in range(2)]
    again = [np.random.default_rng(n) for n in range(2)]
    assert np.array_equal(Draws.of(rngs).uniform(3), Draws.of(again).uniform(3))


def test_fields_have_the_distribution_that_they_say() -> None:
    draws = Draws(np.arange(50))
    normal = draws.normal(2001, mean=1.0, deviation=2.0).ravel()
    stats = pytest.importorskip("scipy.stats", reason="needs scipy")
    assert stats.kstest((normal - 1) / 2, "norm").pvalue > 0.001
    uniform = draws.uniform(2001, -1.0, 3.0).ravel()
    assert uniform.min() >= -1 and uniform.max() < 3
    assert stats.kstest((uniform + 1) / 4, "uniform").pvalue > 0.001
    numbers, counts = np.unique(draws.integers(-2, 2, 2000), return_counts=True)
    assert numbers.tolist() == [-2, -1, 0, 1, 2]
    assert counts.min() > 0.97 * counts.max()


def test_there_must_be_integers_to_draw() -> None:
    with pytest.raises(ValueError, match="from 3 to 2"):
        Draws([1]).integers(3, 2, 4)


@pytest.mark.slow
def test_tensors_have_the_same_bits() -> None:
    torch = pytest.importorskip("torch")
    here, there = Draws(SEEDS), Draws(SEEDS, "cpu")
    assert np.array_equal(here.integers(-9, 99, 77), there.integers(-9, 99, 77).numpy())
    assert np.array_equal(here.uniform((7, 11)), there.uniform((7, 11)).numpy())
    normal = there.normal((7, 11))
    assert isinstance(normal, torch.Tensor)
    assert np.allclose(here.normal((7, 11)), normal.numpy(), atol=2e-6)
    plain = fields._tensor_halves(SEEDS, 3, 25, "cpu").numpy()
    assert np.array_equal(plain, fields._halve_words(fields._words(SEEDS, 3, 100)))


PINNED_INTEGERS = [[87, 44, 17, 81, 56]]
PINNED_SHARES = [[0.715420663356781, 0.42691922187805176]]
