"""What each option takes, said once: for the command line, Python, pytest and pyproject.

A kind of values has two entrances. `accept` takes what a program gives, `read` takes a text
of a command line. Both return the value as the rest of Nomos uses it, or raise ValueError
with words that go after the option's name.
"""

import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Real
from pathlib import PurePath
from typing import Any, ClassVar, Literal, get_args

from nomos.errors import NomosError

Mode = Literal["vectorized", "coroutines", "sequential"]
Search = Literal["auto", "random", "exhaustive", "guided", "diverse"]
Inputs = Literal["data", "generated"]
WorkerPool = Literal["processes", "ray"]
CacheMode = Literal["off", "read", "refresh"]
Precision = Literal["float32", "bfloat16", "float16"]
LARGEST_COUNT = 2**53  # what a store, JSON and a double hold exactly
_TIME = re.compile(
    "".join(
        rf"(?:(\d+(?:\.\d+)?) ?{unit} ?)?" for unit in ("d", "h", "m(?!s)", "s", "ms")
    )
)
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+")  # a whole number with its thousands parted
_LONGEST_SHOWN = 80  # characters of a wrong value


class Kind:
    """Values of one kind; `wanted` says which, in the words of an error."""

    wanted: str

    def accept(self, given: Any) -> Any:
        """Return the value of what a program gives."""
        try:
            return self._convert(given)
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            words = f"takes {self.wanted}, not {_show_given(given)}{self._hint(given)}"
        raise ValueError(words)

    def parse_text(self, text: str) -> Any:
        """Return the value of a text."""
        with suppress(ValueError):
            return self.accept(self._parse(text))
        return self.accept(text)

    def _convert(self, given: Any) -> Any:
        """Return a value; raises what Python raises where it is none of this kind."""
        raise NotImplementedError

    def _parse(self, text: str) -> Any:
        return text

    def _hint(self, given: Any) -> str:
        return ""


@dataclass(frozen=True)
class TakesWhole(Kind):
    """Whole numbers, also those of numpy and reals without a fraction; never booleans."""

    least: int | None = 1
    most: int | None = LARGEST_COUNT

    @property
    def wanted(self) -> str:  # type: ignore[override]
        """The words of an error."""
        least = "" if self.least is None else f" from {self.least} on"
        is_usual = self.most in (None, LARGEST_COUNT)
        return f"a whole number{least if is_usual else f' from {self.least} to {self.most}'}"

    def _convert(self, given: Any) -> int:
        number: Any = _check_real(given)
        value = int(number)
        low = value if self.least is None else self.least
        high = value if self.most is None else self.most
        if value != number or not low <= value <= high:
            raise ValueError
        return value

    def _parse(self, text: str) -> Any:
        if _GROUPED.fullmatch(text):
            text = text.replace(",", "")
        try:
            return int(text)
        except ValueError:
            return float(text)


@dataclass(frozen=True)
class TakesNumber(Kind):
    """Finite real numbers in a range."""

    wanted: str
    least: float
    most: float = 1e9
    is_above: bool = False  # whether `least` itself is none of them

    def _convert(self, given: Any) -> float:
        value = float(_check_real(given))
        is_low = value <= self.least if self.is_above else value < self.least
        if is_low or not value <= self.most:
            raise ValueError
        return value

    def _parse(self, text: str) -> float:
        return float(text)


@dataclass(frozen=True)
class TakesSeconds(TakesNumber):
    """Seconds as a number, or times with units."""

    def _convert(self, given: Any) -> float:
        match = _TIME.fullmatch(given) if isinstance(given, str) else None
        if match is None or not given:
            return super()._convert(given)
        units = (86400, 3600, 60, 1, 1e-3)
        parts = zip(match.groups(), units, strict=True)
        return super()._convert(sum(float(n) * unit for n, unit in parts if n))


class TakesShare(Kind):
    """Shares such as `2%` or 0.02: at least 0, less than 1."""

    wanted = "a share such as 2% or 0.02, less than 1"

    def _convert(self, given: Any) -> float:
        if isinstance(given, str):
            given = given.strip()
            share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
        else:
            share = float(_check_real(given))
        if not 0 <= share < 1:
            raise ValueError
        return share


class TakesRate(Kind):
    """Rates such as `60/min`, as a number of calls and of seconds."""

    wanted = "a rate such as 5/s, 60/min or 1000/h"
    metavar = "RATE"
    _SECONDS: ClassVar[dict[str, float]] = {"s": 1.0, "min": 60.0, "h": 3600.0}

    def _convert(self, given: Any) -> tuple[int, float]:
        if isinstance(given, tuple):
            calls, seconds = given
            return COUNT.accept(calls), SECONDS.accept(seconds)
        calls, _, unit = str(given).partition("/")
        if unit not in self._SECONDS:
            raise ValueError
        return COUNT.accept(int(calls)), self._SECONDS[unit]


class TakesWord(Kind):
    """One of a few words; `pattern` lets more pass."""

    def __init__(self, *words: str, pattern: str = "(?!)", more: str = "") -> None:
        self.words, self._pattern = words, re.compile(pattern)
        listed = [*words, more] if more else list(words)
        self.wanted = f"{', '.join(listed[:-1])} or {listed[-1]}"

    def _convert(self, given: Any) -> str:
        is_known = given in self.words or self._pattern.fullmatch(given) is not None
        if not isinstance(given, str) or not is_known:
            raise ValueError
        return given

    def _hint(self, given: Any) -> str:
        return meant(given, self.words) if isinstance(given, str) else ""


class TakesConfirm(TakesWhole):
    """How many violations are re-run in isolation: `all`, or a number."""

    @property
    def wanted(self) -> str:  # type: ignore[override]
        """The words of an error."""
        return f"`all` or {super().wanted}"

    def _convert(self, given: Any) -> Any:
        return (
            given
            if isinstance(given, str) and given == "all"
            else super()._convert(given)
        )


class TakesFlag(Kind):
    """True or false, also those of numpy; no number."""

    wanted = "True or False"

    def _convert(self, given: Any) -> bool:
        is_numpys = str(getattr(given, "dtype", "")) == "bool" and given.shape == ()
        if not (isinstance(given, bool) or is_numpys):
            raise TypeError
        return bool(given)


class TakesText(Kind):
    """A text with something in it."""

    wanted = "a text"

    def _convert(self, given: Any) -> str:
        if not isinstance(given, str) or not given.strip():
            raise TypeError
        return given


@dataclass(frozen=True)
class TakesPath(Kind):
    """Paths, and `more` words or values beside them."""

    wanted: str
    more: tuple[Any, ...] = ()

    def _convert(self, given: Any) -> Any:
        is_more = any(given is one for one in self.more)
        if not is_more and (not isinstance(given, str | PurePath) or not str(given)):
            raise TypeError
        return given


class TakesSettings(Kind):
    """Texts by name, as a command line gives them; numbers become texts."""

    wanted = "texts and numbers by name"

    def _convert(self, given: Any) -> dict[str, str]:
        found = {}
        for name, value in dict(given or {}).items():
            if not isinstance(name, str):
                raise TypeError
            if not isinstance(value, str | bool | Real | PurePath):
                raise TypeError
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return found


@dataclass(frozen=True)
class TakesList(Kind):
    """Several values of one kind."""

    kind: Kind
    least: int = 0

    @property
    def wanted(self) -> str:  # type: ignore[override]
        """The words of an error."""
        least = " with at least one" if self.least else ""
        return f"a list{least}: each is {self.kind.wanted}"

    def _convert(self, given: Any) -> list[Any]:
        if isinstance(given, str | bytes | Mapping):
            raise TypeError
        found = [self.kind.accept(one) for one in given]
        if len(found) < self.least:
            raise ValueError
        return found


class TakesFunction(Kind):
    """What can be called."""

    wanted = "a function"

    def _convert(self, given: Any) -> Any:
        if not callable(given):
            raise TypeError
        return given


COUNT = TakesWhole(1)
FEW = TakesWhole(1, 100_000)
AMOUNT = TakesNumber("a number from 0 to 1,000,000,000", 0)
SECONDS = TakesSeconds("seconds, or a time such as 90s, 5m or 1h30m", 0, is_above=True)
COST = TakesNumber("an amount of money, more than 0", 0, is_above=True)
RATE, CALLS_AT_ONCE = TakesRate(), TakesWhole(1, 10_000)
SHARE, FLAG, TEXT = TakesShare(), TakesFlag(), TakesText()
SEED = TakesWhole(None, None)

FILE = TakesPath("a path")
MODEL = TakesPath("the path or the name of a model")
SETTINGS = TakesSettings()
# What the other keywords of `run_specs` take.
RUN: dict[str, Kind] = {
    "models": TakesList(MODEL),
    "settings": SETTINGS,
    "seeds": TakesList(SEED, 1),
    "store": TakesPath("True, False or a folder", (True, False)),
    "handlers": TakesList(TakesFunction()),
    "verify": FLAG,
}

# What the fields of `Options` take. One whose default is None takes None, too.
OPTIONS: dict[str, Kind] = {
    "budget": COUNT,
    "default_budget": COUNT,
    "time": SECONDS,
    "calls": COUNT,
    "until_bug": FLAG,
    "max_crashes": COUNT,
    "mode": TakesWord(*get_args(Mode)),
    "search": TakesWord(*get_args(Search)),
    "inputs": TakesWord(*get_args(Inputs)),
    "batch": COUNT,
    "confirm": TakesConfirm(1),
    "repeats": TakesWhole(1, 1000),
    "require": TakesWhole(1, 1000),
    "resume": FLAG,
    "accept": FLAG,
    "jobs": TakesWhole(1, 10_000),
    "engine": TakesWord(*get_args(WorkerPool)),
    "isolate": FLAG,
    "call_timeout_s": SECONDS,
    "memory_limit_mb": COUNT,
    "ray_address": TEXT,
    "cpus": AMOUNT,
    "gpus": AMOUNT,
    "groups": FLAG,
    "shrink": FLAG,
    "recheck": FLAG,
    "device": TakesWord(
        "cpu", "cuda", "mps", "auto", pattern=r"cuda:\d{1,4}", more="cuda:N"
    ),
    "dtype": TakesWord(*get_args(Precision)),
    "accept_flaky": SHARE,
    "accept_unreadable": SHARE,
    "concurrency": CALLS_AT_ONCE,
    "rate": RATE,
    "cache": TakesWord(*get_args(CacheMode)),
    "max_cost": COST,
}


def accept_fields(made: Any, kinds: Mapping[str, Kind]) -> None:
    """Let a dataclass, frozen or not, hold no other values than its fields take."""
    for field in fields(made):
        given = getattr(made, field.name)
        if field.name in kinds and not (given is None and field.default is None):
            value = accept_option(field.name, kinds[field.name], given)
            object.__setattr__(made, field.name, value)


def accept_option(name: str, kind: Kind, given: Any) -> Any:
    """Return an option's value; raises NomosError with its name where it takes no such."""
    try:
        return kind.accept(given)
    except ValueError as error:
        words = str(error)
    raise NomosError(f"`{name}` {words}")


def meant(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` where a name is nearly a known one, else nothing."""
    by_lower = {one.lower().replace("_", "-"): one for one in known}
    wrong = name.lower().replace("_", "-")
    nearest = get_close_matches(wrong, by_lower, n=1)
    return f"; did you mean `{by_lower[nearest[0]]}`?" if nearest else ""


def _check_real(given: Any) -> Real:
    """Return a number as it is; raises TypeError for anything else, and for booleans."""
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError
    if not math.isfinite(given):
        raise ValueError
    return given


def _show_given(given: Any) -> str:
    """Return a wrong value as text, whatever it is."""
    try:
        text = repr(given)
    except Exception:  # what cannot show itself is named by its class
        text = f"a {type(given).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
