"""Scenes as one picture, side by side: paths, and the body at moments along them.

Each panel has its own path bright and those of the others faint. A ring marks the first
step at which the paths are apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nomos.domain.show import Scene
from nomos.report.pictures import indexed_png

Array = np.ndarray[Any, Any]
PALETTE = (
    (17, 20, 33),  # sky
    (225, 226, 232),  # lines
    (84, 200, 240),  # the panel's own path
    (70, 78, 105),  # other paths
    (250, 204, 80),  # the body
    (244, 113, 80),  # where the paths part
)
_LINE, _PATH, _OTHER, _BODY, _PART = range(1, 6)
_PANEL = 360  # pixels across, with a margin
_MARGIN = 8
_APART = 0.01  # of the width: paths farther from each other than this have parted
_BODY_SIZE = 0.035  # of the width
_MOMENTS = 6  # at which the body is drawn

# A craft with its legs, upright: a body of unknown make, whose tilt must show.
_OUTLINE = np.array(
    [(-0.5, -0.3), (-0.4, 0.6), (0.4, 0.6), (0.5, -0.3), (-0.5, -0.3)], dtype=float
)
_LEGS = (
    np.array([(-0.4, -0.3), (-0.8, -0.9)]),
    np.array([(0.4, -0.3), (0.8, -0.9)]),
)


def scenes_png(scenes: Mapping[str, Scene]) -> bytes:
    """Return one picture of all scenes, in their order."""
    every = list(scenes.values())
    part = parting(every)
    panels = []
    for scene in every:
        panel = _Panel(scene, every, part)
        moments = np.linspace(0, len(scene.path) - 1, _MOMENTS).round().astype(int)
        panel.bodies(sorted({*moments.tolist(), *(() if part is None else (part,))}))
        panels.append(panel.pixels)
    return indexed_png(_side_by_side(panels), PALETTE)


def parting(scenes: Sequence[Scene]) -> int | None:
    """Return the first step at which two scenes' bodies are apart; None if there is none."""
    if len(scenes) < 2:
        return None
    one, two = (scene.path[:, :2] for scene in scenes[:2])
    shared = min(len(one), len(two))
    far = np.hypot(*(one[:shared] - two[:shared]).T) > _APART * scenes[0].width
    return int(far.argmax()) if far.any() else None


class _Panel:
    """One scene as pixels."""

    def __init__(self, scene: Scene, every: Sequence[Scene], part: int | None) -> None:
        self.scene = scene
        self.scale = (_PANEL - 2 * _MARGIN) / scene.width
        self.field = round(scene.height * self.scale)
        self.pixels = np.zeros((self.field + 2 * _MARGIN, _PANEL), dtype=np.uint8)
        for other in every:
            if other is not scene:
                self._draw(other.path[:, :2], _OTHER)
        for line in scene.lines:
            self._draw(np.asarray(line), _LINE, thick=True)
        self._draw(scene.path[:, :2], _PATH)
        if part is not None and part < len(scene.path):
            self._ring(scene.path[part, :2])

    def bodies(self, steps: Sequence[int]) -> None:
        """Draw the body as it is at some steps."""
        size = _BODY_SIZE * self.scene.width
        for step in steps:
            if step >= len(self.scene.path):
                continue
            x, y, angle = self.scene.path[step]
            cos, sin = np.cos(angle), np.sin(angle)
            turn = np.array([(cos, sin), (-sin, cos)])
            for shape in (_OUTLINE, *_LEGS):
                self._draw(shape @ turn * size + (x, y), _BODY, thick=True)

    def _ring(self, place: Array) -> None:
        angles = np.linspace(0, 2 * np.pi, 25)
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self._draw(place + ring * 1.4 * _BODY_SIZE * self.scene.width, _PART)

    def _draw(self, points: Array, colour: int, *, thick: bool = False) -> None:
        """Draw a polyline, point by point along each piece; what is outside is cut."""
        if len(points) < 2:
            return
        across = _MARGIN + points[:, 0] * self.scale
        down = _MARGIN + self.field - points[:, 1] * self.scale
        ends = np.stack([across, down], axis=1)
        lengths = np.abs(np.diff(ends, axis=0)).max(axis=1)
        pieces = [
            np.linspace(a, b, int(min(length, 4 * _PANEL)) + 2)
            for a, b, length in zip(ends, ends[1:], lengths, strict=False)
        ]
        spots = np.rint(np.concatenate(pieces)).astype(int)
        if thick:
            steps = np.array([(0, 0), (1, 0), (0, 1), (1, 1)])
            spots = (spots[:, None] + steps).reshape(-1, 2)
        x, y = spots.T
        inside = (x >= _MARGIN) & (x < _PANEL - _MARGIN)
        inside &= (y >= _MARGIN) & (y <= _MARGIN + self.field)
        self.pixels[y[inside], x[inside]] = colour


def _side_by_side(panels: Sequence[Array]) -> Array:
    height = max(len(panel) for panel in panels)
    full = [np.pad(panel, ((0, height - len(panel)), (0, 0))) for panel in panels]
    bar = np.full((height, 2), _OTHER, dtype=np.uint8)
    parts = [part for panel in full for part in (bar, panel)][1:]
    return np.concatenate(parts, axis=1)
