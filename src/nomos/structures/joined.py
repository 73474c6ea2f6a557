"""Several networks as one that has the scores of all: they see the same records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.model import Layers, ModelColumns, ModelOutput, Structure


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JoinedLayers(Layers):
    """Networks side by side. An output names its network: `old:score`."""

    members: Mapping[str, Layers]

    def find_output(self, text: str) -> ModelOutput | None:
        """Return the number of one network, as a number of the scores of all."""
        name, _, own = text.partition(":")
        start = 0
        for other, member in self.members.items():
            if other == name:
                break
            start += member.outputs
        found = self.members[name].find_output(own)
        if found is None:
            raise NotProvable("labels of two models are compared: compare their scores")
        weights = np.zeros(self.outputs)
        weights[start : start + len(found.weights)] = found.weights
        return ModelOutput(weights, found.link, found.error, found.is_bounded)


def join_networks(members: Mapping[str, Structure]) -> JoinedLayers:
    """Return networks as one."""
    networks: dict[str, Layers] = {}
    for name, member in members.items():
        if not isinstance(member, Layers) or len(member.weights) < 2:
            raise NotProvable("two different models are asked that are no networks")
        networks[name] = member
    depth = max(len(member.weights) for member in networks.values())
    stacks = [_deepen(member, depth) for member in networks.values()]
    transforms = [member.columns.transform for member in networks.values()]

    def transform(rows: Array) -> Array:
        return np.concatenate([own(rows).astype(float) for own in transforms], axis=1)

    origins = tuple(one for m in networks.values() for one in m.columns.origins)
    return JoinedLayers(
        columns=ModelColumns(transform, origins),
        weights=tuple(_place_apart([stack[n][0] for stack in stacks]) for n in range(depth)),
        biases=tuple(np.concatenate([stack[n][1] for stack in stacks]) for n in range(depth)),
        roundoff=max(member.roundoff for member in networks.values()),
        link=max(member.link for member in networks.values()),
        members=networks,
    )  # fmt: skip


def _deepen(network: Layers, depth: int) -> list[tuple[Array, Array]]:
    """Return layers with some more that change nothing: ReLUs of what ReLUs gave."""
    first, *others = zip(network.weights, network.biases, strict=True)
    width = len(first[1])
    idle = (np.eye(width), np.zeros(width))
    return [first, *[idle] * (depth - len(others) - 1), *others]


def _place_apart(weights: list[Array]) -> Array:
    """Return one matrix with others along its diagonal."""
    total = np.zeros(np.sum([weight.shape for weight in weights], axis=0))
    row = column = 0
    for weight in weights:
        total[row : row + weight.shape[0], column : column + weight.shape[1]] = weight
        row, column = row + weight.shape[0], column + weight.shape[1]
    return total
