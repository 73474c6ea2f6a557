"""`[tool.nomos]` in a project's pyproject.toml: how its specs are run by default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nomos.errors import NomosError
from nomos.results.gate import Gate, make_gate, parse_share


@dataclass(frozen=True, slots=True)
class Config:
    """What a project says about its campaigns; `models` are by folder, from the root."""

    budget: int | None = None  # None: nobody gave one
    seed: int = 0
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_rate: float | None = None
    baseline: Path | None = None

    def gate(
        self, max_rate: str | float | None, baseline: Path | None, **more: Any
    ) -> Gate:
        """Return what campaigns must pass; what is not given is as the project says."""
        rate = self.max_rate if max_rate is None else max_rate
        return make_gate(rate, baseline or self.baseline, **more)

    def models_for(self, spec: Path, root: Path) -> tuple[str, ...]:
        """Return the models of the nearest folder above a spec; none: the domain's own."""
        folders = [parent.resolve() for parent in spec.resolve().parents]
        named = {
            (root / name).resolve(): models for name, models in self.models.items()
        }
        models = next((named[folder] for folder in folders if folder in named), ())
        return tuple(str(root / m) if (root / m).exists() else m for m in models)


def load_config(root: Path) -> Config:
    """Read a project's configuration; without one, the defaults."""
    path = root / "pyproject.toml"
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NomosError(f"{path} cannot be read: {error}") from None
    table = document.get("tool", {}).get("nomos", {})
    return _checked(path, table)


_KNOWN = ("budget", "seed", "models", "max-rate", "baseline")


def _checked(path: Path, table: Any) -> Config:
    unknown = sorted(set(table) - set(_KNOWN)) if isinstance(table, dict) else [table]
    if unknown:
        names = ", ".join(sorted(_KNOWN))
        raise NomosError(
            f"{path}: [tool.nomos] has no setting `{unknown[0]}`, but: {names}"
        )
    budget, seed = table.get("budget"), table.get("seed", 0)
    wrong = budget is not None and (type(budget) is not int or budget < 1)
    if wrong or type(seed) is not int:
        raise NomosError(f"{path}: [tool.nomos] takes whole numbers as budget and seed")
    models = table.get("models", {})
    if not isinstance(models, dict):
        raise NomosError(f"{path}: [tool.nomos.models] maps folders to models")
    listed = {n: (m,) if isinstance(m, str) else tuple(m) for n, m in models.items()}
    for name in listed:  # one that is passed over would leave the domain's own model
        if not listed[name] or not (path.parent / name).is_dir():
            raise NomosError(
                f"{path}: [tool.nomos.models] takes folders that are there, and models"
                f" for each, not `{name}`"
            )
    rate, baseline = table.get("max-rate"), table.get("baseline")
    try:
        rate = None if rate is None else parse_share(rate)
    except NomosError as error:
        raise NomosError(f"{path}: max-rate {error}") from None
    file = None if baseline is None else path.parent / str(baseline)
    return Config(budget, seed, listed, rate, file)
