"""`nomos init` for a model of images: what it writes runs at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.domain.reading.images import read_images
from nomos.errors import DomainError
from nomos.scaffold.images import scaffold_images

MNIST = Path(__file__).parents[2] / "casestudies/mnist/models/nn.onnx"
RNG = np.random.default_rng(0)
BRIGHT = "def predict(images):\n    return (images.mean((1, 2, 3)) > 127).astype(int)\n"

WORDS = """import numpy as np

def predict(images):
    return np.where(images.mean((1, 2, 3)) > 127, "light", "dark")
"""


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def save(name: str, images: np.ndarray) -> str:
    np.save(name, images)
    return name


def test_bytes_reach_a_network_in_its_layout_and_range():
    pytest.importorskip("onnxruntime")
    shutil.copy(MNIST, "net.onnx")
    data = save("digits.npy", RNG.integers(0, 256, (30, 28, 28), dtype=np.uint8))
    done = nomos("init", "--model", "net.onnx", "--data", data)
    assert done.exit_code == 0, done.output
    assert "has 30 images, 28 by 28 uint8" in done.output
    assert "divided by 255: if it was trained on something else" in done.output
    assert "Next: nomos run specs" in done.output
    written = Path("digits.py").read_text()
    assert "images = images / np.float32(255)" in written
    assert nomos("check", "specs", "--strict").exit_code == 0
    run = nomos("run", "specs", "--budget", "20", "--no-store")
    assert run.exit_code in (0, 1), run.output
    assert "crashed" not in run.output.replace("crashed=0", "")


def test_a_function_gets_images_as_they_are_and_a_constant_answer_is_told(folder):
    Path("bright.py").write_text(BRIGHT)
    data = save("photos.npy", np.full((9, 8, 8, 3), 200, np.uint8))
    made = scaffold_images("bright:predict", Path(data), folder)
    assert "return self.model.predict(images)" in made.files["photos.py"]
    assert made.notes[-1].startswith("it answers 1 for each of 9 images")


def test_pixels_of_another_range_get_specs_without_noise_and_light(folder):
    Path("bright.py").write_text(BRIGHT)
    data = save("scans.npy", RNG.random((9, 8, 8, 3)) * 16)
    made = scaffold_images("bright:predict", Path(data), folder)
    assert {"specs/shifted.nom", "specs/blurred.nom", "scans.py"} == set(made.files)
    assert any("its pixels go from 0" in note for note in made.notes)


def test_images_that_the_network_does_not_take_are_refused():
    pytest.importorskip("onnxruntime")
    data = save("photos.npy", np.zeros((9, 8, 8, 3), np.uint8))
    done = nomos("init", "--model", str(MNIST), "--data", data)
    assert done.exit_code != 0
    assert "holds images of shape (8, 8, 3), and" in str(done.exception)


def test_what_holds_no_images_is_refused(folder):
    np.savez("many.npz", a=np.zeros((2, 8, 8)))
    Path("damaged.npy").write_bytes(b"\x93NUMPY")
    Path("empty").mkdir()
    told = {
        save("rows.npy", np.zeros((5, 64))): r"shape \(5, 64\).*read from CSV",
        save("none.npy", np.zeros((0, 8, 8))): "shape",
        "many.npz": "several arrays",
        "damaged.npy": "no readable .npy file",
        "empty": "holds no images",
    }
    for name, words in told.items():
        with pytest.raises(DomainError, match=words):
            read_images(name)


def test_a_folder_has_its_labels_in_the_names_of_its_folders(folder):
    pillow = pytest.importorskip("PIL.Image")
    for label, light in (("dark", 20), ("light", 230)):
        (folder / "photos" / label).mkdir(parents=True)
        for number in range(210):
            pixels = np.full((8, 8, 3), light + number // 20, np.uint8)
            pillow.fromarray(pixels).save(folder / "photos" / label / f"{number}.png")
    Path("bright.py").write_text(BRIGHT)
    made = scaffold_images("bright:predict", Path("photos"), folder)
    assert "it is right for 200 of 200 images" in made.notes[-1]
    assert not any("for each of" in note for note in made.notes)
    assert "def labels(self)" in made.files["photos.py"]
    Path("words.py").write_text(WORDS)
    made = scaffold_images("words:predict", Path("photos"), folder)
    assert "it is right for 200 of 200 images" in made.notes[-1]
    assert "read_image_labels(data, as_names=True)" in made.files["photos.py"]
    pillow.fromarray(np.zeros((9, 8), np.uint8)).save(folder / "photos/dark/odd.png")
    with pytest.raises(DomainError, match=r"odd\.png has the shape \(9, 8\), and"):
        read_images("photos")


def test_pixels_are_read_as_they_are_or_refused(folder, monkeypatch):
    pillow = pytest.importorskip("PIL.Image")
    grey, indexed = pillow.new("L", (4, 4), 7), pillow.new("P", (4, 4))
    indexed.putpalette([1, 2, 3, 200, 0, 0])
    indexed.putpixel((0, 1), 1)
    frames = {"save_all": True, "append_images": [pillow.new("L", (4, 4), 9)]}
    clear = "colours that are transparent"
    for name, image, how, words in (
        ("grey.png", grey, {}, ""),
        ("indexed.png", indexed, {}, ""),
        ("one.png", indexed, {"transparency": 0}, clear),
        ("some.png", indexed, {"transparency": bytes([0, 128])}, clear),
        ("light.png", grey, {"transparency": 7}, clear),
        ("moves.gif", grey, frames, "several images"),
        ("pages.tiff", grey, frames, "several images"),
        ("bits.png", pillow.new("1", (4, 4)), {}, "mode 1"),
    ):
        (folder / name).mkdir()
        image.save(folder / name / name, **how)
        if words:
            with pytest.raises(DomainError, match=words):
                read_images(name)
        else:
            pixels = np.asarray(image.convert("L" if image is grey else "RGB"))
            assert (read_images(name)[0] == pixels).all()
    monkeypatch.setattr(pillow, "MAX_IMAGE_PIXELS", 7)
    with pytest.raises(DomainError, match="no readable image"):
        read_images("grey.png")
