# SPDX-License-Identifier: BSL-1.0
"""Makes the file that the foreground job of perf_wq encodes: the same one on every machine."""

import array
import math
import random
import wave

RATE, SECONDS_OF_PART = 44_100, 10


def part():
    """Ten seconds of two channels: tones that rise, and noise."""
    noise = random.Random(1)
    samples = array.array("h")
    for i in range(RATE * SECONDS_OF_PART):
        t = i / RATE
        tone = 9_000 * math.sin(2 * math.pi * t * (200 + 150 * t)) + 6_000 * math.sin(2 * math.pi * 1_250 * t)
        samples.extend((int(tone + noise.uniform(-4_000, 4_000)), int(tone / 2 + noise.uniform(-9_000, 9_000))))
    return samples.tobytes()


def make(path, seconds):
    """Writes a WAV file of so many seconds, a multiple of ten."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with wave.open(str(unfinished), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        one = part()
        for _ in range(seconds // SECONDS_OF_PART):
            file.writeframes(one)
    unfinished.rename(path)


def make_once(path, seconds):
    """Makes it unless it is there."""
    if not path.exists():
        make(path, seconds)
