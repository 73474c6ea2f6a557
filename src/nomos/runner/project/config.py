"""`[tool.nomos]` in a project's pyproject.toml: how its specs are run by default."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nomos.accepted import AMOUNT, COUNT, SEED, SHARE, TEXT, Kind, accept_option, meant
from nomos.errors import NomosError


@dataclass(frozen=True, slots=True)
class Config:
    """What a project says about its campaigns; `models` are by folder, from the root."""

    budget: int | None = None  # None: nobody gave one
    seed: int = 0
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_rate: float | None = None
    baseline: Path | None = None
    min_cases: int | None = None
    exclude: tuple[str, ...] = ()
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def complete(self, **given: Any) -> dict[str, Any]:
        """Return what is given by name; what is None is as the project says."""
        return {n: getattr(self, n) if v is None else v for n, v in given.items()}

    def models_for(self, spec: Path, root: Path) -> tuple[str, ...]:
        """Return the models of the nearest folder above a spec; none: the domain's own."""
        folders = [parent.resolve() for parent in spec.resolve().parents]
        named = {(root / name).resolve(): own for name, own in self.models.items()}
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
    tools = document.get("tool", {})
    table = tools.get("nomos", {}) if isinstance(tools, dict) else {}
    return _check_table(path, table)


_TAKEN: dict[str, Kind] = {
    "budget": COUNT,
    "seed": SEED,
    "max-rate": SHARE,
    "min-cases": COUNT,
    "baseline": TEXT,
}
_KNOWN = (*_TAKEN, "models", "exclude", "prices")
_PRICES = ("input", "output", "request")  # of a million tokens; of each request


def _check_table(path: Path, table: Any) -> Config:
    """Return what a table says; raises NomosError that names file and setting."""
    try:
        if not isinstance(table, dict):
            raise NomosError(f"is a table of settings, not {table!r}")
        if unknown := sorted(set(table) - set(_KNOWN)):
            names, hint = ", ".join(sorted(_KNOWN)), meant(unknown[0], _KNOWN)
            raise NomosError(f"has no setting `{unknown[0]}`, but: {names}{hint}")
        given = {
            name.replace("-", "_"): accept_option(name, kind, table[name])
            for name, kind in _TAKEN.items()
            if name in table
        }
        if "baseline" in given:
            given["baseline"] = path.parent / given["baseline"]
        models = _models_of(path.parent, table.get("models", {}))
        return Config(
            **given,
            models=models,
            exclude=_texts("exclude", table.get("exclude", [])),
            prices=_prices_of(table.get("prices", {})),
        )
    except NomosError as error:
        raise NomosError(f"{path}: [tool.nomos] {error}") from None


def _models_of(root: Path, table: Any) -> dict[str, tuple[str, ...]]:
    """Return the models of folders; one passed over would leave the domain's own."""
    if not isinstance(table, dict):
        raise NomosError(f"`models` maps folders to models, not {table!r}")
    for name in table:
        if not (root / name).is_dir():
            raise NomosError(f"`models` takes folders that are there, not `{name}`")
    return {
        name: _texts(f"models.{name}", [given] if isinstance(given, str) else given)
        for name, given in table.items()
    }


def _prices_of(table: Any) -> dict[str, dict[str, float]]:
    """Return the prices of models: a wrong one would spend too much."""
    is_table = isinstance(table, dict) and all(
        isinstance(prices, dict) and prices and prices.keys() <= set(_PRICES)
        for prices in table.values()
    )
    if not is_table:
        raise NomosError(
            "`prices` takes a table for each model, with the price of a million tokens:"
            f' "NAME" = {{ input = 0.15, output = 0.6 }}, or request = 0.01; not {table!r}'
        )
    return {
        model: {
            n: accept_option(f"prices.{model}.{n}", AMOUNT, p)
            for n, p in prices.items()
        }
        for model, prices in table.items()
    }


def _texts(name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or (name != "exclude" and not given):
        raise NomosError(f"`{name}` takes a list of texts, not {given!r}")
    return tuple(accept_option(name, TEXT, one) for one in given)
