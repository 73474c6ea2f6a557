"""Speech commands: clips that are right or wrong, spectrograms, noise, the network."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from casestudies.datasets import DataMissingError
from casestudies.speech_command.data import (
    LENGTH,
    RATE,
    WORDS,
    Clips,
    decode,
    decode_all,
    find_archive,
    read_public,
    read_zip,
    remembered,
    to_int16,
    to_one_second,
)
from casestudies.speech_command.spectrogram import (
    FRAME,
    SHAPE,
    STEP,
    WINDOW,
    spectrogram,
)
from casestudies.speech_command.speech_command import (
    HERE,
    SpeechCommand,
    to_spectrograms,
    white_noise,
)
from nomos import DomainError, ModelError
from nomos.domain.fields import Draws


def tone(frequency: float, *, samples: int = LENGTH) -> np.ndarray:
    moments = np.arange(samples) / RATE
    return (0.5 * np.sin(2 * np.pi * frequency * moments)).astype(np.float32)


def test_a_short_clip_is_followed_by_silence() -> None:
    waveform = to_one_second(np.full((9000, 1), 0.5), RATE, name="yes/a.wav")
    assert waveform.shape == (LENGTH,)
    assert (waveform[:9000] == 0.5).all()
    assert not waveform[9000:].any()


def test_of_a_long_clip_the_first_second_is_kept() -> None:
    samples = np.arange(20_000, dtype=np.float32)[:, None]
    assert np.array_equal(
        to_one_second(samples, RATE, name="yes/a.wav"), samples[:LENGTH, 0]
    )


@pytest.mark.parametrize(
    ("shape", "rate", "complaint"),
    [
        ((8000, 1), 8000, "yes/a.wav is at 8000 Hz, and clips are at 16000 Hz"),
        ((16000, 2), RATE, "yes/a.wav has 2 channels, and clips have one"),
        ((0, 1), RATE, "yes/a.wav has no samples"),
    ],
)
def test_a_clip_of_another_rate_or_kind_is_refused_by_name(
    shape: tuple[int, int], rate: int, complaint: str
) -> None:
    with pytest.raises(DomainError, match=complaint):
        to_one_second(np.zeros(shape, dtype=np.float32), rate, name="yes/a.wav")


def test_samples_of_sixteen_bits_are_kept_exactly() -> None:
    every = np.arange(-32768, 32768, dtype=np.int32)
    assert np.array_equal(to_int16((every / 32768).astype(np.float32)), every)


def wav(samples: np.ndarray, *, rate: int = RATE) -> bytes:
    soundfile = pytest.importorskip("soundfile")
    out = io.BytesIO()
    soundfile.write(out, samples, rate, format="WAV", subtype="PCM_16")
    return out.getvalue()


def test_a_made_clip_is_decoded_with_the_label_of_its_folder() -> None:
    clips = decode_all(
        [("stop/a.wav", wav(tone(440))), ("go/b.wav", wav(tone(880, samples=500)))]
    )
    assert clips.labels.tolist() == [WORDS.index("stop"), WORDS.index("go")]
    assert clips.waveforms.dtype == np.int16
    assert clips.waveforms.shape == (2, LENGTH)
    assert np.abs(clips.waveforms[0] / 32768 - tone(440)).max() < 1 / 32768


def test_a_clip_of_another_rate_is_refused_when_decoded() -> None:
    with pytest.raises(DomainError, match=r"no/slow\.wav is at 44100 Hz"):
        decode_all([("no/slow.wav", wav(tone(440), rate=44_100))])


def test_a_file_that_is_no_sound_is_refused_by_name() -> None:
    pytest.importorskip("soundfile")
    with pytest.raises(DomainError, match=r"up/broken\.opus is no readable clip"):
        decode(b"this is no sound", name="up/broken.opus")


MANIFEST = """\
orig_path,label,speaker,orig_split,frames
yes/a_nohash_0.wav,yes,a,train,16000
no/b_nohash_0.wav,no,b,test,16000
go/c_nohash_1.wav,go,c,test,16000
"""


def test_the_manifest_says_which_clips_are_in_a_split(tmp_path: Path) -> None:
    archive, manifest = tmp_path / "clips.zip", tmp_path / "manifest.csv"
    manifest.write_text(MANIFEST)
    with zipfile.ZipFile(archive, "w") as zipped:
        for name in ("yes/a_nohash_0", "no/b_nohash_0", "go/c_nohash_1"):
            zipped.writestr(f"{name}.opus", name)
    assert list(read_zip(archive, manifest, "test")) == [
        ("no/b_nohash_0.opus", b"no/b_nohash_0"),
        ("go/c_nohash_1.opus", b"go/c_nohash_1"),
    ]


def test_the_public_archive_says_itself_which_clips_are_in_a_split(
    tmp_path: Path,
) -> None:
    files = {
        "./testing_list.txt": b"yes/b.wav\nbed/x.wav\n",
        "./validation_list.txt": b"go/c.wav\n",
        "./yes/b.wav": b"b",
        "./yes/a.wav": b"a",
        "./go/c.wav": b"c",
        "./bed/x.wav": b"x",
        "./_background_noise_/hum.wav": b"hum",
    }
    archive = tmp_path / "speech.tar.gz"
    with tarfile.open(archive, "w:gz") as tarred:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tarred.addfile(member, io.BytesIO(content))
    assert list(read_public(archive, "test")) == [("yes/b.wav", b"b")]
    assert list(read_public(archive, "validation")) == [("go/c.wav", b"c")]
    assert list(read_public(archive, "train")) == [("yes/a.wav", b"a")]


def test_clips_are_decoded_once(tmp_path: Path) -> None:
    calls = []

    def decoded() -> Clips:
        calls.append(1)
        return Clips(np.ones((2, LENGTH), dtype=np.int16), np.array([3, 1]))

    for _ in range(2):
        clips = remembered(tmp_path / "speech" / "test.npz", decoded)
        assert clips.labels.tolist() == [3, 1]
        assert clips.waveforms.sum() == 2 * LENGTH
    assert calls == [1]
    assert [path.name for path in (tmp_path / "speech").iterdir()] == ["test.npz"]


def test_a_decoding_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def decoded() -> Clips:
        raise DomainError("broken")

    path = tmp_path / "test.npz"
    with pytest.raises(DomainError, match="broken"):
        remembered(path, decoded)
    assert not path.exists()


def test_without_data_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOMOS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataMissingError, match=r"download http.*tar\.gz \(1\.4 GB\)"):
        find_archive()


def test_a_tone_is_loudest_at_its_own_frequency_all_the_time() -> None:
    magnitudes = spectrogram(tone(1000)[None])
    assert magnitudes.shape == (1, *SHAPE)
    assert magnitudes.dtype == np.float32
    assert (magnitudes[0].argmax(axis=1) == 1000 / 62.5).all()


def test_a_frame_is_the_windowed_fourier_sum_of_its_samples() -> None:
    waveform = np.random.default_rng(0).uniform(-1, 1, LENGTH).astype(np.float32)
    start = 77 * STEP
    frame = waveform[start : start + FRAME].astype(np.float64) * WINDOW
    angles = 2 * np.pi * np.outer(np.arange(129), np.arange(FRAME)) / 256
    by_hand = np.abs(np.exp(-1j * angles) @ frame)
    assert spectrogram(waveform[None])[0, 77] == pytest.approx(by_hand, abs=1e-4)


def test_a_spectrogram_does_not_depend_on_the_other_clips() -> None:
    waveforms = np.random.default_rng(0).random((30, LENGTH), dtype=np.float32)
    alone = np.concatenate([spectrogram(waveform[None]) for waveform in waveforms])
    assert np.array_equal(spectrogram(waveforms), alone)


@pytest.mark.parametrize("snr_db", [0.0, 20.0])
def test_noise_is_as_many_decibels_below_the_signal_as_asked(snr_db: float) -> None:
    signal = tone(440)
    noise = white_noise(signal[None], snr_db, Draws([0]))[0]
    measured = 10 * np.log10(np.mean(signal**2) / np.mean(noise**2))
    assert noise.dtype == np.float32
    assert measured == pytest.approx(snr_db, abs=0.2)
    assert abs(noise.mean()) < noise.std() / 30


def test_the_same_seed_gives_the_same_noise_and_another_seed_other_noise() -> None:
    first, again, other = (
        white_noise(tone(440)[None], 20, Draws([seed])) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_silence_stays_silent() -> None:
    silence = np.zeros(LENGTH, dtype=np.float32)
    assert not white_noise(silence[None], 20, Draws([0])).any()


@pytest.mark.parametrize("shape", [(15_999,), (124, 128), (2, LENGTH)])
def test_a_sound_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="a sound is 16000 samples or a spectrogram"):
        to_spectrograms(np.zeros((3, *shape), dtype=np.float32))


@pytest.fixture
def domain() -> SpeechCommand:
    """Return the real domain, or skip with the loader's own message."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("soundfile")
    match real_domain():
        case SpeechCommand() as domain:
            return domain
        case missing:
            pytest.skip(str(missing))


@cache
def real_domain() -> SpeechCommand | DataMissingError:
    try:
        return SpeechCommand()
    except DataMissingError as missing:
        return missing


def read_card() -> dict[str, dict[str, float]]:
    return json.loads((HERE / "models" / "card.json").read_text(encoding="utf-8"))


def test_the_inputs_are_the_official_test_clips(domain: SpeechCommand) -> None:
    waveforms = domain.inputs()
    assert waveforms.shape == (read_card()["rows"]["test"], LENGTH)
    assert waveforms.dtype == np.float32
    assert -1 <= waveforms.min() < -0.5 < 0.5 < waveforms.max() <= 1


def test_the_labels_are_the_words_that_are_spoken(domain: SpeechCommand) -> None:
    counts = np.bincount(domain.labels(), minlength=len(WORDS))
    assert counts.tolist() == [115, 106, 117, 93, 110, 98, 118, 114]
    assert domain.word(0) == "down"


def test_the_network_is_as_accurate_as_its_card_says_and_as_the_paper_asks(
    domain: SpeechCommand,
) -> None:
    right = domain.predict.many(domain.inputs()) == domain.labels()
    # A clip in the balance may fall either way with another processor's rounding.
    assert float(right.mean()) == pytest.approx(
        read_card()["accuracy"]["test"], abs=0.003
    )
    assert right.mean() >= 0.84


def test_one_clip_is_heard_as_it_is_among_others(domain: SpeechCommand) -> None:
    clips = domain.inputs()[:80]
    together = domain.predict.many(clips).tolist()
    assert [domain.predict(clip) for clip in clips] == together


def test_waveforms_and_spectrograms_are_heard_alike_even_in_one_batch(
    domain: SpeechCommand,
) -> None:
    clips = domain.inputs()[:4]
    mixed = [clips[0], *spectrogram(clips[1:3]), clips[3]]
    assert domain.predict.many(mixed).tolist() == domain.predict.many(clips).tolist()


def test_noise_makes_a_new_waveform_and_leaves_the_clip_alone(
    domain: SpeechCommand,
) -> None:
    clip = domain.inputs()[0]
    before = clip.copy()
    noisy = domain.wNoise(clip, np.random.default_rng(0))
    assert noisy.shape == clip.shape
    assert noisy.dtype == np.float32
    assert -1 <= noisy.min() < noisy.max() <= 1
    assert np.array_equal(clip, before)
    assert not np.array_equal(noisy, clip)


def test_noise_on_the_spectrogram_makes_no_negative_magnitudes(
    domain: SpeechCommand,
) -> None:
    noisy = domain.sNoise(domain.inputs()[0], np.random.default_rng(0))
    assert noisy.shape == SHAPE
    assert noisy.dtype == np.float32
    assert noisy.min() == 0
    assert domain.predict(noisy) in range(len(WORDS))


def test_the_committed_model_is_small() -> None:
    assert (HERE / "models" / "cnn.onnx").stat().st_size <= 3_000_000
