"""Scenes drawn, and the files they become, read back by readers written for the tests."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from nomos.report.gif import compress, gif
from nomos.report.lettering import lettering, wrapped

from nomos.domain.show import Scene
from nomos.report.bug import picture, write_files
from nomos.report.scenes import PALETTE, parting, scenes_gif, scenes_png

SKY, LINE, PATH, OTHER, BODY, PART = range(6)


def expand(data: bytes, bits: int) -> bytes:
    """Read LZW codes as the format describes them."""
    clear, end = 1 << bits, (1 << bits) + 1
    number, place, width = int.from_bytes(data, "little"), 0, bits + 1
    table: list[bytes] = []
    out, before = bytearray(), b""
    while True:
        code = number >> place & (1 << width) - 1
        place += width
        if code == clear:
            table = [bytes([value]) for value in range(clear)] + [b"", b""]
            width, before = bits + 1, b""
            continue
        if code == end:
            assert (place + 7) // 8 == len(data)
            return bytes(out)
        entry = table[code] if code < len(table) else before + before[:1]
        out += entry
        if before and len(table) < 4096:
            table.append(before + entry[:1])
            width += len(table) == 1 << width and width < 12
        before = entry


def read_gif(data: bytes) -> tuple[list[np.ndarray], list[int]]:
    """Return the frames of an animation as they are seen, and their delays."""
    assert data[:6] == b"GIF89a"
    width, height, flags = struct.unpack("<HHB", data[6:11])
    at = 13 + 3 * 2 ** ((flags & 7) + 1)
    screen = np.zeros((height, width), dtype=np.uint8)
    frames, delays = [], []
    while data[at] != 0x3B:
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                delays.append(struct.unpack("<H", data[at + 4 : at + 6])[0])
            at += 2
        else:
            left, top, wide, high = struct.unpack("<HHHH", data[at + 1 : at + 9])
            bits, at = data[at + 10], at + 11
        body = b""
        while data[at]:
            body += data[at + 1 : at + 1 + data[at]]
            at += 1 + data[at]
        at += 1
        if body[:8] != b"NETSCAPE" and len(delays) > len(frames) and len(body) != 4:
            part = np.frombuffer(expand(body, bits), dtype=np.uint8)
            screen[top : top + high, left : left + wide] = part.reshape(high, wide)
            frames.append(screen.copy())
    return frames, delays


@pytest.mark.parametrize("bits", [2, 3, 8])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 300])
def test_compressed_pixels_come_back(bits, size):
    rng = np.random.default_rng(size)
    noise = rng.integers(1 << bits, size=(size, size), dtype=np.uint8)
    for pixels in (noise, noise * 0, noise // 2):
        assert expand(compress(pixels, bits), bits) == pixels.tobytes()


def test_frames_come_back_though_only_changes_are_written():
    rng = np.random.default_rng(0)
    first = rng.integers(6, size=(20, 30), dtype=np.uint8)
    second = first.copy()
    second[4:9, 11:13] ^= 1
    frames = [first, second, second, first]
    data = gif(frames, PALETTE, [4, 4, 4, 200])
    read, delays = read_gif(data)
    assert delays == [4, 4, 4, 200]
    assert [np.array_equal(a, b) for a, b in zip(read, frames, strict=True)] == [
        True
    ] * 4
    assert len(data) < 2.2 * len(gif([first], PALETTE, [4]))


def flight(end: tuple[float, float], steps: int, caption: str = "") -> Scene:
    line = np.linspace((2, 8), end, steps)
    path = np.column_stack([line, np.zeros(steps)])
    ground = np.array([(0.0, 1.0), (20.0, 1.0)])
    return Scene(20, 13, (ground,), path, caption)


def test_paths_part_where_they_are_first_apart():
    straight, lower = flight((18, 8), 161), flight((18, 3), 161)
    part = parting([straight, lower])
    assert part == 7  # 0.031 lower each step, and apart is 0.2
    assert parting([straight, straight]) is None
    assert parting([straight]) is None


def test_a_picture_shows_each_path_in_its_own_panel_and_where_they_part(read_png):
    drawn, palette = read_png(
        scenes_png({"s1": flight((18, 8), 161), "s2": flight((18, 2), 161)})
    )
    assert palette == bytes(part for colour in PALETTE for part in colour)
    half = drawn.shape[1] // 2
    for panel in (drawn[:, :half], drawn[:, half + 2 :]):
        assert {LINE, PATH, OTHER, BODY, PART} <= set(panel.ravel().tolist())
    level, falling = (
        np.nonzero(p == PATH)[0] for p in (drawn[:, :half], drawn[:, half:])
    )
    assert np.ptp(level) <= 1
    assert np.ptp(falling) > 90


def test_an_animation_ends_with_both_captions_and_begins_without():
    scenes = {"s1": flight((18, 8), 30, "landed"), "s2": flight((18, 2), 60, "crashed")}
    frames, delays = read_gif(scenes_gif(scenes))
    assert len(frames) == len(delays) == 60
    below = frames[0].shape[0] - 30
    assert not (frames[0][below:, :360] == LINE).any()
    assert (frames[29][below:, :360] == LINE).any()
    assert not (frames[29][below:, 362:] == LINE).any()
    assert (frames[-1][below:, 362:] == LINE).any()


def test_long_scenes_have_no_more_frames_than_short_ones():
    frames, _ = read_gif(scenes_gif({"s": flight((18, 2), 1001)}))
    assert len(frames) <= 151


def test_what_leaves_the_field_is_cut():
    scenes_png({"s": flight((400, -300), 30)})


def test_letters_are_told_apart_and_long_captions_wrapped():
    assert not np.array_equal(lettering("0"), lettering("O"))
    assert lettering("ab", scale=3).shape == (15, 24)
    assert wrapped("one two three", 8) == ["one two", "three"]


class Domain:
    """Shows a scene where it is told the choices."""

    def show_case(self, values, choices):
        return {"s": flight((18, 2), 9, "landed\nsoftly")} if choices else {}


def test_a_bug_shows_captions_and_writes_pictures(tmp_path: Path):
    text = picture({"x": 1}, (), Domain(), colour=False, choices=(3,)).plain
    assert "s        landed; softly" in text
    assert "landed" not in picture({"x": 1}, (), Domain(), colour=False).plain
    written = write_files({"x": 1}, (), Domain(), tmp_path, (3,))
    assert [path.name for path in written] == ["s.txt", "scenes.png", "scenes.gif"]
    assert all(path.stat().st_size for path in written)
