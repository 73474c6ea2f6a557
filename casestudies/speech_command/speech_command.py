"""Spoken commands: the test clips of Speech Commands and a network that knows 8 words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casestudies.speech_command.data import LENGTH, WORDS, Clips, load_clips
from casestudies.speech_command.spectrogram import BLOCK, SHAPE, spectrogram
from nomos import Domain, ModelError, batched, load_model, random
from nomos.domain import total
from nomos.domain.fields import Draws
from nomos.domain.show import Sound

HERE = Path(__file__).parent


class SpeechCommand(Domain):
    """Waveforms of one second at 16 kHz, and a network that hears one of eight words.

    Setting: `snr_db`, how many decibels the noise is below the clip.
    """

    classes = {"predict": range(len(WORDS))}  # noqa: RUF012 - it is read and never changed

    def __init__(
        self,
        model: str = str(HERE / "models" / "cnn.onnx"),
        snr_db: float = 20.0,
    ) -> None:
        self._clips: Clips = load_clips("test")
        self._model = load_model(model)
        self._snr_db = snr_db

    def inputs(self) -> np.ndarray:
        """Return the 16,000 samples of each clip of the official test split."""
        return self._clips.waveforms

    def labels(self) -> np.ndarray:
        """Return the number of each clip's word."""
        return self._clips.labels

    @batched
    @total
    def predict(self, sounds):
        """Return the number of the word that the network hears.

        A sound is a waveform or a spectrogram; one of another shape is an error.
        """
        if isinstance(sounds, np.ndarray):
            return self._predict_alike(sounds)
        return np.concatenate([self._predict_alike(sound[None]) for sound in sounds])

    def word(self, number: int) -> str:
        """Return the word of a number, as people write it."""
        return WORDS[number]

    @batched
    @random
    def wNoise(self, waveforms, draws):
        """Return waveforms with white noise, cut where no recording could go."""
        noisy = white_noise(waveforms, self._snr_db, draws)
        noisy += waveforms
        return np.clip(noisy, -1, 1, out=noisy)

    @batched
    @random
    def sNoise(self, waveforms, draws):
        """Return spectrograms of waveforms with white noise; no magnitude below 0."""
        clean = spectrogram(waveforms)
        clean += white_noise(clean, self._snr_db, draws)
        return np.maximum(clean, 0, out=clean)

    def show(self, record):
        """Show a waveform as a sound; a spectrogram shows itself, as a picture."""
        if getattr(record, "shape", None) == (LENGTH,):
            return Sound(record, LENGTH)
        return None

    def _predict_alike(self, sounds: np.ndarray) -> np.ndarray:
        """Answer for sounds of one shape, a block at a time."""
        answers = []
        for start in range(0, len(sounds), BLOCK):
            block = to_spectrograms(sounds[start : start + BLOCK])
            answers.append(self._model.predict(block))
        return np.concatenate(answers)


def to_spectrograms(sounds: np.ndarray) -> np.ndarray:
    """Return what the network reads, of waveforms or of spectrograms."""
    shape = sounds.shape[1:]
    if shape == (LENGTH,):
        return spectrogram(sounds)
    if shape == SHAPE:
        return sounds
    raise ModelError(
        f"a sound is {LENGTH} samples or a spectrogram of {SHAPE}, "
        f"and not of shape {shape}"
    )


def white_noise(signals: np.ndarray, snr_db: float, draws: Draws) -> np.ndarray:
    """Draw normal noise that is `snr_db` decibels below each signal's mean power.

    On silence there is none.
    """
    noise = draws.normal(signals.shape[1:])
    flat = signals.reshape(len(signals), -1)
    power = np.einsum("ij,ij->i", flat, flat) / np.float32(flat.shape[1])
    loudness = np.sqrt(power) * np.float32(10 ** (-snr_db / 20))
    noise *= loudness.reshape(-1, *[1] * (signals.ndim - 1))
    return noise
