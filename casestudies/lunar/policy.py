"""Policies from files: what each action is worth, for many observations at once."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nomos import ModelError, load_model

Scores = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def load_policy(path: str | Path) -> Scores:
    """Load a policy from ONNX, or from the zip file that SB3's `save` writes."""
    if Path(path).suffix != ".zip":
        return load_model(str(path)).scores
    if not Path(path).is_file():
        raise ModelError(f"there is no model file {path}")
    try:
        from stable_baselines3 import PPO
    except ImportError as error:
        raise ModelError(
            f"SB3's policies need it: pip install 'nomos-ml[lunar-train]' ({error})"
        ) from error
    return torch_scores(PPO.load(path, device="cpu").policy)


def torch_scores(policy: Any) -> Scores:
    """Give an SB3 policy's action scores as a function of numpy arrays."""
    import torch

    # The nets are small: a second thread costs more than it brings.
    torch.set_num_threads(1)

    def scores(observations: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.no_grad():
            views = torch.from_numpy(np.ascontiguousarray(observations))
            result = policy.get_distribution(views).distribution.logits
        return np.asarray(result.numpy())

    return scores


def sampling(scores: Scores) -> Callable[[NDArray[Any], np.random.Generator], int]:
    """Make a policy that draws its action by the scores, as PPO does in training."""

    def draw(observation: NDArray[Any], rng: np.random.Generator) -> int:
        values = scores(observation[None])[0].astype(np.float64)
        chances = np.cumsum(np.exp(values - values.max()))
        return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))

    return draw


def fingerprint(path: Path) -> str:
    """Name a policy's file by its content."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
