"""What every adapter does around its library: it checks rows and answers.

- Each row has one answer, in the order of the rows; rows are never changed.
- An empty batch is answered by an empty array, without asking the model.
- Rows that the model does not take at all end in ModelError. What a library raises for
  particular rows is passed on as it is: such a case has crashed, and the others go on.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from nomos.device import Array, is_out_of_memory, is_tensor
from nomos.domain.meter import asking
from nomos.domain.schema import Schema
from nomos.errors import ModelError
from nomos.models.extras import reason

_PROBED = 8  # rows tried alone: is one of them bad, or are all of a wrong kind?
_MOST_KEPT = 8  # batches whose scores are kept


class NoScores(ModelError):
    """The model has labels and no scores."""


class Adapter:
    """A model that is asked for labels, and for scores where it has them.

    One that is made of trees or layers says so by a method `extract_structure(width)`, which
    returns what gives its answers to rows of so many columns (`nomos.structures`). Proofs
    and guided searches trust that for answers of this very class: a class that changes
    how rows are answered has to have its own.

    Attributes:
        classes: The labels in the order of the columns of the scores, where known.
        width: How many numbers a row has, where known.
        shape: The sizes of its input, the rows first, where known; None is any size.
        dtype: What rows are turned into; None leaves them.
        batch: The only number of rows that the model takes at once, where there is one.
        schema: What the rows hold, where `load_model` was told.
        columns: The names of the columns that it was trained on, where known.
        levels: Which of these are categories, and their levels, where known.
        forgotten: What a file of its kind does not say of how it was trained.
    """

    is_endpoint: ClassVar[bool] = False  # whether it answers one question a request
    classes: Array | None = None
    width: int | None = None
    shape: tuple[int | None, ...] = ()
    dtype: Any = None
    batch: int | None = None
    schema: Schema | None = None
    columns: list[str] | None = None
    levels: Mapping[str, Sequence[Any]] = {}
    forgotten: str = ""

    def __init__(self, name: str) -> None:
        self.name = name
        self._answered: set[Any] = set()
        self._kept: dict[bytes, Array] | None = None  # scores by rows, for a moment

    def _take_only(self, given: Sequence[Any], what: str) -> Any:
        """Return the only one of a model's inputs, or of its outputs."""
        if len(given) != 1:
            said = f"{self.name} has {len(given)} {what}"
            raise ModelError(f"{said}, and one is expected")
        return given[0]

    def _take_shape(self, shape: Sequence[Any]) -> tuple[int | None, ...]:
        """Note how many rows, and numbers in a row, the shape of an input says."""
        sizes = tuple(size if isinstance(size, int) else None for size in shape)
        self.batch = (sizes[0] or None) if sizes else None
        if len(sizes) == 2:
            self.width = sizes[1]
        return sizes

    def keep_scores(self) -> None:
        """Keep the scores that come with labels, for who asks for them right after."""
        self._kept = {}

    def _keep_scores(self, rows: Any, scores: Array) -> None:
        if self._kept is not None and _is_matrix(rows) and _is_matrix(scores):
            while len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[_hash_rows(rows)] = scores

    def gets_names(self, place: int) -> bool:
        """Tell whether the model gets the names of the category in a column."""
        return False

    def _refuse_unseen(self, rows: Any) -> None:
        """Refuse levels that the model was not trained with, where it takes numbers.

        It would take the next number for one, and answer as for a level that it knows.
        """
        is_rows = getattr(rows, "ndim", 0) == 2 and not hasattr(rows, "iloc")
        if self.schema is None or not is_rows or rows.shape[1] != self.schema.width:
            return
        for feature, place in self.schema.open_categories:
            if not self.gets_names(place) and len(rows):
                last = int(rows[:, place].max())
                if last >= len(feature.drawn):
                    raise ModelError(
                        f"{self.name} takes `{feature.name}` as a number, and has none for"
                        f" {feature.levels[last]!r}, which it has never seen: it would take"
                        f" the next, {last}. A model of texts or data frames can be asked"
                    )

    def predict(self, rows: Any) -> Any:
        """Return one label for each row."""
        self._refuse_unseen(rows)
        rows = self.convert_rows(rows)
        if len(rows) == 0:
            return np.empty(0, dtype=np.int64)
        return self._ask_checked(self.label_rows, rows)

    def scores(self, rows: Any) -> Array:
        """Return the scores of each row's classes: an array (rows, classes)."""
        self._refuse_unseen(rows)
        rows = self.convert_rows(rows)
        if len(rows) == 0:
            return np.empty((0, 0 if self.classes is None else len(self.classes)))
        if self._kept and _is_matrix(rows) and _hash_rows(rows) in self._kept:
            return self._kept[_hash_rows(rows)]
        answer = self._ask_checked(self.score_rows, rows)
        scores: Array = answer if is_tensor(answer) else np.asarray(answer)
        return scores

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows that the library can take: those that score best."""
        assert self.classes is not None
        return self.classes[self._find_highest(self.score_rows(rows))]

    def _find_highest(self, scores: Array) -> Array:
        """Return the place of each row's highest score, for which argmax takes a NaN."""
        if bool((scores != scores).any()):
            raise ValueError(f"{self.name} gives scores that are no numbers (NaN)")
        places: Array = scores.argmax(axis=1)
        return places

    def score_rows(self, rows: Any) -> Any:
        """Return the scores of rows, one for each class."""
        raise NoScores(f"{self.name} gives no scores")

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them: here, an array of numbers."""
        try:
            array = np.asarray(rows)
            if array.dtype.kind not in "biuf":
                array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"{self.name} takes rows of numbers") from None
        if self.dtype is not None:
            self._check_pixels(array)
            array = self._cast_exactly(array)
        self._check_width(array.shape)
        # Libraries in C warn of strides and of memory that they may not write to.
        return np.require(array, requirements=["C", "W"])

    def _cast_exactly(self, array: Array) -> Array:
        """Return rows in the model's type; whole numbers have no other value there."""
        with np.errstate(invalid="ignore", over="ignore"):
            made = array.astype(self.dtype, copy=False)
        if made.dtype.kind in "biu" and (other := made != array).any():
            raise ValueError(
                f"{self.name} takes whole numbers ({made.dtype}), and {array[other][0]} "
                "is none of them"
            )
        return made

    def _check_pixels(self, array: Array) -> None:
        """Refuse bytes for reals: who trained on 0 to 1 would get answers for 0 to 255."""
        is_real = np.dtype(self.dtype).kind == "f"
        if array.ndim > 2 and array.dtype.kind in "iu" and is_real:
            raise ModelError(
                f"{self.name} takes {np.dtype(self.dtype)}, and it was given whole numbers"
                f" ({array.dtype}): give it reals as in its training, such as images / 255,"
                f" or images.astype('float32') if it scales them itself"
            )

    def _check_width(self, shape: tuple[int, ...]) -> None:
        wanted = self.shape[1:]
        if self.shape and (
            len(shape[1:]) != len(wanted)
            or any(w not in (None, s) for w, s in zip(wanted, shape[1:], strict=True))
        ):
            size = ", ".join("any" if w is None else str(w) for w in wanted)
            raise ModelError(
                f"{self.name} takes rows of shape ({size}), "
                f"and it was given an array of shape {shape}"
            )
        if self.width is not None and shape[1:] != (self.width,):
            raise ModelError(
                f"{self.name} takes rows of {self.width} numbers, "
                f"and it was given an array of shape {shape}"
            )

    def _ask_checked(self, ask: Callable[[Any], Any], rows: Any) -> Any:
        """Ask for all rows and check the number of answers."""
        kind = getattr(rows, "shape", (0, type(rows)))[1:], getattr(rows, "dtype", 0)
        try:
            answer = self._ask_whole(ask, rows)
        except ModelError:
            raise
        except Exception as error:
            if len(rows) == 1 or kind in self._answered or is_out_of_memory(error):
                raise
            if _can_answer_any(ask, rows):
                raise
            raise ModelError(
                f"{self.name} cannot answer {_describe_rows(rows)}: {reason(error)}"
                f"{self._suggest_reals(rows)}"
            ) from error
        if not (isinstance(answer, list | tuple | np.ndarray) or is_tensor(answer)):
            answer = np.asarray(answer)
        if np.ndim(answer) == 0 or len(answer) != len(rows):
            count = 1 if np.ndim(answer) == 0 else len(answer)
            raise ModelError(f"{self.name} gave {count} answers for {len(rows)} rows")
        self._answered.add(kind)
        return answer

    def _ask_whole(self, ask: Callable[[Any], Any], rows: Any) -> Any:
        if self.batch is not None:
            return self._ask_in_batches(ask, rows)
        with asking(len(rows)):
            return ask(rows)

    def _suggest_reals(self, rows: Any) -> str:
        """Say that whole numbers stay whole, where the model does not tell its type."""
        is_whole = isinstance(rows, np.ndarray) and rows.dtype.kind in "biu"
        is_odd = is_whole and not self.dtype
        return "; if it takes reals, give it reals" if is_odd else ""

    def _ask_in_batches(self, ask: Callable[[Any], Any], rows: Array) -> Array:
        """Ask for so many rows at once as the model takes; the last batch is filled up."""
        assert self.batch is not None
        missing = -len(rows) % self.batch
        filled = np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])
        with asking(len(filled)):
            parts = [
                np.asarray(ask(filled[start : start + self.batch]))
                for start in range(0, len(filled), self.batch)
            ]
        return np.concatenate(parts)[: len(rows)]


class OutputModel(Adapter, ABC):
    """A model of one output, whose shape says what it means.

    Whole numbers and words are labels. A matrix of reals has a column of scores for each
    class, and the label is the place of the highest. One real for each row is a number
    that the model predicts: then the label is that number, and there are no scores.
    """

    @abstractmethod
    def compute_output(self, rows: Any) -> Array:
        """Return what the model gives for rows that the library can take."""

    def label_rows(self, rows: Any) -> Array:
        """Return the labels of rows."""
        output = self.compute_output(rows)
        self._keep_scores(rows, output)
        return self._to_labels(output)

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        return self._to_scores(self.compute_output(rows))

    def _to_labels(self, output: Array) -> Array:
        output = flat(output)
        if not _is_real(output) or output.ndim == 1:
            return output
        if output.ndim > 2:
            raise ModelError(
                f"{self.name} answers with an array of shape {output.shape}, "
                "which gives no label for each row; use its scores"
            )
        places = self._find_highest(output)
        return places if self.classes is None else self.classes[places]

    def _to_scores(self, output: Array) -> Array:
        output = flat(output)
        if not _is_real(output) or output.ndim == 1:
            raise NoScores(f"{self.name} gives one answer for each row and no scores")
        return output


def plain_name(name: object) -> str:
    """Return a column's name without what libraries change in it, such as blanks."""
    return re.sub(r"[\W_]+", "_", str(name)).lower()


def find_columns(names: Iterable[object], columns: Iterable[str]) -> list[str]:
    """Return the column that each name of a model means, "" where there is none."""
    own = list(columns)  # `Age` and `age` are two, if both are there
    known = {plain_name(name): name for name in own} | dict(zip(own, own, strict=True))
    return [known.get(n) or known.get(plain_name(n), "") for n in map(str, names)]


def _is_matrix(values: Any) -> bool:
    is_numbers = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return is_numbers and values.ndim == 2 and values.shape[1] > 1


def _hash_rows(rows: Any) -> bytes:
    return blake2b(np.ascontiguousarray(rows).tobytes(), digest_size=16).digest()


def _is_real(output: Any) -> bool:
    if is_tensor(output):
        return bool(output.is_floating_point())
    return bool(output.dtype.kind == "f")


def flat(output: Array) -> Array:
    """Drop the second dimension of a column."""
    return output[:, 0] if output.ndim == 2 and output.shape[1] == 1 else output


def _can_answer_any(ask: Callable[[Any], Any], rows: Any) -> bool:
    """Say whether one of the first rows can be answered alone."""
    for place in range(min(_PROBED, len(rows))):
        try:
            with asking(1):
                ask(rows[place : place + 1])
        except Exception:  # whatever it is, the row is not answered
            continue
        return True
    return False


def _describe_rows(rows: Any) -> str:
    if isinstance(rows, np.ndarray):
        return f"rows of shape {rows.shape[1:]} and type {rows.dtype}"
    return f"rows in a {type(rows).__name__}"
