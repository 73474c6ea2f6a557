"""Policies that Stable-Baselines3 saved: observations in, actions out.

The file holds the weights, which are read safely, and the algorithm's data, which are
pickles. The plain networks of PPO, A2C and DQN on vectors with numbered actions are
built again from the weights alone, with torch and without Stable-Baselines3; what else
there is (images, continuous actions, other algorithms) needs the pickles, so trust.
"""

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array, placement, to_host
from nomos.models.adapter import Adapter, NoScores
from nomos.models.extras import as_model_error, distrust, need
from nomos.models.formats.torch import TorchModel, need_torch, sequential
from nomos.models.kinds import ModelKind
from nomos.models.recognise import load_members

_ACTIVATIONS = "Tanh", "ReLU", "ELU", "LeakyReLU", "GELU", "SiLU", "Sigmoid", "Identity"
# The prefix of the layers that choose an action, and the activation between them where
# the file names none.
_ACTOR_CRITIC = (r"mlp_extractor\.policy_net\.\d+|action_net", "Tanh")
_Q_NETWORK = (r"q_net\.q_net\.\d+", "ReLU")
_HAS_NO_PART_IN_ACTIONS = (
    r"mlp_extractor\.value_net\.\d+|value_net|q_net_target\.q_net\.\d+"
)


def load_policy(path: Path, *, trust: bool) -> Adapter:
    """Load the policy of a saved algorithm."""
    torch = need_torch()
    members = load_members(path)
    with as_model_error(f"{path} is no readable policy of Stable-Baselines3"):
        file = io.BytesIO(members["policy.pth"])
        weights = torch.load(file, map_location="cpu", weights_only=True)
        data = json.loads(members["data"])
        spaces = {key: _class_name(data[f"{key}_space"][":type:"]) for key in _SPACES}
    layers = _find_layers(weights, data, spaces)
    if layers is not None:
        return NetworkPolicy(path, *layers)
    if not trust:
        what = f"a policy from {spaces['observation']} to {spaces['action']}"
        raise distrust(path, f"holds {what} that can only be had from its pickles")
    return SavedPolicy(path)


_SPACES = ("observation", "action")


def _class_name(described: Any) -> str:
    """Return `Box` for "<class 'gymnasium.spaces.box.Box'>"."""
    return str(described).rstrip("'>").rpartition(".")[2]


def _find_layers(
    weights: Mapping[str, Any], data: Mapping[str, Any], spaces: Mapping[str, str]
) -> tuple[list[tuple[Any, Any]], str, int] | None:
    """Return a plain network's layers, activation and first action; None for others."""
    observation, action = data["observation_space"], data["action_space"]
    if spaces != {"observation": "Box", "action": "Discrete"}:
        return None
    if len(observation["_shape"]) != 1 or _has_custom_parts(data):
        return None
    names = {name.rpartition(".")[0] for name in weights}
    actor = any(name == "action_net" for name in names)
    pattern, activation = _ACTOR_CRITIC if actor else _Q_NETWORK
    used = sorted(n for n in names if re.fullmatch(pattern, n))
    others = [n for n in names if not re.fullmatch(_HAS_NO_PART_IN_ACTIONS, n)]
    if not used or sorted(others) != used:
        return None
    # The number is the place in the sequence; the action's own layer comes last.
    used.sort(key=lambda n: (n == "action_net", int(re.sub(r"\D", "", n) or 0)))
    if (said := data["policy_kwargs"].get("activation_fn")) is not None:
        activation = _class_name(said)
    if activation not in _ACTIVATIONS:
        return None
    pairs = [(weights[f"{n}.weight"], weights[f"{n}.bias"]) for n in used]
    return pairs, activation, int(action["start"])


def _has_custom_parts(data: Mapping[str, Any]) -> bool:
    """Say whether the policy's class or its feature extractor is not the usual one."""
    module = str(data["policy_class"].get("__module__", ""))
    known = ("stable_baselines3.common.policies", "stable_baselines3.dqn.policies")
    extras = {"activation_fn", "net_arch", "ortho_init", "optimizer_class"}
    extras |= {"optimizer_kwargs", ":type:", ":serialized:", "use_sde"}
    return module not in known or bool(set(data["policy_kwargs"]) - extras)


class NetworkPolicy(TorchModel):
    """A policy built again from its weights; scores are its logits or action values."""

    def __init__(
        self, path: Path, layers: list[tuple[Any, Any]], activation: str, first: int
    ) -> None:
        super().__init__(sequential(layers, activation), str(path))
        self.dtype, self.width = np.float32, layers[0][0].shape[1]
        self.classes = first + np.arange(layers[-1][0].shape[0])


class SavedPolicy(Adapter):
    """A policy that Stable-Baselines3 itself has loaded, pickles and all."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        saving = need(
            "stable_baselines3.common.save_util", extra="sb3", what="such policies"
        )
        data, weights, _ = saving.load_from_zip_file(path, device="cpu")
        spaces = (data[f"{key}_space"] for key in _SPACES)
        kwargs = data["policy_kwargs"]
        self.policy = data["policy_class"](*spaces, lambda _: 0.0, **kwargs)
        self.policy.load_state_dict(weights["policy"])
        self.policy.set_training_mode(False)
        self.policy.to(placement().device)

    def label_rows(self, rows: Any) -> Array:
        """Return the labels of rows."""
        actions, _ = self.policy.predict(rows, deterministic=True)
        return np.asarray(actions)

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        torch = need_torch()
        observations, _ = self.policy.obs_to_tensor(rows)
        with torch.no_grad():
            if hasattr(self.policy, "q_net"):
                values = self.policy.q_net(observations)
            elif hasattr(self.policy, "get_distribution"):
                inner = self.policy.get_distribution(observations).distribution
                values = getattr(inner, "logits", None)
            else:
                values = None
        if values is None:
            raise NoScores(f"{self.name} gives actions without scores")
        answer: Array = to_host(values)
        return answer


KIND = ModelKind(
    name="Stable-Baselines3 policy",
    shown=("Stable-Baselines3", "`policy.zip`"),
    extra="sb3",
    package="stable-baselines3",
    needs="`nomos-ml[torch]`, or `nomos-ml[sb3]` with trust",
    is_mine=lambda file: file.is_archive and {"data", "policy.pth"} <= file.members,
    load=load_policy,
)
