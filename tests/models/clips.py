"""Seeded speech-like clips and the 10 band energies a keyword spotter reads."""

from __future__ import annotations

import numpy as np

SAMPLE_RATE = 16_000
FRAMES, BANDS = 50, 10


def clip(rng: np.random.Generator) -> np.ndarray:
    """One second of voiced syllables: a pulse train through moving formants, with noise."""
    n = SAMPLE_RATE
    t = np.arange(n) / SAMPLE_RATE
    pitch = rng.uniform(90, 230) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 4) * t + rng.uniform(0, 6)))
    phase = 2 * np.pi * np.cumsum(pitch) / SAMPLE_RATE
    voice = sum(np.sin(k * phase) / k for k in range(1, 16))
    signal = np.zeros(n)
    for base in (500, 1500, 2500):
        centre = base * rng.uniform(0.6, 1.5)
        carrier = np.cos(2 * np.pi * centre * t * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.5, 3) * t)))
        signal += voice * carrier * rng.uniform(0.2, 1.0)
    start, length = rng.uniform(0.0, 0.4), rng.uniform(0.3, 0.6)
    envelope = np.clip(np.minimum(t - start, start + length - t) / 0.05, 0, 1)
    return (signal * envelope * rng.uniform(0.05, 0.5) + rng.normal(0, 0.005, n)).astype(np.float32)


def features(signal: np.ndarray) -> np.ndarray:
    """Log energies of 10 mel bands on a scale of 0..255, 40 ms windows every 20 ms: float32 [1, 1, 50, 10]."""
    window, hop = 640, 320
    padded = np.pad(signal, (0, window))
    frames = np.stack([padded[i * hop : i * hop + window] for i in range(FRAMES)]) * np.hanning(window)
    power = np.abs(np.fft.rfft(frames, 1024)) ** 2
    decibels = 10 * np.log10(power @ _mel_filters().T + 1e-6)
    return np.clip(80 + 3.0 * decibels, 0, 255).astype(np.float32)[None, None]


def _mel_filters() -> np.ndarray:
    def mel(hertz: float) -> float:
        return 1127.0 * np.log1p(hertz / 700.0)

    edges = 700.0 * np.expm1(np.linspace(mel(20.0), mel(4000.0), BANDS + 2) / 1127.0)
    bins = np.arange(513) * SAMPLE_RATE / 1024
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return np.clip(np.minimum(rising, falling), 0, None)


def kws_inputs(count: int, seed: int) -> np.ndarray:
    """`count` seeded clips as network inputs: float32 [count, 1, 50, 10]."""
    rng = np.random.default_rng(seed)
    return np.concatenate([features(clip(rng)) for _ in range(count)])


def ad_inputs(count: int, seed: int) -> np.ndarray:
    """`count` seeded machine-noise spectrogram patches of the anomaly detector: float32 [count, 1, 5, 128]."""
    rng = np.random.default_rng(seed)
    slopes = np.linspace(190, 60, 128)
    bands = np.stack([slopes + rng.normal(0, 4, 128).cumsum() for _ in range(count)])
    noise = rng.normal(0, 8, (count, 1, 5, 128))
    return np.clip(bands[:, None, None] + noise, 0, 255).astype(np.float32)
