"""What a domain's own code raises, told in one sentence with its place."""

import re
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from greenlet import GreenletExit

from nomos.domain.own_modules import is_installed
from nomos.errors import DomainError, NomosError, Stop

_NOMOS = str(Path(__file__).parents[1])
# What a module is installed by, where that is not its own name.
_PACKAGES = {
    "PIL": "pillow", "cv2": "opencv-python", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip
# Of extras too, but who misses one of these wants it alone.
_ALONE = {"gymnasium", "pandas", "pillow", "polars", "scipy"}


_OWN = (Stop, KeyboardInterrupt, GeneratorExit, GreenletExit)


def raise_own(error: BaseException, *more: type[BaseException]) -> None:
    """Raise again what ends a campaign, or is of `more` kinds; a case is blamed for others.

    A model that calls `sys.exit`, or raises what is no `Exception`, must not end the
    campaign as if all were well.
    """
    if isinstance(error, (*_OWN, *more)):
        raise error


@contextmanager
def as_domain_error(what: str) -> Iterator[None]:
    """Raise a DomainError for whatever a domain's own code raises, or if it exits."""
    try:
        yield
    except NomosError:
        raise
    except BaseException as error:
        raise_own(error)
        raise DomainError(f"{what}: {describe(error)}") from error


def describe(error: BaseException) -> str:
    """Say what was raised, at which line of which file, and the remedy where one is known."""
    place = _place(error)
    said = f"{place}: {_describe_error(error)}" if place else _describe_error(error)
    top = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not top or find_spec(top):
        return said
    package = _PACKAGES.get(top, top.replace("_", "-"))
    if package not in _ALONE and (extra := _find_extra(package)):
        return f"{said}; pip install 'nomos-ml[{extra}]'"
    if top in _PACKAGES or package in _ALONE:
        return f"{said}; pip install {package}"
    return (
        f"{said}; if it is a package: pip install {top}; "
        "if it is a file of yours, put it beside the domain"
    )


def _find_extra(package: str) -> str:
    """Return the extra of Nomos that a package is for: that with the fewest others."""
    wanted = re.compile(
        rf"{re.escape(package)}(-cpu|-skinny)?\b(?!-).*extra == ['\"]([\w-]+)['\"]"
    )
    from importlib import metadata

    try:
        requirements = metadata.requires("nomos-ml") or []
    except metadata.PackageNotFoundError:
        return ""
    extras = [m[2] for line in requirements if (m := wanted.match(line))]
    sizes = Counter(
        line.rpartition("extra == ")[2].strip("'\"") for line in requirements
    )
    return min(extras, key=lambda extra: (sizes[extra], extra), default="")


def _describe_error(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it called sys.exit({'' if error.code is None else repr(error.code)})"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _place(error: BaseException) -> str:
    """Return the innermost line that is the user's own, else the innermost."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}"
    lines = traceback.extract_tb(error.__traceback__)
    files = [f for f in lines if not f.filename.startswith("<")]
    frames = [f for f in files if not f.filename.startswith(_NOMOS)]
    own = [f for f in frames if not is_installed(f.filename)] or frames
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""
