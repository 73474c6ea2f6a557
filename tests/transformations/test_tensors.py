"""Each change of images and sounds: the same for arrays and tensors, alone and together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos import transformations

IMAGES = {
    "shifted": ([-2, 0, 3], [1, 0, -2]),
    "mirrored": (),
    "turned": ([1, 2, 3],),
    "brighter": ([-10, 0, 30],),
    "contrasted": ([50, 100, 150],),
    "noisy": ([0, 5, 50], [1, 2, 3]),
    "blurred": ([0.0, 0.7, 2.5],),
    "rotated": ([0.0, 20.0, -75.0],),
    "scaled": ([100.0, 80.0, 150.0],),
    "cropped": ([100.0, 50.0, 70.0], [0.0, 100.0, 30.0], [0.0, 0.0, 70.0]),
    "occluded": ([0.0, 50.0, 30.0], [0.0, 100.0, 30.0], [0.0, 0.0, 70.0]),
}
SHAPES = [(3, 8, 8), (3, 8, 8, 3), (3, 3, 8, 8)]
NOTHING = {
    "shifted": (0, 0),
    "turned": (0,),
    "brighter": (0,),
    "contrasted": (100,),
    "noisy": (0, 7),
    "blurred": (0.0,),
    "rotated": (0.0,),
    "scaled": (100.0,),
    "cropped": (100.0, 30.0, 60.0),
    "occluded": (0.0, 0.0, 0.0),
}


def _images(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    made = np.random.default_rng(0).random(shape, dtype=np.float32)
    return made if dtype == np.float32 else (made * 255).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", IMAGES)
def test_a_change_is_the_same_alone_and_together(name, shape) -> None:
    change, images = getattr(transformations, name), _images(shape)
    before = images.copy()
    together = change(images, *IMAGES[name])
    assert together.shape == images.shape and together.dtype == images.dtype
    assert np.array_equal(images, before)
    for place in range(3):
        alone = change(images[place : place + 1], *([a[place]] for a in IMAGES[name]))
        assert np.array_equal(alone[0], together[place])


BEYOND = {
    "reals up to 16": _images((3, 8, 8)) * 16,
    "reals around 0": _images((3, 8, 8)) - 0.5,
    "whole numbers up to 65535": _images((3, 8, 8), np.uint16) * np.uint16(257),
    "no numbers": _images((3, 8, 8)) * np.nan,
}


@pytest.mark.parametrize("images", BEYOND.values(), ids=BEYOND)
def test_pixels_beyond_white_are_refused_where_white_matters(images) -> None:
    for name in ("brighter", "contrasted", "noisy"):
        with pytest.raises(ValueError, match="where white is"):
            getattr(transformations, name)(images, *IMAGES[name])


@pytest.mark.parametrize("name", ["blurred", "rotated", "shifted"])
def test_pixels_of_any_range_are_moved_and_blurred(name) -> None:
    change, images = getattr(transformations, name), _images((3, 8, 8))
    scaled = change(images * 16 - 4, *IMAGES[name])
    assert np.allclose(scaled, change(images, *IMAGES[name]) * 16 - 4, atol=1e-4)


def test_pixels_in_bytes_are_rounded_and_not_cut_off() -> None:
    grey = np.full((3, 8, 8), 100, np.uint8)
    assert (transformations.blurred(grey, [0.3, 0.7, 2.5]) == 100).all()
    assert (transformations.rotated(grey, [3.0, 20.0, -75.0]) == 100).all()
    assert (transformations.brighter(grey, [0.3, 0.3, 0.3]) == 101).all()
    assert (transformations.noisy(grey, [0.1, 0.1, 0.1], [1, 2, 3]) == 100).all()


@pytest.mark.parametrize("name", IMAGES)
def test_what_is_no_image_is_refused(name) -> None:
    change = getattr(transformations, name)
    with pytest.raises(ValueError, match=r"records of shape \(64,\) are no images"):
        change(_images((3, 64)), *IMAGES[name])
    with pytest.raises(ValueError, match="truth values"):
        change(_images((3, 8, 8)) > 0.5, *IMAGES[name])


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize("name", NOTHING)
def test_no_amount_changes_nothing(name, dtype) -> None:
    images = _images((3, 8, 8, 3), dtype)
    amounts = ([amount] * 3 for amount in NOTHING[name])
    made = getattr(transformations, name)(images, *amounts)
    assert np.allclose(made, images, atol=1e-6)


@pytest.mark.parametrize("name", IMAGES)
def test_an_amount_changes_something(name) -> None:
    images = _images((3, 8, 8))
    made = getattr(transformations, name)(images, *IMAGES[name])
    assert not np.array_equal(made[2], images[2])


def test_colours_may_come_first_or_last() -> None:
    last = _images((3, 8, 8, 3))
    first = np.moveaxis(last, 3, 1).copy()
    for name, amounts in IMAGES.items():
        if name != "noisy":  # which pixel gets which noise depends on the layout
            change = getattr(transformations, name)
            made = np.moveaxis(change(first, *amounts), 1, 3)
            assert np.allclose(made, change(last, *amounts), atol=1e-6), name


def test_lists_may_hold_images_of_several_shapes() -> None:
    images = [_images((1, 8, 8))[0], _images((1, 4, 6))[0]]
    made = transformations.blurred(images, [1.0, 1.0])
    assert [m.shape for m in made] == [(8, 8), (4, 6)]


def test_amounts_must_be_as_many_as_images() -> None:
    with pytest.raises(ValueError, match="3 records"):
        transformations.brighter(_images((3, 8, 8)), [1, 2])


def test_a_quarter_turn_is_numpys() -> None:
    images = _images((3, 8, 8))
    made = transformations.turned(images, [1, 2, 3])
    for place in range(3):
        assert np.array_equal(made[place], np.rot90(images[place], place + 1))
    flat = transformations.turned([images[0][:4]], [1])
    assert np.array_equal(flat[0], np.rot90(images[0][:4]))


def test_a_rotation_by_a_right_angle_is_a_quarter_turn() -> None:
    images = _images((1, 8, 8))
    turned = transformations.turned(images, [1])
    assert np.allclose(transformations.rotated(images, [90.0]), turned, atol=1e-5)


def test_noise_is_mixed_at_its_level() -> None:
    rng = np.random.default_rng(0)
    sounds, noise = rng.standard_normal((2, 3, 4000)).astype(np.float32)
    sounds[2] = 0
    added = transformations.mixed(sounds, noise, [0.0, 20.0, 10.0]) - sounds
    power = (added**2).mean(1) / np.maximum((sounds**2).mean(1), 1e-9)
    assert np.allclose(power[:2], [1.0, 0.01], rtol=0.01)
    assert not added[2].any()


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", IMAGES)
def test_a_change_of_tensors_is_that_of_arrays(name, shape) -> None:
    torch = pytest.importorskip("torch")
    images, change = _images(shape), getattr(transformations, name)
    made = change(torch.from_numpy(images), *map(torch.tensor, IMAGES[name]))
    assert np.allclose(made.numpy(), change(images, *IMAGES[name]), atol=2e-6)


@pytest.mark.slow
def test_tensors_of_sounds_are_mixed_as_arrays_are() -> None:
    torch = pytest.importorskip("torch")
    sounds, noise = np.random.default_rng(0).random((2, 2, 50), dtype=np.float32)
    here = transformations.mixed(sounds, noise, [3.0, 20.0])
    there = transformations.mixed(*map(torch.from_numpy, (sounds, noise)), [3.0, 20.0])
    assert np.allclose(there.numpy(), here, atol=1e-6)
