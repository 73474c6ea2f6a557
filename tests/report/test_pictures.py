"""Images and sounds: on the terminal, in files, grey and in colour."""

from __future__ import annotations

import io
import struct
import wave
import zlib

import numpy as np
import pytest

from nomos.domain.show import Image, Sound, show_record
from nomos.report.pictures import (
    image_difference,
    png_bytes,
    shrink_picture,
    spectrogram,
    text_blocks,
    wav_bytes,
)

RED, BLUE = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]


def coloured(height: int = 8, width: int = 8) -> np.ndarray:
    """A picture whose left half is red and whose right half is blue."""
    pixels = np.zeros((height, width, 3))
    pixels[:, : width // 2], pixels[:, width // 2 :] = RED, BLUE
    return pixels


def read_png(data: bytes) -> np.ndarray:
    """Read a PNG file as a browser would: checksums, kind of picture, pixels."""
    at, parts = 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert check == zlib.crc32(kind + content)
        parts[kind] = content
        at += 12 + size
    width, height, depth, colours = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8)
    pixels = rows.reshape(height, -1)[:, 1:].reshape(height, width, 3 if colours else 1)
    return pixels if colours else pixels[:, :, 0]


def test_grey_pixels_come_back_from_the_file():
    pixels = np.array([[0.0, 1.0], [0.2, 0.4]])
    assert read_png(png_bytes(pixels)).tolist() == [[0, 255], [51, 102]]


def test_colours_come_back_from_the_file():
    drawn = read_png(png_bytes(coloured(2, 2), scale=2))
    assert drawn.shape == (4, 4, 3)
    assert drawn[0, 0].tolist() == [255, 0, 0]
    assert drawn[3, 3].tolist() == [0, 0, 255]


def test_pixels_of_another_range_are_stretched():
    assert read_png(png_bytes(np.array([[-1.0, 0.0, 1.0]]))).tolist() == [[0, 128, 255]]
    assert read_png(png_bytes(np.array([[3.0, 3.0]]))).tolist() == [[0, 0]]


def test_pixels_that_are_no_numbers_are_drawn_all_the_same():
    odd = np.array([[np.nan, np.inf, -np.inf, 1.0]])
    assert read_png(png_bytes(odd)).tolist() == [[0, 255, 0, 255]]


@pytest.mark.parametrize("shape", [(9, 12), (9, 12, 1), (1, 9, 12)])
def test_an_array_of_one_channel_is_a_grey_image(shape):
    look = show_record(np.zeros(shape))
    assert isinstance(look, Image)
    assert look.pixels.shape == (9, 12)


@pytest.mark.parametrize("shape", [(9, 12, 3), (3, 9, 12)])
def test_an_array_of_three_channels_is_an_image_in_colour(shape):
    look = show_record(np.zeros(shape))
    assert isinstance(look, Image)
    assert look.pixels.shape == (9, 12, 3)


@pytest.mark.parametrize("shape", [(), (40,), (3, 4), (9, 9, 5), (2, 3, 9, 9)])
def test_other_arrays_are_no_images(shape):
    assert show_record(np.zeros(shape)) is None


@pytest.mark.parametrize("shape", [(), (5,), (9, 9, 4), (1, 9, 9, 3)])
def test_an_image_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="cannot have the shape"):
        Image(np.zeros(shape))


def test_a_sound_is_one_row_of_samples():
    with pytest.raises(ValueError, match=r"a sound cannot have the shape \(\)"):
        Sound(np.array(0.5), 16000)


def test_a_high_picture_fits_a_terminal():
    assert len(text_blocks(Image(np.zeros((500, 5))), colour=False)) == 32


def test_whole_numbers_go_to_255():
    look = show_record(np.full((8, 8, 3), 51, dtype=np.uint8))
    assert isinstance(look, Image)
    assert look.pixels[0, 0].tolist() == [0.2, 0.2, 0.2]


def test_the_difference_of_bytes_does_not_wrap_around():
    dark, bright = (Image(np.full((8, 8), v, dtype=np.uint8)) for v in (250, 5))
    found = image_difference(dark, bright)
    assert found is not None
    assert found[1] == pytest.approx(245 / 255)
    assert found[0].pixels.tolist() == np.ones((8, 8)).tolist()


def test_pictures_of_truth_values_are_black_and_white():
    dots = np.eye(8, dtype=bool)
    found = image_difference(Image(dots), Image(~dots))
    assert found is not None
    assert found[1] == 1


def test_pictures_of_two_shapes_have_no_difference():
    assert image_difference(Image(np.zeros((8, 8))), Image(np.zeros((8, 9)))) is None


def test_a_picture_is_shrunk_by_means():
    pixels = np.array([[0.0, 1.0, 4.0, 4.0], [1.0, 2.0, 4.0, 4.0]])
    assert shrink_picture(pixels, 1, 2).tolist() == [[1.0, 4.0]]
    assert shrink_picture(coloured(4, 4), 1, 2).tolist() == [[RED, BLUE]]


def test_a_terminal_shows_shades_or_colours():
    (line,) = text_blocks(Image(np.array([[0.0, 1.0], [0.0, 1.0]])), colour=False)
    assert line.plain == " █"
    (line,) = text_blocks(Image(coloured(2, 2)), colour=True)
    assert line.plain == "▀▀"
    assert [str(span.style) for span in line.spans] == [
        "rgb(255,0,0) on rgb(255,0,0)",
        "rgb(0,0,255) on rgb(0,0,255)",
    ]
    assert len(text_blocks(Image(coloured()), colour=False)) == 4


def test_a_wide_picture_fits_the_terminal():
    lines = text_blocks(Image(np.zeros((301, 500))), colour=False)
    assert len(lines) == 16
    assert {len(line) for line in lines} == {60}


def test_a_sound_comes_back_from_its_file():
    sound = Sound(np.array([0.0, 0.5, -2.0, np.nan]), 8000)
    with wave.open(io.BytesIO(wav_bytes(sound))) as file:
        assert (file.getframerate(), file.getsampwidth()) == (8000, 2)
        samples = np.frombuffer(file.readframes(9), dtype="<i2").tolist()
    assert samples == [0, 16383, -32767, 0]


def test_a_tone_is_a_line_in_its_spectrogram_and_low_tones_are_at_the_bottom():
    def line(frequency: float) -> int:
        tone = np.sin(2 * np.pi * frequency * np.arange(4000) / 8000)
        return int(spectrogram(Sound(tone, 8000)).pixels.mean(axis=1).argmax())

    assert line(500) > line(3000)
    assert spectrogram(Sound(np.zeros(10), 8000)).pixels.shape == (129, 1)
