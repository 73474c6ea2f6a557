"""A first project for a model of images: how it takes them is found out by asking it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.reading.images import read_image_labels, read_images
from nomos.errors import NomosError
from nomos.models import load_model
from nomos.models.adapter import OutputModel
from nomos.models.load import FunctionModel
from nomos.report.texts import count_of
from nomos.scaffold import (
    ASKED,
    ProjectFiles,
    SampleAnswers,
    fill_domain,
    load_template,
    sample_answers,
    to_identifier,
)
from nomos.scaffold.columns import can_answer

_COLOURS = (1, 3, 4)
_LAYOUTS: dict[str, Callable[[Array], Array]] = {  # the likeliest first
    "np.moveaxis(images, 3, 1)": lambda x: np.moveaxis(x, 3, 1),
    "images[:, None]": lambda x: x[:, None],
    "images": lambda x: x,
    "images[..., None]": lambda x: x[..., None],
    "images.reshape(len(images), -1)": lambda x: x.reshape(len(x), -1),
}
_CHANGES = (  # a name, its amount, what it makes of x1, what it is called
    ("noisy", "randInt(1, 5)", "noisy(x1, amount, randInt(0, 9999))", "A little noise"),
    ("brighter", "randInt(-10, 10)", "brighter(x1, amount)", "A little more light"),
    ("shifted", "randInt(-1, 1)", "shifted(x1, amount, 0)", "A pixel up or down"),
    ("blurred", "randInt(1, 8) / 10", "blurred(x1, amount)", "A little blur"),
)
_ANY_RANGE = ("shifted", "blurred")  # changes for which white does not matter
_LABELS = """
    def labels(self):
        \"\"\"Return what is right for each image, by the name of its folder.\"\"\"
        return self._labels
"""


def are_images(data: Path) -> bool:
    """Tell whether data is taken for images."""
    return data.is_dir() or data.suffix in (".npy", ".npz")


def scaffold_images(model: str, data: Path, folder: Path) -> ProjectFiles:
    """Return a domain and specs for a model file and images."""
    images, loaded = read_images(data), load_model(model)
    by_255 = images.dtype.kind in "iu" and _takes_reals(loaded)
    # From all over: images of a folder come one class after the other.
    places = np.linspace(0, len(images) - 1, min(len(images), ASKED)).astype(int)
    asked = images[places] / np.float32(255) if by_255 else images[places]
    given, code = _choose_layout(loaded, asked, model, data)
    answers, problem = sample_answers(loaded, given)
    as_names = bool(answers.word)
    labels = read_image_labels(data, as_names=as_names) if data.is_dir() else []
    more = ", as_names=True" * as_names
    read = f"read_image_labels(data{more})" if len(set(labels)) > 1 else ""
    module = to_identifier(data.stem)
    low, high = float(images.min()), float(images.max())
    in_range = images.dtype == np.uint8 or (low >= 0 and high <= 1)
    files = {f"{module}.py": _image_domain(model, data, folder, (code, by_255), read)}
    files |= dict(_image_specs(module, answers, in_range))
    shape = " by ".join(map(str, images.shape[1:]))
    notes = [f"{data} has {count_of(len(images), 'image')}, {shape} {images.dtype}"]
    notes.append(
        f"the model gets `{code}`{', divided by 255' if by_255 else ''}: if it was"
        f" trained on something else, mend `predict` in {module}.py"
    )
    if not in_range:
        notes.append(
            f"its pixels go from {low:g} to {high:g}: for noise and light give"
            " 0 to 1, or 0 to 255 in uint8"
        )
    if not problem:
        own = [labels[place] for place in places] if read else None
        notes += _note_doubts(np.asarray(loaded.predict(given)), own)
    return ProjectFiles(files, (*notes, *problem))


def _takes_reals(model: Any) -> bool:
    """Tell whether a network takes reals; pixels in bytes are then hardly what it saw."""
    is_network = isinstance(model, OutputModel)
    return is_network and (model.dtype is None or np.dtype(model.dtype).kind == "f")


def _note_doubts(answered: Array, labels: list[Any] | None) -> Iterator[str]:
    """Yield what a reader can see of the answers: are the images what was trained on?"""
    if len(answered) > 1 and (answered == answered[0]).all():
        yield f"it answers {answered[0]} for each of {len(answered)} images: is it given the right ones?"
    if labels is not None:
        right = int(np.count_nonzero(answered == np.array(labels)))
        yield f"it is right for {right} of {len(answered)} images, by the names of their folders"


def _choose_layout(
    model: Any, images: Array, name: str, data: Path
) -> tuple[Array, str]:
    """Return images in the layout that a model takes, and the expression for it."""
    if isinstance(model, FunctionModel):
        return images, "images"
    wanted = model.shape[1:] or (() if model.width is None else (model.width,))
    for code, change in _LAYOUTS.items():
        if "moveaxis" in code and images.shape[3:] not in [(n,) for n in _COLOURS]:
            continue
        laid = change(images)
        fits = wanted and _fits_shape(laid.shape[1:], wanted)
        if fits or (not wanted and can_answer(model, laid[:2])):
            return laid, code
    size = ", ".join("any" if w is None else str(w) for w in wanted)
    raise NomosError(
        f"{data} holds images of shape {images.shape[1:]}, and {name} "
        + (f"takes ({size})" if wanted else "answers them in no usual layout")
        + ": give images as in its training, or a function that prepares them"
        " (module:function)"
    )


def _fits_shape(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w in (None, size) for w, size in zip(wanted, shape, strict=True)
    )


def _image_domain(
    model: str, data: Path, folder: Path, given: tuple[str, bool], labels: str
) -> str:
    code, by_255 = given
    return fill_domain(
        "images",
        *(model, data, folder),
        code=code,
        scale="        images = images / np.float32(255)\n" if by_255 else "",
        numpy="import numpy as np\n\n" if by_255 or "np." in code else "",
        readers="read_image_labels, read_images" if labels else "read_images",
        read_labels=f"\n        self._labels = {labels}" if labels else "",
        labels=_LABELS if labels else "",
    )


def _image_specs(
    module: str, answers: SampleAnswers, in_range: bool
) -> Iterator[tuple[str, str]]:
    alike, by = answers.alike_condition()
    for name, amount, change, what in _CHANGES:
        if in_range or name in _ANY_RANGE:
            text = load_template("changed").format(
                what=what,
                by=by,
                module=module,
                amount=amount,
                change=change,
                ensures=alike.replace("d3", "d2"),
            )
            yield f"specs/{name}.nom", text
