"""Models that are functions: `module:function`, or a function itself."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nomos.errors import ModelError
from nomos.models.adapter import Adapter
from nomos.models.extras import reason


class FunctionModel(Adapter):
    """Any function that takes rows and returns labels; it gets the rows as they are."""

    def __init__(self, function: Callable[[Any], Any], *, name: str = "") -> None:
        super().__init__(name or getattr(function, "__name__", "the function"))
        self.function = function

    def _rows(self, rows: Any) -> Any:
        return rows

    def _labels(self, rows: Any) -> Any:
        return self.function(rows)


def import_named(module: str, name: str) -> Any:
    """Import what `module:name` names, from the current folder too."""
    here = str(Path.cwd())
    if here not in sys.path:  # where the command `nomos` is run, as with `python -m`
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ModelError(f"{module}:{name} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # the module is the user's
        raise ModelError(
            f"{module}:{name} cannot be imported: {reason(error)}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ModelError(
                f"{module}:{name} cannot be imported: {module} has no {name}"
            )
        found = getattr(found, part)
    return found
