"""Handwritten digits: the test images of MNIST and a network that reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casestudies.mnist.data import Digits, load_digits
from nomos import Domain, batched, load_model
from nomos.domain import total

HERE = Path(__file__).parent


class Mnist(Domain):
    """Images of 28x28 float32 in 0..1, and a network that says which digit is shown."""

    classes = {"predict": range(10)}  # noqa: RUF012 - it is read and never changed

    def __init__(self, model: str = str(HERE / "models" / "nn.onnx")) -> None:
        self._digits: Digits = load_digits("test")
        self._model = load_model(model)

    def inputs(self) -> np.ndarray:
        """Return the 10,000 test images."""
        return self._digits.images

    def labels(self) -> np.ndarray:
        """Return the digit that each image shows."""
        return self._digits.labels

    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the 60,000 training images and their digits, for `nomos repair`."""
        digits = load_digits("train")
        return digits.images, digits.labels

    @batched
    @total
    def predict(self, images):
        """Return the digit that the network sees."""
        return self._model.predict(images)

    @batched
    def blur(self, images):
        """Replace every pixel by the mean of the 3x3 pixels around it.

        Beyond the border there is empty paper, so a pixel there counts as 0.
        """
        return box_blur(images)


_BLOCK = 64  # images, whose pixels the processor keeps at hand


def box_blur(images: np.ndarray) -> np.ndarray:
    """Blur images (n, height, width) with a 3x3 box, 0 beyond the border.

    The sum over a box is a sum over columns of sums over rows: 4 additions, not 8. Images
    lie one behind the other with an empty row and an empty column between them, so that a
    neighbour is a fixed number of pixels away, and each addition is one of long vectors.
    """
    count, height, width = images.shape
    made = np.empty_like(images)
    step = width + 1
    size = (height + 1) * step
    pixels = np.zeros(step + 1 + _BLOCK * size, dtype=images.dtype)
    for first in range(0, count, _BLOCK):
        part = images[first : first + _BLOCK]
        end = len(part) * size
        framed = pixels[step + 1 : step + 1 + end].reshape(-1, height + 1, step)
        framed[:, :height, :width] = part
        wanted = end - step  # the last row is empty
        rows = pixels[: wanted + 1] + pixels[step : end + 1]
        rows += pixels[2 * step : 2 * step + wanted + 1]
        boxes = np.empty(end, dtype=images.dtype)
        inner = boxes[: wanted - 1]
        np.add(rows[:-2], rows[1:-1], out=inner)
        inner += rows[2:]
        inner /= np.float32(9)
        blurred = boxes.reshape(framed.shape)
        made[first : first + _BLOCK] = blurred[:, :height, :width]
    return made
