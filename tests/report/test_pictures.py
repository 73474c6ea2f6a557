"""Images, sounds and texts of a bug: on the terminal, in files, grey and in colour."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest
from nomos.report.html_pictures import image_data

from nomos.domain.show import Fields, Image, Sound, Words, shown
from nomos.report.bug import picture, text_change, write_files
from nomos.report.pictures import blocks, difference, png, shrunk, spectrogram, wav

RED, BLUE = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]


def coloured(height: int = 8, width: int = 8) -> np.ndarray:
    """A picture whose left half is red and whose right half is blue."""
    pixels = np.zeros((height, width, 3))
    pixels[:, : width // 2], pixels[:, width // 2 :] = RED, BLUE
    return pixels


def test_grey_pixels_come_back_from_the_file(read_png):
    pixels = np.array([[0.0, 1.0], [0.2, 0.4]])
    assert read_png(png(pixels))[0].tolist() == [[0, 255], [51, 102]]


def test_colours_come_back_from_the_file(read_png):
    drawn = read_png(png(coloured(2, 2), scale=2))[0]
    assert drawn.shape == (4, 4, 3)
    assert drawn[0, 0].tolist() == [255, 0, 0]
    assert drawn[3, 3].tolist() == [0, 0, 255]


def test_pixels_of_another_range_are_stretched(read_png):
    assert read_png(png(np.array([[-1.0, 0.0, 1.0]])))[0].tolist() == [[0, 128, 255]]
    assert read_png(png(np.array([[3.0, 3.0]])))[0].tolist() == [[0, 0]]


def test_pixels_that_are_no_numbers_are_drawn_all_the_same(read_png):
    odd = np.array([[np.nan, np.inf, -np.inf, 1.0]])
    assert read_png(png(odd))[0].tolist() == [[0, 255, 0, 255]]


@pytest.mark.parametrize("shape", [(9, 12), (9, 12, 1), (1, 9, 12)])
def test_an_array_of_one_channel_is_a_grey_image(shape):
    look = shown(np.zeros(shape))
    assert isinstance(look, Image)
    assert look.pixels.shape == (9, 12)


@pytest.mark.parametrize("shape", [(9, 12, 3), (3, 9, 12)])
def test_an_array_of_three_channels_is_an_image_in_colour(shape):
    look = shown(np.zeros(shape))
    assert isinstance(look, Image)
    assert look.pixels.shape == (9, 12, 3)


@pytest.mark.parametrize("shape", [(), (40,), (3, 4), (9, 9, 5), (2, 3, 9, 9)])
def test_other_arrays_are_no_images(shape):
    assert shown(np.zeros(shape)) is None


@pytest.mark.parametrize("shape", [(), (5,), (9, 9, 4), (1, 9, 9, 3)])
def test_an_image_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="cannot have the shape"):
        Image(np.zeros(shape))


def test_whole_numbers_go_to_255():
    look = shown(np.full((8, 8, 3), 51, dtype=np.uint8))
    assert isinstance(look, Image)
    assert look.pixels[0, 0].tolist() == [0.2, 0.2, 0.2]


def test_the_difference_of_bytes_does_not_wrap_around():
    dark, bright = (Image(np.full((8, 8), v, dtype=np.uint8)) for v in (250, 5))
    found = difference(dark, bright)
    assert found is not None
    assert found[1] == pytest.approx(245 / 255)
    assert found[0].pixels.tolist() == np.ones((8, 8)).tolist()


def test_pictures_of_two_shapes_have_no_difference():
    assert difference(Image(np.zeros((8, 8))), Image(np.zeros((8, 9)))) is None


def test_a_picture_is_shrunk_by_means():
    pixels = np.array([[0.0, 1.0, 4.0, 4.0], [1.0, 2.0, 4.0, 4.0]])
    assert shrunk(pixels, 1, 2).tolist() == [[1.0, 4.0]]
    assert shrunk(coloured(4, 4), 1, 2).tolist() == [[RED, BLUE]]


def test_a_page_gets_a_large_picture_small_enough_in_its_own_proportions():
    _, width, height = image_data(Image(np.zeros((300, 1024, 3))))
    assert (width, height) == (256, 75)


def test_a_terminal_shows_shades_or_colours():
    (line,) = blocks(Image(np.array([[0.0, 1.0], [0.0, 1.0]])), colour=False)
    assert line.plain == " █"
    (line,) = blocks(Image(coloured(2, 2)), colour=True)
    assert line.plain == "▀▀"
    assert [str(span.style) for span in line.spans] == [
        "rgb(255,0,0) on rgb(255,0,0)",
        "rgb(0,0,255) on rgb(0,0,255)",
    ]
    assert len(blocks(Image(coloured()), colour=False)) == 4


def test_a_wide_picture_fits_the_terminal():
    lines = blocks(Image(np.zeros((301, 500))), colour=False)
    assert len(lines) == 16
    assert {len(line) for line in lines} == {60}


def test_a_sound_comes_back_from_its_file():
    sound = Sound(np.array([0.0, 0.5, -2.0, np.nan]), 8000)
    with wave.open(io.BytesIO(wav(sound))) as file:
        assert (file.getframerate(), file.getsampwidth()) == (8000, 2)
        samples = np.frombuffer(file.readframes(9), dtype="<i2").tolist()
    assert samples == [0, 16383, -32767, 0]


def test_a_tone_is_a_line_in_its_spectrogram_and_low_tones_are_at_the_bottom():
    def line(frequency: float) -> int:
        tone = np.sin(2 * np.pi * frequency * np.arange(4000) / 8000)
        return int(spectrogram(Sound(tone, 8000)).pixels.mean(axis=1).argmax())

    assert line(500) > line(3000)
    assert spectrogram(Sound(np.zeros(10), 8000)).pixels.shape == (129, 1)


def test_images_stand_side_by_side_with_their_difference():
    one, two = np.zeros((12, 12)), np.eye(12)
    text = picture({"x1": one, "x2": two, "d": 3}, ("d",), None, colour=False).plain
    first, *rest = text.splitlines()
    assert first.split() == ["x1", "x2", "difference"]
    assert rest[0].rstrip().endswith("▒▒")  # half of each is black
    assert "outputs  d = 3" in text


def test_sounds_are_shown_as_spectrograms():
    class Sounds:
        def show(self, record):
            return Sound(record, 8000)

    values = {"x1": np.zeros(400), "x2": np.ones(600)}
    text = picture(values, (), Sounds(), colour=False).plain
    assert text.split()[:2] == ["x1", "x2"]
    assert "difference" not in text  # of other lengths


def test_a_text_shows_what_was_added_and_what_was_removed():
    values = {"x1": "a good stay", "x2": "a very good night"}
    text = picture(values, (), None, colour=False).plain
    assert "x1: a good stay" in text
    assert "x2: a{+ very+} good [-stay-]{+night+}" in text
    assert text_change("a\x1bb", "a\x1bb").plain == "a�b"


def test_long_fields_stand_one_below_the_other():
    long = "word " * 20
    values = {"x1": {"review": long, "n": 1}, "x2": {"review": long + "more", "n": 2}}
    text = picture(values, (), None, colour=False).plain
    assert "x1.review: word word" in text
    assert "{+more+}" in text
    assert "x2.n: 2" in text


def test_each_kind_of_record_gets_its_files(tmp_path):
    class Kinds:
        def show(self, record):
            return {
                "sound": Sound(np.zeros(400), 8000),
                "words": Words("so\nnice"),
                "fields": Fields({"age": 3}),
                "image": Image(coloured()),
            }[record]

    values = {name: name for name in ("sound", "words", "fields", "image")}
    written = write_files({**values, "d": "sound"}, ("d",), Kinds(), tmp_path / "new")
    names = [path.name for path in written]
    assert names == ["sound.wav", "sound.png", "words.txt", "fields.txt", "image.png"]
    assert (tmp_path / "new" / "words.txt").read_text() == "so\nnice"
    assert (tmp_path / "new" / "fields.txt").read_text() == "age: 3\n"
    assert all(path.stat().st_size for path in written)
