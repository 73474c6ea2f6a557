"""Turn the clips of Speech Commands v0.01 into waveforms of one second and their words.

Two archives will do: 8,000 clips of the eight words as Opus in a zip, with a manifest
that gives the official split of each; or the public archive of all clips as WAV, with
the official lists inside, of which the eight words are taken. The split is by speaker:
nobody who is heard in the test clips is heard in training.

A clip that is shorter than a second is followed by silence; of a longer one the first
second is kept. A clip at another rate than 16 kHz, of more than one channel or without
any sample is refused: to resample or mix it would be to test on other data than it says.

Decoding takes a while, so the waveforms of each split are kept in the cache folder.
"""

from __future__ import annotations

import csv
import io
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

import numpy as np

from casestudies.datasets import (
    DataFile,
    DataMissingError,
    Home,
    cache_folder,
    find,
    places,
)
from nomos.errors import DomainError

RATE = 16_000
LENGTH = RATE  # one second
# In the order of the alphabet, as in the tutorial that the paper's model follows.
WORDS = ("down", "go", "left", "no", "right", "stop", "up", "yes")

ZIP = DataFile(
    folder="speech",
    name="speech_commands_v0.01_8words_1000each_opus.zip",
    sha256="d3c549cc6bad0fd877957587bb085971f1111b6400d149bc22f9a4dc3a3e18a9",
)
MANIFEST = DataFile(
    folder="speech",
    name="manifest.csv",
    sha256="3bad7e1e88208a74455d86ef9d1717b036b9618f17eada8fb18714c5c23b2b7f",
)
PUBLIC = DataFile(
    folder="speech",
    name="speech_commands_v0.01.tar.gz",
    sha256="743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d",
    homes=(Home("http://download.tensorflow.org/data/speech_commands_v0.01.tar.gz"),),
)
LISTS = {"validation_list.txt": "validation", "testing_list.txt": "test"}
# Changes when what is kept in the cache does.
FORMAT = 1
INT16_SCALE = np.float32(32768)  # what decoders divide 16-bit samples by

Split = Literal["train", "validation", "test"]
Encoded = tuple[str, bytes]  # a clip's path in its archive, and its file


class Clips(NamedTuple):
    """Waveforms (n, 16000) as float32 in -1..1, and the number of each one's word."""

    waveforms: np.ndarray
    labels: np.ndarray


def load_clips(split: Split) -> Clips:
    """Load one official split, decoding it unless that was done before."""
    archive = find_archive()
    name = f"{archive.sha256[:12]}-{split}-{FORMAT}.npz"
    samples, labels = remembered(
        cache_folder() / "speech" / name,
        lambda: decode_all(read_archive(archive, split)),
    )
    return Clips(samples.astype(np.float32) / INT16_SCALE, labels)


def find_archive() -> DataFile:
    """Return which of the two archives is at hand.

    The public one is 1.4 GB, so it is not fetched unasked.
    """
    for file in (ZIP, PUBLIC):
        if any(path.is_file() for path in places(file)):
            return file
    folder = os.environ.get("NOMOS_DATA") or cache_folder()
    raise DataMissingError(
        f"no Speech Commands to be had: neither {ZIP.name} (with {MANIFEST.name}) nor "
        f"{PUBLIC.name} is in {folder}/speech; download {PUBLIC.homes[0]} (1.4 GB) "
        f"into {cache_folder() / 'speech'}, or set NOMOS_DATA to the folder that has "
        "speech/"
    )


def read_archive(archive: DataFile, split: Split) -> Iterator[Encoded]:
    """Yield the clips of one split of whichever archive it is."""
    path = find(archive)
    if archive is PUBLIC:
        return read_public(path, split)
    return read_zip(path, find(MANIFEST), split)


def read_zip(archive: Path, manifest: Path, split: Split) -> Iterator[Encoded]:
    """Yield the clips that the manifest says are in a split."""
    with (
        zipfile.ZipFile(archive) as zipped,
        manifest.open(newline="", encoding="utf-8") as lines,
    ):
        for record in csv.DictReader(lines):
            if record["orig_split"] == split:
                name = PurePosixPath(record["orig_path"]).with_suffix(".opus")
                yield str(name), zipped.read(str(name))


def read_public(archive: Path, split: Split) -> Iterator[Encoded]:
    """Yield the clips of the eight words that the archive's own lists put in a split.

    The clips come in the order of their names: that of the archive is by chance.
    """
    with tarfile.open(archive) as tarred:
        members = {m.name.removeprefix("./"): m for m in tarred if m.isfile()}

        def content(name: str) -> bytes:
            file = tarred.extractfile(members[name])
            assert file is not None  # it is a plain file
            return file.read()

        listed = {
            clip: of
            for name, of in LISTS.items()
            for clip in content(name).decode().split()
        }
        for name in sorted(members):
            if word_of(name) in WORDS and listed.get(name, "train") == split:
                yield name, content(name)


def word_of(name: str) -> str:
    """Return the word that is spoken in a clip: its folder."""
    return PurePosixPath(name).parent.name


def decode_all(clips: Iterable[Encoded]) -> Clips:
    """Decode clips to 16-bit samples, which is what decoders give."""
    samples, labels = [], []
    for name, encoded in clips:
        waveform = to_one_second(*decode(encoded, name=name), name=name)
        samples.append(to_int16(waveform))
        labels.append(WORDS.index(word_of(name)))
    return Clips(np.array(samples), np.array(labels, dtype=np.int64))


def decode(encoded: bytes, *, name: str) -> tuple[np.ndarray, int]:
    """Return the samples of a clip, one column a channel, and their rate."""
    try:
        import soundfile
    except ImportError as error:
        raise DomainError("clips need soundfile: pip install soundfile") from error
    try:
        return soundfile.read(io.BytesIO(encoded), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise DomainError(f"{name} is no readable clip: {error}") from error


def to_one_second(samples: np.ndarray, rate: int, *, name: str) -> np.ndarray:
    """Return exactly one second, or refuse a clip that is not what it should be."""
    length, channels = samples.shape
    if rate != RATE:
        raise DomainError(f"{name} is at {rate} Hz, and clips are at {RATE} Hz")
    if channels != 1:
        raise DomainError(f"{name} has {channels} channels, and clips have one")
    if length == 0:
        raise DomainError(f"{name} has no samples")
    waveform = np.zeros(LENGTH, dtype=np.float32)
    waveform[: min(length, LENGTH)] = samples[:LENGTH, 0]
    return waveform


def to_int16(waveform: np.ndarray) -> np.ndarray:
    """Return the 16-bit samples of a waveform, to keep it in half the space."""
    return np.clip(np.rint(waveform * INT16_SCALE), -32768, 32767).astype(np.int16)


def remembered(path: Path, decoded: Callable[[], Clips]) -> Clips:
    """Return the clips that are kept at `path`; decode and keep them if there are none.

    They get their name when they are whole, so another process sees all or none.
    """
    if not path.is_file():
        clips = decoded()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="decoding-") as folder:
            whole = Path(folder) / path.name
            np.savez(whole, samples=clips.waveforms, labels=clips.labels)
            whole.replace(path)
    with np.load(path) as arrays:
        return Clips(arrays["samples"], arrays["labels"])
