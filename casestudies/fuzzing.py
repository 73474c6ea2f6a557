"""Grow a pool of the states that an environment can be in, each unlike all the others.

    python -m casestudies.fuzzing casestudies/lunar/specs/relax.nom --seed 1 -o pool.npz

What is kept is a source of inputs for properties of action policies. The way is that
of pi-fuzz: go some steps from a state of the pool, or from a fresh start, and keep
where that leads if no state of the pool looks like it.

The rules that make a pool reproducible:

- every draw comes from the pool's own generator, the environment's seeds too, so that
  the environment carries nothing from one trial to the next;
- a pool's file holds that generator and the settings: a pool saved, loaded and grown
  is the pool that was never saved.
"""

import argparse
import io
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from nomos.api import load_spec
from nomos.domain.find import build
from nomos.files import write_whole
from nomos.results.reading import decode_value, parse_json

FILE_FORMAT = 1
_KEPT = ("seed", "origin", "trial_count", "fruitless_count")  # of a pool, in its file

Row = NDArray[np.float64]
Observation = NDArray[Any]
Policy = Callable[[Observation, np.random.Generator], int]


class Restorable(Protocol):
    """A game for one player whose moments can be taken and restored.

    A gymnasium environment with discrete actions and two methods more. A moment is a
    row of numbers, always of one length. The seed must fix everything that is random
    from there on.
    """

    def reset(self, *, seed: int) -> tuple[Observation, Any]:
        """Start afresh; give the observation and anything else."""
        ...

    def step(self, action: int) -> tuple[Observation, Any, bool, bool, Any]:
        """Give observation, reward, terminated, truncated, anything else."""
        ...

    def snapshot(self) -> Row:
        """Take the present moment."""
        ...

    def restore(self, state: Row, *, seed: int) -> Observation:
        """Return to a moment and give its observation."""
        ...


@dataclass(frozen=True, slots=True)
class Fuzzable:
    """What a domain's method `environment` returns, so that its states can be fuzzed.

    Attributes:
        environment: the game; its states are rows that the domain's `inputs` can read.
        actions: how many actions there are; they are 0, 1, ...
        origin: names game and policy; a pool of another origin is not continued.
        policy: draws an action from a generator; None where all actions are uniform.
    """

    environment: Restorable
    actions: int
    origin: str
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class FuzzSettings:
    """How a pool is grown; the defaults are those of pi-fuzz.

    Attributes:
        threshold: a state is kept when its observation is farther than this, as the
            crow flies, from those of all states in the pool.
        pool_share: chance that a trial starts from a pool state, not a fresh start.
        policy_share: chance that a trial's actions are the policy's, not uniform.
        most_actions: a trial takes 0 to this many actions.
        patience: growing ends after so many trials in a row that found nothing new.
    """

    threshold: float = 0.4
    pool_share: float = 0.8
    policy_share: float = 0.2
    most_actions: int = 24
    patience: int = 20_000

    def __post_init__(self) -> None:
        if self.threshold < 0 or self.most_actions < 0:
            raise ValueError("threshold and most_actions must not be negative")
        if not (0 <= self.pool_share <= 1 and 0 <= self.policy_share <= 1):
            raise ValueError("pool_share and policy_share must lie between 0 and 1")


class StatePool:
    """States kept so far, and all that decides which will be kept next.

    `trial_count` counts all trials, `fruitless_count` those since the last kept state.
    `origin` says in the user's words what the pool was grown with (environment and
    policy), so that a script can refuse to go on with something else.
    """

    def __init__(
        self, *, settings: FuzzSettings | None = None, seed: int = 0, origin: str = ""
    ) -> None:
        self.settings = settings or FuzzSettings()
        self.seed = seed
        self.origin = origin
        self.rng = np.random.default_rng(seed)
        self.trial_count = 0
        self.fruitless_count = 0
        self._states = _GrowingRows()
        self._observations = _GrowingRows()

    def __len__(self) -> int:
        return self._states.count

    @property
    def states(self) -> NDArray[np.float64]:
        """The kept states, one a row, in the order in which they were found."""
        return self._states.view()

    @property
    def observations(self) -> NDArray[np.float64]:
        """What each kept state looks like."""
        return self._observations.view()

    def add_if_new(self, state: Row, observation: Observation) -> bool:
        """Keep a state unless the pool has one that looks like it; say which."""
        view = np.asarray(observation, dtype=np.float64).ravel()
        square = float(view @ view)
        if not np.isfinite(square):
            raise ValueError(f"an observation is not finite: {observation}")
        if len(self) and self._has_near(view, square):
            return False
        self._states.append(np.asarray(state, dtype=np.float64))
        self._observations.append(view)
        return True

    def _has_near(self, view: NDArray[np.float64], square: float) -> bool:
        # One matrix product finds the candidates, and only those are measured exactly:
        # the product's last bits are not the same on every machine, and would decide.
        squares = np.square(self.observations).sum(axis=1)
        limit = self.settings.threshold**2
        estimates = squares - 2.0 * (self.observations @ view)
        slack = 1e-9 * (limit + square + float(squares.max()))
        candidates = np.flatnonzero(estimates <= limit - square + slack)
        gaps = self.observations[candidates] - view
        return bool((np.square(gaps).sum(axis=1) <= limit).any())

    def save(self, path: Path) -> None:
        """Write the pool so that growing it can go on from the file."""
        about = {
            "format": FILE_FORMAT,
            "settings": asdict(self.settings),
            "generator": self.rng.bit_generator.state,
            **{name: getattr(self, name) for name in _KEPT},
        }
        arrays = {
            "states": self.states,
            "observations": self.observations,
            "about": np.array(json.dumps(about)),
        }
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, **arrays)
        write_whole(path, packed.getvalue())


def load_pool(path: Path) -> StatePool:
    """Read a pool that `StatePool.save` wrote."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            about = parse_json(str(file["about"]))
            states, observations = file["states"], file["observations"]
        if about["format"] != FILE_FORMAT:
            raise ValueError(f"it has format {about['format']}, not {FILE_FORMAT}")
        pool = StatePool(settings=decode_value(FuzzSettings, about["settings"]))
        pool.rng.bit_generator.state = about["generator"]
        for name in _KEPT:
            setattr(pool, name, about[name])
    except (LookupError, TypeError, ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} is not a pool of states: {error}") from error
    pool._states.extend(states)
    pool._observations.extend(observations)
    return pool


def open_pool(
    path: Path, *, settings: FuzzSettings, seed: int, origin: str
) -> StatePool:
    """Load the pool at `path` to grow it on, or start one where there is no file."""
    if not path.exists():
        return StatePool(settings=settings, seed=seed, origin=origin)
    pool = load_pool(path)
    wanted = {"settings": settings, "seed": seed, "origin": origin}
    for name, value in wanted.items():
        if (made := getattr(pool, name)) != value:
            raise ValueError(f"{path} was made with {name} {made}, not {value}")
    return pool


def grow(
    pool: StatePool,
    environment: Restorable,
    *,
    actions: int,
    size: int,
    policy: Policy | None = None,
    progress: Callable[[StatePool], None] | None = None,
) -> StatePool:
    """Add to the pool until it has `size` states or patience ends; give it back.

    Args:
        pool: a new pool, or one to go on with; it is changed in place.
        environment: what the states are of; used by nobody else meanwhile.
        actions: how many actions there are; they are 0, 1, ...
        size: the number of states to reach.
        policy: draws an action from a generator; without one all actions are uniform.
        progress: told of the pool every 1000 trials and at the end.
    """
    if len(pool) == 0 and size > 0:
        observation, _ = environment.reset(seed=_draw_seed(pool.rng))
        pool.add_if_new(environment.snapshot(), observation)
    while len(pool) < size and pool.fruitless_count < pool.settings.patience:
        pool.trial_count += 1
        view = _wander_from_start(pool, environment, actions, policy)
        found = view is not None and pool.add_if_new(environment.snapshot(), view)
        pool.fruitless_count = 0 if found else pool.fruitless_count + 1
        if progress is not None and pool.trial_count % 1000 == 0:
            progress(pool)
    if progress is not None:
        progress(pool)
    return pool


def _wander_from_start(
    pool: StatePool, environment: Restorable, actions: int, policy: Policy | None
) -> Observation | None:
    """Go some steps from a start; give where they lead, or None if the game ended."""
    rng, settings = pool.rng, pool.settings
    from_pool = rng.random() < settings.pool_share
    by_policy = rng.random() < settings.policy_share
    seed = _draw_seed(rng)
    if from_pool:
        start = pool.states[rng.integers(len(pool))]
        observation = environment.restore(start, seed=seed)
    else:
        observation, _ = environment.reset(seed=seed)
    steps = int(rng.integers(settings.most_actions + 1))
    drawn = rng.integers(actions, size=steps).tolist()
    for action in drawn:
        if by_policy and policy is not None:
            action = policy(observation, rng)
        observation, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            return None
    return observation


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


class _GrowingRows:
    """A matrix that rows can be added to cheaply."""

    def __init__(self) -> None:
        self.count = 0
        self._buffer: NDArray[np.float64] = np.empty((0, 0))

    def view(self) -> NDArray[np.float64]:
        return self._buffer[: self.count]

    def append(self, row: NDArray[np.float64]) -> None:
        if self.count == len(self._buffer):
            larger = np.empty((max(64, 2 * self.count), len(row)))
            if self.count:
                larger[: self.count] = self.view()
            self._buffer = larger
        self._buffer[self.count] = row
        self.count += 1

    def extend(self, rows: NDArray[np.float64]) -> None:
        self._buffer = np.array(rows, dtype=np.float64)
        self.count = len(rows)


def main() -> None:
    """Grow a pool for the domain of a spec; one that exists is continued."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--model", help="the policy (what the domain says)")
    parser.add_argument("--states", type=int, default=2000, help="how many to reach")
    parser.add_argument("--threshold", type=float, default=FuzzSettings().threshold)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    _, imported = load_spec(given.spec).runnable()
    if imported.domain is None or not hasattr(imported.domain, "environment"):
        parser.error(f"the domain of {given.spec} has no `environment` to fuzz")
    settings = {} if given.model is None else {"model": given.model}
    game: Fuzzable = build(imported.domain, settings).environment()  # type: ignore[attr-defined]  # seen above
    pool = open_pool(
        given.output,
        settings=FuzzSettings(threshold=given.threshold),
        seed=given.seed,
        origin=game.origin,
    )

    def save_progress(pool: StatePool) -> None:
        pool.save(given.output)
        print(f"{pool.trial_count:>8} trials: {len(pool)} states")

    grow(
        pool,
        game.environment,
        actions=game.actions,
        size=given.states,
        policy=game.policy,
        progress=save_progress,
    )


if __name__ == "__main__":
    main()
