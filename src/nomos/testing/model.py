"""The conformance suite for models: `check_model(model, rows)`."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.same_answers import find_changed_answers
from nomos.errors import ModelError
from nomos.models import NoScores

_TIE = 1e-6  # scores that are closer than this may be ranked either way


def check_model(model: Any, rows: Any) -> None:
    """Check that a model keeps what specs rely on; raise AssertionError with all it breaks.

    - `predict(rows)` gives one label for each row, and the same ones when asked again.
    - A row has the same label alone as among others.
    - `scores(rows)`, where the model has it, gives finite numbers in an array
      (rows, classes), the highest in the column of the label.
    - Asking does not change the rows.
    - Rows of numbers may be of float32 or float64, strided, or not writeable.
    - An empty batch gets an empty answer.
    - Rows that the model does not take end in ModelError.

    Args:
        model: An object with `predict`, such as load_model gives.
        rows: Some rows that it takes, best with several labels: an array of numbers,
            or a list of anything else.
    """
    assert len(rows) > 1, "check_model needs two rows at least"
    broken = []
    for check in _CHECKS:
        try:
            # Each check has rows of its own: changed ones would fool the next.
            given = rows.copy() if isinstance(rows, np.ndarray) else rows
            broken += [f"{_promise(check)}: {said}" for said in check(model, given)]
        except Exception as error:
            broken.append(f"{_promise(check)}: {type(error).__name__}: {error}")
    if broken:
        raise AssertionError("the model breaks its promises:\n- " + "\n- ".join(broken))


def _one_label_for_each_row(model: Any, rows: Any) -> Iterator[str]:
    labels = model.predict(rows)
    if len(labels) != len(rows):
        yield f"it gave {len(labels)} labels for {len(rows)} rows"


def _same_labels_when_asked_again(model: Any, rows: Any) -> Iterator[str]:
    yield from _count_differences(model.predict(rows), model.predict(rows))


def _same_label_alone_as_among_others(model: Any, rows: Any) -> Iterator[str]:
    alone = [model.predict(rows[place : place + 1])[0] for place in range(len(rows))]
    yield from _count_differences(model.predict(rows), alone)


def _same_labels_in_any_order(model: Any, rows: Any) -> Iterator[str]:
    yield from _count_differences(model.predict(rows), model.predict(rows[::-1])[::-1])


def _scores_are_finite_and_have_a_column_for_each_class(
    model: Any, rows: Any
) -> Iterator[str]:
    scores = _scores(model, rows)
    if scores is None:
        return
    if scores.ndim < 2 or len(scores) != len(rows):
        yield f"their shape is {scores.shape} for {len(rows)} rows"
    if not np.isfinite(scores).all():
        yield f"{np.count_nonzero(~np.isfinite(scores))} of them are not finite"
    classes = getattr(model, "classes", None)
    if classes is not None and scores.shape[1:] != (len(classes),):
        yield f"their shape is {scores.shape} for {len(classes)} classes"


def _highest_score_is_that_of_the_label(model: Any, rows: Any) -> Iterator[str]:
    scores = _scores(model, rows)
    if scores is None or scores.ndim != 2:
        return
    labels = np.asarray(model.predict(rows))
    ordered = np.sort(scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > _TIE
    places, labels = scores.argmax(axis=1)[clear], labels[clear]
    classes = getattr(model, "classes", None)
    if classes is not None:
        yield from _count_differences(labels, np.asarray(classes)[places])
        return
    # Without names for the columns, their order must be that of the labels.
    pairs = sorted(
        {
            (int(place), label)
            for place, label in zip(places, labels.tolist(), strict=True)
        }
    )
    for (place, label), (next_place, next_label) in pairwise(pairs):
        if place == next_place or label >= next_label:
            yield f"columns {place} and {next_place} go with {label} and {next_label}"


def _asking_does_not_change_the_rows(model: Any, rows: Any) -> Iterator[str]:
    if isinstance(rows, np.ndarray):
        given = rows.copy()
        model.predict(given)
        _scores(model, given)
        is_other = (given != rows) & ~((given != given) & (rows != rows))
        changed = np.count_nonzero(is_other)
        if changed:
            yield f"{changed} values are not what they were"


def _takes_rows_of_numbers_in_any_layout(model: Any, rows: Any) -> Iterator[str]:
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f":
        return
    labels = model.predict(rows)
    single = rows.astype(np.float32)
    fixed = single.copy()
    fixed.setflags(write=False)
    wide = np.repeat(single, 2, axis=-1)[..., ::2]
    layouts = {
        "float32": single,
        "float64": single.astype(np.float64),
        "columns first": np.asfortranarray(single),
        "every second column of a wider array": wide,
        "not writeable": fixed,
    }
    expected = model.predict(single)
    for name, layout in layouts.items():
        for said in _count_differences(expected, model.predict(layout)):
            yield f"{name}: {said}"
    if (single == rows).all():
        yield from _count_differences(labels, expected)


def _an_empty_batch_gets_an_empty_answer(model: Any, rows: Any) -> Iterator[str]:
    none = rows[:0]
    if len(model.predict(none)) != 0:
        yield "there are labels"
    scores = _scores(model, none)
    if scores is not None and len(scores) != 0:
        yield "there are scores"


def _rows_that_it_does_not_take_end_in_a_model_error(
    model: Any, rows: Any
) -> Iterator[str]:
    if not isinstance(rows, np.ndarray) or rows.ndim < 2:
        return
    too_wide = np.concatenate([rows, rows], axis=-1)
    try:
        model.predict(too_wide)  # a model may take rows of any width
    except ModelError:
        pass
    except Exception as error:
        yield f"rows of shape {too_wide.shape[1:]} end in {type(error).__name__}"


_CHECKS: tuple[Callable[[Any, Any], Iterator[str]], ...] = (
    _one_label_for_each_row,
    _same_labels_when_asked_again,
    _same_label_alone_as_among_others,
    _same_labels_in_any_order,
    _scores_are_finite_and_have_a_column_for_each_class,
    _highest_score_is_that_of_the_label,
    _asking_does_not_change_the_rows,
    _takes_rows_of_numbers_in_any_layout,
    _an_empty_batch_gets_an_empty_answer,
    _rows_that_it_does_not_take_end_in_a_model_error,
)


def _promise(check: Callable[..., Any]) -> str:
    return check.__name__.replace("_", " ").strip()


def _scores(model: Any, rows: Any) -> Array | None:
    """Return a model's scores; None where it has none."""
    if not hasattr(model, "scores"):
        return None
    try:
        return np.asarray(model.scores(rows))
    except NoScores:
        return None


def _count_differences(expected: Any, found: Any) -> Iterator[str]:
    """Say in how many rows answers differ."""
    first, second = np.asarray(expected), np.asarray(found)
    if first.shape != second.shape:
        yield f"the answers have the shapes {first.shape} and {second.shape}"
        return
    changed = find_changed_answers(first, second)
    if changed.any():
        place = int(np.argmax(changed))
        yield (
            f"{np.count_nonzero(changed)} of {len(first)} answers differ, "
            f"as {first[place]} and {second[place]} for row {place}"
        )
