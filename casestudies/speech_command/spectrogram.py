"""Turn waveforms into spectrograms: how loud each frequency is, moment by moment.

Frames of 255 samples, 128 apart, under a Hann window, padded to 256 for the Fourier
transform: 124 frames of 129 magnitudes for a second, 62.5 Hz apart.
"""

from __future__ import annotations

import numpy as np

FRAME, STEP, TRANSFORM = 255, 128, 256
SHAPE = (124, 129)  # of one second at 16 kHz
# A spectrogram with what leads to it is 0.4 MB; this many stay near the processor.
BLOCK = 64
WINDOW = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)).astype(np.float32)


def spectrogram(waveforms: np.ndarray) -> np.ndarray:
    """Return the magnitudes (n, frames, frequencies) of waveforms (n, samples).

    Each row's answer is the same, bit for bit, whatever other rows there are.
    """
    frames = np.lib.stride_tricks.sliding_window_view(waveforms, FRAME, axis=1)
    frames = frames[:, ::STEP]
    # Padded here: the transform would make its own padded copy of the windowed frames.
    windowed = np.zeros((*frames.shape[:2], TRANSFORM), dtype=np.float32)
    np.multiply(frames, WINDOW, out=windowed[:, :, :FRAME])
    transformed = np.fft.rfft(windowed)
    # Faster than `abs`, which guards against overflows that sounds cannot cause.
    power = transformed.real**2
    power += transformed.imag**2
    return np.sqrt(power, out=power)
