"""How campaigns are run: budgets, search, confirmation, workers."""

from dataclasses import dataclass

from nomos.accepted import (
    OPTIONS,
    CacheMode,
    Inputs,
    Mode,
    Precision,
    Search,
    WorkerPool,
    accept_fields,
)
from nomos.device import Placement
from nomos.domain.meter import Terms
from nomos.errors import NomosError

_GENERATING = ("guided", "diverse")  # searches that generate their inputs
DEFAULT_CASES = 5000
EVERY_CASE_UP_TO = 100_000  # that `auto` tries, where no budget was given
ISOLATED_RERUNS = 100  # different violations that are run in isolation by default
REPEATED_CASES = 20  # of a random model, each up to 40 times, and as often its control


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
    # How many violations are run in isolation, or `all`
    confirm: int | str | None = None
    repeats: int | None = None  # of the block in each case
    require: int | None = None  # in how many of them an `ensures` must hold; None: all
    resume: bool = False
    accept: bool = True  # whether the bugs found become known ones
    jobs: int = 1
    engine: WorkerPool = "processes"
    isolate: bool = False
    call_timeout_s: float | None = None
    memory_limit_mb: int | None = None
    ray_address: str | None = None
    cpus: float = 1.0  # that Ray reserves for each worker
    gpus: float = 0.0
    groups: bool = True  # whether bugs are put into groups, with rules
    shrink: bool = True  # whether the bugs that stand for groups are shrunk
    recheck: bool = True  # whether cases are spot-checked where none is violated
    device: str = "cpu"
    dtype: Precision | None = None
    accept_flaky: float = 0.0  # the share of cases that may not fail again
    accept_unreadable: float = 0.0  # the share of cases that may not be read

    concurrency: int = 8  # calls in flight at once, of all workers together
    rate: tuple[int, float] | None = None  # the most calls, and in how many seconds
    cache: CacheMode = "read"  # what becomes of the answers of endpoints on disk
    max_cost: float | None = None

    def __post_init__(self) -> None:
        accept_fields(self, OPTIONS)
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        """Raise NomosError where one option asks for what another one excludes."""
        if self.search == "exhaustive" and self.inputs == "generated":
            raise NomosError(
                "`search` exhaustive tries the cases of the data: generated inputs have"
                " no end, so use random or guided"
            )
        if self.search in _GENERATING and self.inputs == "data":
            raise NomosError(
                f"`search` {self.search} generates inputs from the data: use random or"
                " exhaustive for the data alone"
            )
        if self.require is not None and self.require > (self.repeats or 0):
            raise NomosError(
                "`require` says in how many of the `repeats` an `ensures` must hold"
            )
        if self.engine != "ray":
            only_ray = {"ray_address": None, "cpus": 1.0, "gpus": 0.0}
            for name, default in only_ray.items():
                if getattr(self, name) != default:
                    raise NomosError(f"`{name}` goes with `engine` ray")

    @property
    def repeat_settings(self) -> dict[str, str]:
        """How often each case is evaluated, as settings of every spec."""
        if self.repeats is None:
            return {}
        required = self.require or self.repeats
        return {"repeats": str(self.repeats), "require": str(required)}

    @property
    def generates_inputs(self) -> bool:
        """Whether inputs are generated from the data, not drawn from them."""
        return self.search in _GENERATING or self.inputs == "generated"

    @property
    def cases(self) -> int:
        """How many cases are tried, unless there are fewer or all are."""
        return self.budget or self.default_budget or DEFAULT_CASES

    @property
    def every(self) -> int:
        """Up to how many cases `auto` tries all there are."""
        given = self.budget or self.default_budget
        return EVERY_CASE_UP_TO if given is None else given

    def count_isolated_reruns(self, is_random: bool = False) -> int | None:
        """Return how many different violations are run in isolation; None: all."""
        if self.confirm is None:
            return REPEATED_CASES if is_random else ISOLATED_RERUNS
        return None if self.confirm == "all" else int(self.confirm)

    @property
    def is_inline(self) -> bool:
        """Whether cases run in this process."""
        limited = self.call_timeout_s is not None or self.memory_limit_mb is not None
        other = self.isolate or limited or self.engine == "ray"
        return self.jobs == 1 and not other

    @property
    def terms(self) -> Terms:
        """How each worker asks models that are slow or paid."""
        return Terms(
            concurrency=max(1, self.concurrency // self.jobs),
            timeout_s=self.call_timeout_s,
            rate=self.rate,
            cache=self.cache,
            calls=self.calls,
            max_cost=self.max_cost,
        )

    @property
    def placement(self) -> Placement:
        """Where networks run, and how precisely."""
        return Placement(self.device, self.dtype)
