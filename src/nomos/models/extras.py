"""Import an optional library, or say how to get it; say what is wrong with a file."""

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nomos.errors import ModelError, NomosError


def need(module: str, *, extra: str, what: str) -> Any:
    """Import a library that only some models need."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own affairs
            return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        if (error.name or top).partition(".")[0] != top:
            raise ModelError(f"{top} cannot be imported: {error}") from error
        remedy = f"pip install 'nomos-ml[{extra}]'"
        raise ModelError(f"{what} need {top}: {remedy}") from None


@contextmanager
def as_model_error(what: str) -> Iterator[None]:
    """Raise ModelError for whatever a library, or code in a trusted file, raises."""
    try:
        yield
    except NomosError:
        raise
    except (Exception, SystemExit) as error:  # libraries have many types of their own
        raise ModelError(f"{what}: {reason(error)}") from error


def distrust(path: Path, why: str) -> ModelError:
    """Make the error of a file that may run code and was not vouched for."""
    return ModelError(
        f"{path} {why}; if you know who made it, load it with --trust or trust=True"
    )


def reason(error: BaseException) -> str:
    """Return an error's type and the line of what it says that gives the reason."""
    lines = str(error).strip().split("\n")
    # TorchScript tells its own story first, and the reason last.
    said = lines[-1] if lines[0].endswith("interpreter.") else lines[0]
    # As scikit-learn says it: what, then why
    if said.endswith(":") and said != lines[-1]:
        said += f" {lines[1].strip()}"
    said = said[:300]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
