"""A policy's file as an algorithm that can train it further.

The file has what chooses actions. What says how good a state is, the critic, was left
behind when it was written: it is learned again, while the policy stays as it is.
"""

from pathlib import Path
from typing import Any

from casestudies.lunar.train import make_learner

CRITIC_STEPS = 131_072


def resume(path: Path, *, seed: int = 0, steps: int = CRITIC_STEPS) -> Any:
    """Return PPO with the policy of an ONNX file and a critic that knows it."""
    import torch
    from onnx import load, numpy_helper

    torch.set_num_threads(1)
    learner = make_learner(seed)
    policy = learner.policy
    stored = {
        tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy())
        for tensor in load(path).graph.initializer
    }
    layers = [
        layer for layer in policy.mlp_extractor.policy_net if hasattr(layer, "weight")
    ]
    actor = [*layers, policy.action_net]
    with torch.no_grad():
        for number, layer in enumerate(actor):
            layer.weight.copy_(stored[f"weight{number}"])
            layer.bias.copy_(stored[f"bias{number}"])
    frozen = [parameter for layer in actor for parameter in layer.parameters()]
    for parameter in frozen:
        parameter.requires_grad_(False)
    learner.learn(steps)
    for parameter in frozen:
        parameter.requires_grad_(True)
    return learner
