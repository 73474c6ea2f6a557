"""Fine-tune a torch module on data and on cases of specs, round by round."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import ModelError
from nomos.models.adapter import Adapter
from nomos.models.formats.torch import TorchModel, need_torch
from nomos.train.repairing.cases.answers import (
    Answering,
    Labels,
    Number,
    find_answering,
)
from nomos.train.repairing.cases.drawn import (
    TOGETHER,
    RoundData,
    TrainingCases,
    TrainingData,
    Untrainable,
    check_labels,
)
from nomos.train.repairing.cases.loss import SpecLoss

Tensor = Any
Tensors = dict[int, Any]  # the rows of asks, by the expression that asks
_BATCH = 128
_FEWEST_STEPS = 300  # of a round: a small table is gone through several times
_CASES_PER_STEP = 512  # of all specs together, and
_MOST_PER_SPEC = 128  # of each
_RATE = 3e-3
_DECAY = 5e-4
_PASSES = 8  # over the data, in a round at least
_MARGIN = 0.05  # in scores: nearer to the limit than this counts as failing
_KEEP = 0.5  # of the loss on data: what the model said before; the rest are the labels
_MANY = 8192  # rows sent through the module at once


class FineTuner:
    """A module that is fine-tuned; `write` turns it into the file that is kept.

    `wrap` gives the module as a domain asks it, and `prepare` what a domain's rows are
    for the module, where that is not as usual; then `first` is the model before.
    """

    how = "fine-tuning"

    def __init__(
        self,
        module: Any,
        name: str,
        write: Callable[[Any], bytes],
        *,
        first: Adapter | None = None,
        wrap: Callable[[Any], Any] | None = None,
        prepare: Callable[[Any], Any] = np.asarray,
    ) -> None:
        self._torch = need_torch()
        self.first = first
        self._wrap = wrap or (lambda module: TorchModel(module, name))
        self._prepare = prepare
        self.module = module
        self.name = name
        self._write = write
        self._first = b""  # the weights before the first round
        self._before: Any = None  # the outputs of the first model on the training rows
        self._answering: dict[str, Answering] = {}  # of the domain's functions
        if not any(p.requires_grad for p in module.parameters()):
            raise ModelError(f"{name} has no weights that can be trained")

    @property
    def model(self) -> Any:
        """The module as a domain asks it."""
        return self._wrap(self.module)

    def content(self) -> bytes:
        """Return the file of the module as it is now."""
        return self._write(self.module)

    def snapshot(self) -> bytes:
        """Return the weights."""
        kept = io.BytesIO()
        self._torch.save(self.module.state_dict(), kept)
        return kept.getvalue()

    def restore(self, snapshot: bytes) -> None:
        """Take back weights."""
        torch = self._torch
        self.module.load_state_dict(torch.load(io.BytesIO(snapshot), weights_only=True))

    def begin(self, data: TrainingData) -> None:
        """Take note of what the model says before the first round, and how."""
        self._first, self._data = self.snapshot(), data
        with _train_alike(0):
            self._before = self._compute_outputs(data.rows)
        found = find_answering(data.function, self._before, data.answers)
        self._answering[data.function] = found

    def _explain_cases(self, data: RoundData) -> dict[str, str]:
        """Say of each spec that has no loss of its own why, and what is done instead."""
        found = {}
        for name, cases in data.cases.items():
            few = cases.take(np.arange(min(4, len(cases))))
            try:
                with _train_alike(data.seed):
                    self._find_answering(cases)
                    rows = [self._case_tensors(few)]
                    self._case_losses(few, self._ask_module([few.by_number()], rows)[0])
            except Untrainable as why:
                found[name] = f"{why}; {TOGETHER}"
        return found

    def train(
        self, data: RoundData, told: Callable[[float], None]
    ) -> Mapping[str, str]:
        """Train for one round; after one that cost too much, from the first weights."""
        torch, notes = self._torch, self._explain_cases(data)
        if data.is_costly:
            self.restore(self._first)
        with _train_alike(data.seed):
            rows = self._to_tensor(self._data.rows)
            answering = self._answering[self._data.function]
            labels = _DataLoss(answering, self._data.labels, self._before)
            rng = np.random.default_rng(data.seed)
            trained = [p for p in self.module.parameters() if p.requires_grad]
            optimiser = torch.optim.Adam(trained, lr=_RATE, weight_decay=_DECAY)
            steps = max(_FEWEST_STEPS, _PASSES * -(-len(rows) // _BATCH))
            slowing = torch.optim.lr_scheduler.LambdaLR(
                optimiser, lambda step: 1 - step / steps
            )
            batches = _shuffle_batches(len(rows), rng)
            given = [(c, self._case_tensors(c)) for c in data.cases.values() if len(c)]
            specs = [(cases.by_number(), tensors) for cases, tensors in given]
            for step in range(steps):
                chosen = next(batches)
                optimiser.zero_grad()
                loss = labels.of(self._to_scores(self.module(rows[chosen])), chosen)
                if specs:
                    loss = loss + self._spec_loss(specs, data.weights, rng)
                loss.backward()
                optimiser.step()
                slowing.step()
                told((step + 1) / steps)
        return notes

    def _spec_loss(
        self,
        specs: Sequence[tuple[TrainingCases, Tensors]],
        weights: Mapping[str, float],
        rng: np.random.Generator,
    ) -> Tensor:
        """Return the loss of a few cases of each spec.

        TrainingCases that hold with some margin cost nothing: what fails, or nearly, counts.
        """
        size = min(_MOST_PER_SPEC, _CASES_PER_STEP // len(specs) + 8)
        parts = [cases.take(rng.integers(0, len(cases), size)) for cases, _ in specs]
        total: Tensor = 0.0
        outputs = self._ask_module(parts, [tensors for _, tensors in specs])
        for cases, output in zip(parts, outputs, strict=True):
            try:
                losses = self._case_losses(cases, output)
            except Untrainable:
                losses = _measure_spread(output, self._torch.as_tensor(cases.violated))
            total = total + weights[cases.spec.name] / len(parts) * losses.mean()
        return total

    def _case_losses(
        self, cases: TrainingCases, outputs: Mapping[int, Tensor]
    ) -> Tensor:
        if cases.opaque:
            raise Untrainable(cases.opaque)
        for ask in cases.asks.values():
            if ask.function not in self._answering:
                raise Untrainable(f"`{ask.function}` answers in a way of its own")
        return SpecLoss(cases, outputs, self._answering, _MARGIN).case_losses()

    def _case_tensors(self, cases: TrainingCases) -> Tensors:
        return {key: self._to_tensor(ask.rows) for key, ask in cases.asks.items()}

    def _ask_module(
        self, parts: Sequence[TrainingCases], tensors: Sequence[Tensors]
    ) -> list[dict[int, Tensor]]:
        """Return the module's outputs for all asks of cases by number, asked at once."""
        asks = [
            (at, key, rows[key][ask.rows])
            for at, (cases, rows) in enumerate(zip(parts, tensors, strict=True))
            for key, ask in cases.asks.items()
        ]
        outputs = self._to_scores(self.module(self._torch.cat([a for _, _, a in asks])))
        found: list[dict[int, Tensor]] = [{} for _ in parts]
        split = outputs.split([len(rows) for _, _, rows in asks])
        for (at, key, _), output in zip(asks, split, strict=True):
            found[at][key] = output
        return found

    def _find_answering(self, cases: TrainingCases) -> None:
        """Find out how the functions that a spec calls answer, where it can be seen."""
        for ask in cases.asks.values():
            if ask.function and ask.function not in self._answering and len(ask.rows):
                outputs = self._compute_outputs(ask.rows)
                found = find_answering(ask.function, outputs, ask.answers)
                self._answering[ask.function] = found

    def _compute_outputs(self, rows: Any) -> Array:
        torch = self._torch
        with torch.no_grad():
            parts = [
                self._to_scores(
                    self.module(self._to_tensor(rows[first : first + _MANY]))
                )
                for first in range(0, len(rows), _MANY)
            ]
        outputs: Array = torch.cat(parts).numpy()
        return outputs

    def _to_scores(self, output: Tensor) -> Tensor:
        """Return scores whose differences mean something: of probabilities, logarithms."""
        torch = self._torch
        if output.ndim == 2 and output.shape[1] > 1:
            with torch.no_grad():
                sums = output.sum(dim=1)
                is_share = bool((output >= 0).all() and ((sums - 1).abs() < 1e-3).all())
            return output.clamp_min(1e-12).log() if is_share else output
        return output

    def _to_tensor(self, rows: Any) -> Tensor:
        torch = self._torch
        array = self._prepare(rows)
        if array.dtype.kind not in "biuf":
            raise ModelError(f"{self.name} is not asked rows of numbers")
        real = next(self.module.parameters()).dtype
        return torch.tensor(array, dtype=real)


class _DataLoss:
    """How far the answers are from the labels, and from what the model said before."""

    def __init__(
        self, answering: Answering, labels: Sequence[Any], before: Array
    ) -> None:
        self._torch = torch = need_torch()
        self.answering = answering
        self.before = torch.as_tensor(before)
        given = np.asarray(labels)
        if isinstance(answering, Number):
            self.targets = torch.as_tensor(given.astype(np.float32))
            return
        places = {value: place for place, value in enumerate(answering.values.tolist())}
        check_labels(set(given.tolist()) - places.keys(), places)
        self.targets = torch.as_tensor(np.array([places[v] for v in given.tolist()]))

    def of(self, outputs: Tensor, chosen: Any) -> Tensor:
        """Return the loss of a batch."""
        functional = self._torch.nn.functional
        targets, before = self.targets[chosen], self.before[chosen]
        match self.answering:
            case Labels():
                scores, was = map(self.answering.score_answers, (outputs, before))
                said = functional.cross_entropy(scores, was.softmax(dim=1))
                right = functional.cross_entropy(scores, targets)
            case Number():
                own, was = map(self.answering.number_of, (outputs, before))
                scale = self.targets.std().clamp_min(1e-6)
                said = functional.mse_loss(own / scale, was / scale)
                right = functional.mse_loss(own / scale, targets / scale)
        return _KEEP * said + (1 - _KEEP) * right


def _shuffle_batches(count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield the places of the rows in batches, in ever new orders."""
    while True:
        order = rng.permutation(count)
        for first in range(0, count, _BATCH):
            yield order[first : first + _BATCH]


def _measure_spread(outputs: Mapping[int, Tensor], violated: Tensor) -> Tensor:
    """Return how far the answers of a violating case are from each other."""
    torch = need_torch()
    together = torch.stack([o.reshape(len(o), -1) for o in outputs.values()])
    distances = (together - together.mean(dim=0)).square().mean(dim=(0, 2))
    return distances * violated


@contextmanager
def _train_alike(seed: int) -> Iterator[None]:
    """Train the same way on every machine: one thread, and torch's seed set."""
    torch = need_torch()
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(state)
