"""Written digits of 8 x 8 pixels (scikit-learn)."""

import numpy as np
from sklearn.datasets import load_digits
from tables import Table

from nomos import random


class Digits(Table):
    """1,797 digits; pixels are 0 to 16."""

    @staticmethod
    def table():
        """Return all records and their labels."""
        return load_digits(return_X_y=True)

    @random
    def noisy(self, image, rng):
        """Return a digit with every pixel off by up to 1.5."""
        off = rng.uniform(-1.5, 1.5, image.shape)
        return np.clip(image + off, 0, 16).astype(np.float32)
