"""Residual networks of 18 and 50 layers in plain torch, as torchvision has them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

_LAYERS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


class Block(nn.Module):
    """A part with a way around it: two convolutions, or three that are narrower."""

    def __init__(self, given: int, width: int, stride: int, *, deep: bool) -> None:
        super().__init__()
        out = width * 4 if deep else width
        sizes = [(given, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
        if not deep:
            sizes = [(given, width, 3, stride), (width, width, 3, 1)]
        layers: list[nn.Module] = []
        for a, b, size, step in sizes:
            layers += [nn.Conv2d(a, b, size, step, size // 2, bias=False)]
            layers += [nn.BatchNorm2d(b), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*layers[:-1])
        self.around: nn.Module = nn.Identity()
        if stride > 1 or given != out:
            conv = nn.Conv2d(given, out, 1, stride, bias=False)
            self.around = nn.Sequential(conv, nn.BatchNorm2d(out))
        self.last = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        """Add both ways."""
        return self.last(self.body(x) + self.around(x))


def resnet(depth: int, classes: int = 10) -> nn.Sequential:
    """Return a network in the shape that ImageNet's have."""
    torch.manual_seed(depth)
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False)]
    layers += [nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width, given, deep = 64, 64, depth == 50
    for stage, count in enumerate(_LAYERS[depth]):
        for number in range(count):
            stride = 2 if stage and not number else 1
            layers.append(Block(given, width, stride, deep=deep))
            given = width * 4 if deep else width
        width *= 2
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(given, classes)]
    return nn.Sequential(*layers).eval()


def train(network: nn.Sequential, images: Any, labels: Any, steps: int = 80) -> None:
    """Train a little: without that, rounding alone would change a network's answers."""
    network.train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    batch = 256 if images.shape[-1] <= 64 else 64
    for step in range(steps):
        at = (torch.arange(batch, device=images.device) + step * batch) % len(images)
        loss = nn.functional.cross_entropy(network(images[at]), labels[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval()
