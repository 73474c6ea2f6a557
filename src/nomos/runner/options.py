"""How campaigns are run: budgets, search, confirmation, workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from nomos.device import Placement, Precision
from nomos.engine.engine import Mode
from nomos.errors import NomosError

Search = Literal["auto", "random", "exhaustive", "guided", "diverse"]
_MAKING = ("guided", "diverse")  # searches whose inputs are made
Inputs = Literal["data", "generated"]
DEFAULT_CASES = 5000
EVERY_CASE_UP_TO = 100_000  # that `auto` tries, where no budget was given
RUN_ALONE = 100  # different violations that are run alone by default


@dataclass(frozen=True, slots=True)
class Options:
    """How campaigns are run, by the names that callers know.

    A campaign ends at the first of its limits: cases, seconds, calls of the model.
    `default_budget` is what counts where nobody gives a budget: a budget limits an
    exhaustive search too. `call_timeout_s` and `memory_limit_mb` hold for each worker
    process.
    """

    budget: int | None = None  # cases
    default_budget: int | None = None
    time: float | None = None  # seconds
    calls: int | None = None
    until_bug: bool = False
    max_crashes: int = 100
    mode: Mode | None = None
    search: Search = "auto"
    inputs: Inputs | None = None  # None: the data, unless the search makes its own
    batch: int | None = None  # the most cases of a chunk; None: chosen by speed
    confirm: int | str | None = None  # how many violations are run alone, or `all`
    resume: bool = False
    accept: bool = True  # whether the bugs found become known ones
    jobs: int = 1
    engine: Literal["processes", "ray"] = "processes"
    isolate: bool = False
    call_timeout_s: float | None = None
    memory_limit_mb: int | None = None
    ray_address: str | None = None
    cpus: float = 1.0  # that Ray reserves for each worker
    gpus: float = 0.0
    groups: bool = True  # whether bugs are put into groups, with rules
    shrink: bool = True  # whether the bugs that stand for groups are made smaller
    recheck: bool = True  # whether cases are looked at again where none is violated
    device: str = "cpu"
    dtype: Precision | None = None
    accept_unstable: float = 0.0  # the share of cases that may not come back

    def __post_init__(self) -> None:
        for name in ("budget", "default_budget", "calls", "max_crashes"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise NomosError(
                    f"`{name}` takes a whole number from 1 on, not {value!r}"
                )
        seconds: Any = self.time  # callers may give anything
        if seconds is not None and not (type(seconds) in (int, float) and seconds > 0):
            raise NomosError(f"`time` takes seconds, more than 0, not {seconds!r}")
        Placement(self.device, self.dtype)  # says what is wrong with them
        share: Any = self.accept_unstable
        if type(share) not in (int, float) or not 0 <= share < 1:
            raise NomosError(
                f"`accept_unstable` takes a share from 0 to 1, not {share!r}"
            )
        if self.search == "exhaustive" and self.inputs == "generated":
            raise NomosError(
                "`search` exhaustive tries the cases of the data: generated inputs have"
                " no end, so use random or guided"
            )
        if self.search in _MAKING and self.inputs == "data":
            raise NomosError(
                f"`search` {self.search} makes its own inputs from the data: use random or"
                " exhaustive for the data alone"
            )

    @property
    def makes_inputs(self) -> bool:
        """Whether inputs are made from the data, not drawn from them."""
        return self.search in _MAKING or self.inputs == "generated"

    @property
    def cases(self) -> int:
        """How many cases are tried, unless there are fewer or all are."""
        return self.budget or self.default_budget or DEFAULT_CASES

    @property
    def every(self) -> int:
        """Up to how many cases `auto` tries all there are."""
        given = self.budget or self.default_budget
        return EVERY_CASE_UP_TO if given is None else given

    @property
    def run_alone(self) -> int | None:
        """How many different violations are run alone; None: all."""
        if self.confirm is None:
            return RUN_ALONE
        return None if self.confirm == "all" else int(self.confirm)

    @property
    def is_inline(self) -> bool:
        """Whether cases run in this process."""
        limited = self.call_timeout_s is not None or self.memory_limit_mb is not None
        other = self.isolate or limited or self.engine == "ray"
        return self.jobs == 1 and not other

    @property
    def placement(self) -> Placement:
        """Where networks run, and how precisely."""
        return Placement(self.device, self.dtype)
