"""Images: a .npy file of them, or a folder of image files, as one array."""

from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import DomainError

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"}
_MODES = ("L", "P", "RGB", "RGBA")  # bytes as they are in the file, or of its palette


def read_images(path: str | Path) -> Array:
    """Return images (n, height, width), with colours in a last axis where there are any.

    Those of a folder are in the order of their names.
    """
    path = Path(path)
    images = _load_folder(path) if path.is_dir() else _load_array(path)
    if images.ndim not in (3, 4) or images.dtype.kind not in "iuf" or not len(images):
        raise DomainError(
            f"{path} holds {images.dtype} of shape {images.shape}, and images are numbers"
            " (n, height, width) or with three colours; rows of a table are read from CSV"
        )
    return images


def read_image_labels(folder: str | Path, *, as_names: bool = False) -> list[Any]:
    """Return for each image of a folder the name of its own folder, or its place.

    The places are those of the names in alphabetic order.
    """
    names = [path.parent.name for path in _paths(Path(folder))]
    if as_names:
        return names
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return [places[name] for name in names]


def _paths(folder: Path) -> list[Path]:
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in _ENDINGS)
    if not found:
        raise DomainError(f"{folder} holds no images, such as .png or .jpg files")
    return found


def _load_array(path: Path) -> Array:
    try:
        read: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DomainError(f"{path} is no readable .npy file: {error}") from None
    if not isinstance(read, np.ndarray):
        raise DomainError(f"{path} holds several arrays: save the images with np.save")
    return read


def _load_folder(folder: Path) -> Array:
    images = {path: _load_file(path) for path in _paths(folder)}
    (first, image), *others = images.items()
    for path, other in others:
        if other.shape != image.shape:
            raise DomainError(
                f"{path} has the shape {other.shape}, and {first} {image.shape}: make"
                " them one size, with or without colours, as in the model's training"
            )
    return np.stack(list(images.values()))


def _load_file(path: Path) -> Array:
    try:
        from PIL import Image
    except ImportError:
        raise DomainError("image files need Pillow: pip install pillow") from None
    try:
        with Image.open(path) as image:
            # The colours of a palette are its pixels; what else a file says is refused.
            problem = "" if image.mode in _MODES else f"pixels of mode {image.mode}"
            if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":
                problem = "several images in it"
            elif (
                "transparency" in image.info
                or getattr(image.palette, "mode", "") == "RGBA"
            ):
                problem = "colours that are transparent"
            if problem:
                raise DomainError(
                    f"{path} has {problem}, and a single image of mode {', '.join(_MODES)}"
                    " is read: save it as one"
                )
            return np.array(image.convert("RGB") if image.mode == "P" else image)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DomainError(f"{path} is no readable image: {error}") from None
