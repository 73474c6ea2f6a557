"""What each option takes, said once: for the command line, Python, pytest and pyproject.

A kind of values has two entrances. `accept` takes what a program gives, `read` takes a text
of a command line. Both return the value as the rest of Nomos uses it, or raise ValueError
with words that go after the option's name.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Real
from pathlib import PurePath
from typing import Any, Literal, get_args

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
_LARGEST_REAL = 1e9
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}  # of rates, in seconds


@dataclass(frozen=True, eq=False)
class Kind:
    """Values of one kind; `wanted` says which, in the words of an error.

    `convert` returns the value of what a program gives, and raises what Python raises where
    it is none of this kind. `parse` reads a text; `words` are those that may be meant.
    """

    wanted: str
    convert: Callable[[Any], Any]
    parse: Callable[[str], Any] = str
    words: tuple[str, ...] = ()

    def accept(self, given: Any) -> Any:
        """Return the value of what a program gives."""
        try:
            return self.convert(given)
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            hint = meant(given, self.words) if isinstance(given, str) else ""
            words = f"takes {self.wanted}, not {_show_given(given)}{hint}"
        raise ValueError(words)

    def parse_text(self, text: str) -> Any:
        """Return the value of a text."""
        with suppress(ValueError):
            return self.accept(self.parse(text))
        return self.accept(text)


def take_whole(least: int | None = 1, most: int | None = LARGEST_COUNT) -> Kind:
    """Whole numbers, also those of numpy and reals without a fraction; never booleans."""

    def convert(given: Any) -> int:
        number: Any = _check_real(given)
        value = int(number)
        low = value if least is None else least
        high = value if most is None else most
        if value != number or not low <= value <= high:
            raise ValueError
        return value

    ends = "" if least is None else f" from {least} on"
    if most not in (None, LARGEST_COUNT):
        ends = f" from {least} to {most}"
    return Kind(f"a whole number{ends}", convert, _parse_number)


def take_number(wanted: str, least: float, *, is_above: bool = False) -> Kind:
    """Finite real numbers in a range; `is_above` says that `least` itself is none."""

    def convert(given: Any) -> float:
        value = float(_check_real(given))
        is_low = value <= least if is_above else value < least
        if is_low or not value <= _LARGEST_REAL:
            raise ValueError
        return value

    return Kind(wanted, convert, float)


def take_word(*words: str, pattern: str = "(?!)", more: str = "") -> Kind:
    """One of a few words; `pattern` lets more pass."""

    def convert(given: Any) -> str:
        is_known = given in words or re.fullmatch(pattern, given) is not None
        if not isinstance(given, str) or not is_known:
            raise ValueError
        return given

    *first, last = [*words, more] if more else words
    return Kind(f"{', '.join(first)} or {last}", convert, words=words)


def take_path(wanted: str, *more: Any) -> Kind:
    """Paths, and `more` words or values beside them."""

    def convert(given: Any) -> Any:
        is_more = any(given is one for one in more)
        if not is_more and (not isinstance(given, str | PurePath) or not str(given)):
            raise TypeError
        return given

    return Kind(wanted, convert)


def take_list(kind: Kind, least: int = 0) -> Kind:
    """Several values of one kind."""

    def convert(given: Any) -> list[Any]:
        if isinstance(given, str | bytes | Mapping):
            raise TypeError
        found = [kind.accept(one) for one in given]
        if len(found) < least:
            raise ValueError
        return found

    some = " with at least one" if least else ""
    return Kind(f"a list{some}: each is {kind.wanted}", convert)


def _parse_number(text: str) -> int | float:
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    try:
        return int(text)
    except ValueError:
        return float(text)


def _convert_seconds(given: Any) -> Any:
    """Return seconds, given as a number or as times with units."""
    match = _TIME.fullmatch(given) if isinstance(given, str) else None
    if match is not None and given:
        units = (86400, 3600, 60, 1, 1e-3)
        parts = zip(match.groups(), units, strict=True)
        given = sum(float(n) * unit for n, unit in parts if n)
    return _PLAIN_SECONDS.convert(given)


def _convert_share(given: Any) -> float:
    if isinstance(given, str):
        given = given.strip()
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    else:
        share = float(_check_real(given))
    if not 0 <= share < 1:
        raise ValueError
    return share


def _convert_rate(given: Any) -> tuple[int, float]:
    """Return a number of calls, and in how many seconds."""
    if isinstance(given, tuple):
        calls, seconds = given
        return COUNT.accept(calls), SECONDS.accept(seconds)
    calls, _, unit = str(given).partition("/")
    if unit not in _UNITS:
        raise ValueError
    return COUNT.accept(int(calls)), _UNITS[unit]


def _convert_confirm(given: Any) -> Any:
    return given if isinstance(given, str) and given == "all" else COUNT.convert(given)


def _convert_flag(given: Any) -> bool:
    """Return a truth, also one of numpy; no number is one."""
    is_numpys = str(getattr(given, "dtype", "")) == "bool" and given.shape == ()
    if not (isinstance(given, bool) or is_numpys):
        raise TypeError
    return bool(given)


def _convert_text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise TypeError
    return given


def _convert_settings(given: Any) -> dict[str, str]:
    """Return texts by name, as a command line gives them; numbers become texts."""
    found = {}
    for name, value in dict(given or {}).items():
        if not isinstance(name, str) or not isinstance(
            value, str | bool | Real | PurePath
        ):
            raise TypeError
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _convert_function(given: Any) -> Any:
    if not callable(given):
        raise TypeError
    return given


COUNT = take_whole()
FEW = take_whole(1, 100_000)
AMOUNT = take_number("a number from 0 to 1,000,000,000", 0)
_PLAIN_SECONDS = take_number("seconds", 0, is_above=True)
_TIMES = "seconds, or a time such as 90s, 5m or 1h30m"
SECONDS = Kind(_TIMES, _convert_seconds, float)
SHARE = Kind("a share such as 2% or 0.02, less than 1", _convert_share)
FLAG, TEXT = Kind("True or False", _convert_flag), Kind("a text", _convert_text)
SEED = take_whole(None, None)

FILE = take_path("a path")
MODEL = take_path("the path or the name of a model")
SETTINGS = Kind("texts and numbers by name", _convert_settings)
# What the other keywords of `run_specs` take.
RUN: dict[str, Kind] = {
    "models": take_list(MODEL),
    "settings": SETTINGS,
    "seeds": take_list(SEED, 1),
    "store": take_path("True, False or a folder", True, False),
    "handlers": take_list(Kind("a function", _convert_function)),
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
    "mode": take_word(*get_args(Mode)),
    "search": take_word(*get_args(Search)),
    "inputs": take_word(*get_args(Inputs)),
    "batch": COUNT,
    "confirm": Kind(f"`all` or {COUNT.wanted}", _convert_confirm, _parse_number),
    "repeats": take_whole(1, 1000),
    "require": take_whole(1, 1000),
    "resume": FLAG,
    "accept": FLAG,
    "jobs": take_whole(1, 10_000),
    "engine": take_word(*get_args(WorkerPool)),
    "isolate": FLAG,
    "call_timeout_s": SECONDS,
    "memory_limit_mb": COUNT,
    "ray_address": TEXT,
    "cpus": AMOUNT,
    "gpus": AMOUNT,
    "groups": FLAG,
    "shrink": FLAG,
    "recheck": FLAG,
    "device": take_word(
        "cpu", "cuda", "mps", "auto", pattern=r"cuda:\d{1,4}", more="cuda:N"
    ),
    "dtype": take_word(*get_args(Precision)),
    "accept_flaky": SHARE,
    "accept_unreadable": SHARE,
    "concurrency": take_whole(1, 10_000),
    "rate": Kind("a rate such as 5/s, 60/min or 1000/h", _convert_rate),
    "cache": take_word(*get_args(CacheMode)),
    "max_cost": take_number("an amount of money, more than 0", 0, is_above=True),
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
    nearest = get_close_matches(name.lower().replace("_", "-"), by_lower, n=1)
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
