"""How the policy of an algorithm acts at this moment, for many observations at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.device import Array

Actions = Callable[[Array], Any]
Layer = tuple[Array, Array] | Callable[[Array], Array]


def best_actions(model: Any) -> Actions:
    """Return what the policy does when it plays its best, not exploring.

    A game asks once a step, and often alone. The plain networks are therefore copied
    to numpy, which answers some ten times faster than `predict`.
    """
    layers = _plain_layers(model.policy)
    scaling = model.get_vec_normalize_env()

    def plain(observations: Array) -> Any:
        return model.policy.predict(observations, deterministic=True)[0]

    act = plain if layers is None else _network(layers)
    if scaling is None:
        return act
    return lambda observations: act(scaling.normalize_obs(observations))


def _network(layers: list[Layer]) -> Actions:
    def act(observations: Array) -> Array:
        values = observations.astype(np.float32, copy=False)
        for layer in layers:
            if isinstance(layer, tuple):
                weight, bias = layer
                values = values @ weight + bias
            else:
                values = layer(values)
        best: Array = values.argmax(axis=1)
        return best

    return act


def _plain_layers(policy: Any) -> list[Layer] | None:
    """Copy the layers from a vector to the scores of actions; None for other policies."""
    from gymnasium import spaces
    from stable_baselines3.common.policies import ActorCriticPolicy
    from torch import nn

    if type(policy) is not ActorCriticPolicy:
        return None
    seen, acts = policy.observation_space, policy.action_space
    if not isinstance(acts, spaces.Discrete) or acts.start != 0:
        return None
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        return None
    if list(policy.features_extractor.parameters()):
        return None
    functions: dict[type, Callable[[Array], Array]] = {
        nn.Tanh: np.tanh,
        nn.ReLU: lambda values: np.maximum(values, np.float32(0)),
    }
    layers: list[Layer] = []
    for module in (*policy.mlp_extractor.policy_net, policy.action_net):
        if isinstance(module, nn.Linear):
            pair = (module.weight.T, module.bias)
            weight, bias = (part.detach().cpu().numpy().copy() for part in pair)
            layers.append((np.ascontiguousarray(weight), bias))
        elif type(module) in functions:
            layers.append(functions[type(module)])
        else:
            return None
    return layers
