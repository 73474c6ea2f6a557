"""Applicants for credit, made up: six numbers each, and whether they paid it back."""

import numpy as np

COLUMNS = ["income", "debt", "years_employed", "late_payments", "age", "is_renting"]


def applicants(count: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of applicants, and 1 for each who paid back, else 0."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 76, count)
    years = np.minimum(rng.geometric(0.15, count) - 1, age - 18)
    income = np.clip(rng.lognormal(3.3 + 0.01 * years, 0.5), 5, 200).round()
    debt = np.clip(rng.exponential(25, count), 0, 150).round()
    late = np.minimum(rng.poisson(0.8, count), 9)
    renting = rng.integers(0, 2, count)
    score = 0.04 * income - 0.03 * debt + 0.06 * years - 0.6 * late - 0.3 * renting
    paid = score + rng.logistic(0, 0.5, count) > 0.2
    rows = np.column_stack([income, debt, years, late, age, renting])
    return rows.astype(float), paid.astype(int)


def split() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return what models are trained on, and what they are tested on."""
    rows, paid = applicants()
    return (rows[:3000], paid[:3000]), (rows[3000:], paid[3000:])
