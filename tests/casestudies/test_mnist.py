"""MNIST: idx files that are right or wrong, the blur, and the committed network."""

from __future__ import annotations

import gzip
import json
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from casestudies.datasets import ChecksumError, DataMissingError
from casestudies.mnist.data import PARTS as FILES
from casestudies.mnist.data import (
    at_hand,
    load_digits,
    parse_idx,
    read_pair,
    read_table,
)
from casestudies.mnist.mnist import HERE, Mnist, box_blur
from nomos import DomainError

PIXELS = np.arange(3 * 2 * 2, dtype=np.uint8).reshape(3, 2, 2) * 20


def idx(array: np.ndarray) -> bytes:
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Return tiny files: three images of 2x2, and their labels."""
    images, labels = tmp_path / "images.gz", tmp_path / "labels"
    images.write_bytes(gzip.compress(idx(PIXELS)))
    labels.write_bytes(idx(np.array([7, 0, 9], dtype=np.uint8)))
    return images, labels


def test_images_are_brightness_from_zero_to_one_and_labels_are_digits(
    pair: tuple[Path, Path],
) -> None:
    digits = read_pair(*pair)
    assert digits.images.dtype == np.float32
    assert digits.images[2, 1, 1] == np.float32(220 / 255)
    assert digits.labels.tolist() == [7, 0, 9]


def test_as_many_labels_as_images_are_asked_for(pair: tuple[Path, Path]) -> None:
    images, labels = pair
    labels.write_bytes(idx(np.array([7, 0], dtype=np.uint8)))
    with pytest.raises(DomainError, match=r"images\.gz has 3 images, but labels has 2"):
        read_pair(images, labels)


WHOLE = idx(PIXELS)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "begins with nothing"),
        (b"\x89PNG" + WHOLE[4:], "begins with 89504e47"),
        (b"\x00\x00\x0d\x03" + WHOLE[4:], "no idx file of bytes"),
        (idx(PIXELS[0]), "no idx file of bytes with 3 dimensions"),
        (WHOLE[:10], "ends before it has said its shape"),
        (WHOLE[:-1], r"should hold 12 bytes for the shape \(3, 2, 2\), but holds 11"),
        (WHOLE + b"\x00", "but holds 13"),
    ],
)
def test_an_idx_file_that_does_not_add_up_is_refused(
    content: bytes, complaint: str
) -> None:
    with pytest.raises(DomainError, match=complaint):
        parse_idx(content, name="images", dimensions=3)


@pytest.mark.parametrize("damage", [slice(0, 20), slice(2, None)])
def test_a_damaged_gzip_file_is_refused_by_name(
    pair: tuple[Path, Path], damage: slice
) -> None:
    images, labels = pair
    images.write_bytes(images.read_bytes()[damage])
    with pytest.raises(DomainError, match=r"images\.gz is no whole gzip file"):
        read_pair(images, labels)


@pytest.mark.parametrize(
    "name", ["t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte"]
)
def test_a_file_at_hand_with_other_content_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NOMOS_DATA", str(tmp_path))
    content = gzip.compress(WHOLE) if name.endswith(".gz") else WHOLE
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / name).write_bytes(content)
    with pytest.raises(
        ChecksumError, match=f"{name} does not hold MNIST's t10k-images"
    ):
        at_hand(FILES["test"].images)


def test_a_table_holds_the_same_as_the_idx_files(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, 784))
    rows = [
        ",".join(map(str, [label, *row]))
        for label, row in zip((3, 8), pixels, strict=True)
    ]
    table = tmp_path / "mnist_test.csv"
    table.write_text("\n".join(["label,and,so,on", *rows]))
    digits = read_table(table)
    assert digits.labels.tolist() == [3, 8]
    assert digits.images.shape == (2, 28, 28)
    assert digits.images[1, 27, 27] == np.float32(pixels[1, 783]) / np.float32(255)


def spot(row: int, column: int) -> np.ndarray:
    image = np.zeros((1, 28, 28), dtype=np.float32)
    image[0, row, column] = 9
    return image


def test_blur_spreads_a_spot_evenly_over_both_axes() -> None:
    blurred = box_blur(spot(10, 20))[0]
    assert (blurred[9:12, 19:22] == 1).all()
    assert blurred.sum() == 9


def test_blur_takes_what_lies_beyond_the_border_for_empty_paper() -> None:
    blurred = box_blur(spot(0, 27))[0]
    assert (blurred[:2, 26:] == 1).all()
    assert blurred.sum() == 4


def test_blur_of_one_image_does_not_depend_on_the_others() -> None:
    images = np.random.default_rng(0).random((50, 28, 28), dtype=np.float32)
    alone = np.concatenate([box_blur(image[None]) for image in images])
    assert np.array_equal(box_blur(images), alone)


@pytest.fixture
def domain() -> Mnist:
    """Return the real domain, or skip with the loader's own message."""
    pytest.importorskip("onnxruntime")
    match real_domain():
        case Mnist() as domain:
            return domain
        case missing:
            pytest.skip(str(missing))


@cache
def real_domain() -> Mnist | DataMissingError:
    """Look for the data once: it takes seconds to find out that there is none."""
    try:
        return Mnist()
    except DataMissingError as missing:
        return missing


def test_the_inputs_are_the_ten_thousand_test_images(domain: Mnist) -> None:
    images = domain.inputs()
    assert images.shape == (10_000, 28, 28)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0, 1)


def test_the_labels_are_those_of_the_test_images(domain: Mnist) -> None:
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(domain.labels()).tolist() == counts
    assert domain.labels()[:5].tolist() == [7, 2, 1, 0, 4]


def test_the_network_is_as_accurate_as_its_card_says_and_as_the_paper_asks(
    domain: Mnist,
) -> None:
    right = domain.predict.many(domain.inputs()) == domain.labels()
    card = json.loads((HERE / "models" / "card.json").read_text(encoding="utf-8"))
    assert round(float(right.mean()), 4) == card["accuracy"]["test"] >= 0.97


def test_one_image_is_read_as_it_is_among_others(domain: Mnist) -> None:
    images = domain.inputs()[:20]
    together = domain.predict.many(images).tolist()
    assert [domain.predict(image) for image in images] == together


def test_training_and_test_images_come_with_their_labels(domain: Mnist) -> None:
    train = load_digits("train")
    assert train.images.shape == (60_000, 28, 28)
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]
