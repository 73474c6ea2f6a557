from __future__ import annotations

import base64

import numpy as np

from nomos.domain.show import Image, Scene, Sound
from nomos.report.html.drawings import draw_all, first_parting


def flight(end: tuple[float, float], steps: int, caption: str = "") -> Scene:
    path = np.column_stack([np.linspace((2, 8), end, steps), np.zeros(steps)])
    return Scene(20, 13, (np.array([(0.0, 1.0), (20.0, np.nan)]),), path, caption)


def data(address: str) -> bytes:
    return base64.b64decode(address.partition("base64,")[2])


def test_images_are_drawn_with_their_difference():
    looks = {"x1": Image(np.zeros((9, 12))), "x2": Image(np.full((9, 12), 0.25))}
    images = draw_all(looks)["images"]
    assert [image.caption for image in images] == ["x1", "x2", "difference, up to 0.25"]
    assert {(image.width, image.height) for image in images} == {(12, 9)}
    assert data(images[0].source).startswith(b"\x89PNG")


def test_a_large_image_is_made_smaller_in_its_own_proportions():
    (image,) = draw_all({"x": Image(np.zeros((300, 1024, 3)))})["images"]
    assert (image.width, image.height) == (256, 75)


def test_a_sound_has_a_file_a_wave_and_a_spectrogram():
    samples = np.linspace(-1, 1, 6 * 8000)
    (sound,) = draw_all({"x1": Sound(samples, 8000)})["sounds"]
    assert data(sound.source).startswith(b"RIFF")
    assert sound.length == "6 s at 8,000 Hz, the beginning"
    assert sound.wave.startswith("0,99 ") and sound.columns == 160
    assert data(sound.picture.source).startswith(b"\x89PNG")


def test_a_long_scene_is_thinned_and_keeps_its_ends():
    (scene,) = draw_all({"s": flight((18, 8), 900, "landed")})["scenes"]
    assert scene.caption == "landed, 1 of 3 steps, 900 in all"
    assert len(scene.path.split()) == 300 and len(scene.numbers.split()) == 900
    assert scene.path.startswith("2,8 ") and scene.path.endswith(" 18,8")
    assert scene.lines == ("0,1 20,0",)
    assert scene.end == "translate(18 8) rotate(0.0)"
    assert scene.parting is None


def test_paths_part_where_they_are_first_apart():
    straight, lower = flight((18, 8), 161), flight((18, 3), 161)
    assert (
        first_parting([straight, lower]) == 7
    )  # 0.031 lower each step, and apart is 0.2
    assert first_parting([straight, straight]) is None
    assert first_parting([straight]) is None
    both = draw_all({"s1": straight, "s2": lower})["scenes"]
    assert [scene.parting for scene in both] == [(2.7, 8.0), (2.7, 7.78125)]
