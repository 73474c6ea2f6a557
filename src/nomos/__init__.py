"""Nomos: say what a model must do across several of its runs, and find out whether it does."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from nomos import relations, texts, transformations
    from nomos.api import assert_holds, run_specs, select_answers
    from nomos.domain import (
        Domain,
        Schema,
        asking,
        batched,
        concurrent,
        random,
        tensors,
    )
    from nomos.errors import (
        Discard,
        DomainError,
        ModelError,
        NomosError,
        SpecError,
        StoreError,
        Unreadable,
    )
    from nomos.inline import run, spec
    from nomos.models import load_model

__all__ = [
    "Discard", "Domain", "DomainError", "ModelError", "NomosError", "Schema",
    "SpecError", "StoreError", "Unreadable", "__version__", "asking", "assert_holds",
    "batched", "concurrent", "load_model", "random", "relations", "run", "run_specs",
    "select_answers", "spec", "tensors", "texts", "transformations",
]  # fmt: skip

# Loaded when first asked for, so that `import nomos` and `nomos --help` cost nothing.
_HOMES = {
    "nomos.errors": "Discard DomainError ModelError NomosError SpecError StoreError"
    " Unreadable",
    "nomos.domain": "Domain Schema asking batched concurrent random tensors",
    "nomos.api": "assert_holds run_specs select_answers",
    "nomos.inline": "run spec",
    "nomos.magic": "load_ipython_extension",
    "nomos.models": "load_model",
}


def __getattr__(name: str) -> Any:
    if name in ("relations", "texts", "transformations"):
        return importlib.import_module(f"nomos.{name}")
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'nomos' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
