"""Measure why our numbers for reviews and speech differ from the paper's.

    python -m casestudies.paper_media [hotel_review] [speech_command]

The first implementation of the paper numbers the labels of reviews in the order of the
alphabet (bad is 0, good is 1), while its properties take 0 for a positive review: each
says the opposite of its name. And its labels of spoken commands are all 0. Here both are
done to our models, beside what the properties mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from casestudies.paper_tables import Grid
from casestudies.published import HOTEL_REVIEW, SPEECH_COMMAND

if TYPE_CHECKING:
    from casestudies.hotel_review.data import Review
    from casestudies.hotel_review.hotel_review import HotelReview
    from casestudies.speech_command.speech_command import SpeechCommand

PAIRS = 5000  # of reviews, drawn for the properties over two; and the paper's budget
DRAWS = 10  # of noise for each clip
SIGMA = 0.05  # of the first implementation's noise, on magnitudes of a spectrogram
Array = np.ndarray


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"some of: {', '.join(TABLES)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - TABLES.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    for case in arguments.cases or TABLES:
        print(TABLES[case]().as_text(), end="\n\n", flush=True)


def hotel_table() -> Grid:
    """Say how often each property fails, and how often its opposite does."""
    from casestudies.hotel_review.hotel_review import HERE, HotelReview

    paper = HOTEL_REVIEW.models[0].bugs
    shares = []
    for encoding in ("joined", "parts"):
        model = HERE / "models" / f"{encoding}.onnx"
        shares.append(hotel_shares(HotelReview(str(model), encoding)))
    rows = [
        (
            title,
            f"{paper[name] / PAIRS:.1%}",
            *(f"{share:.1%}" for both in shares for share in both[name]),
        )
        for name, title in HOTEL_REVIEW.properties.items()
    ]
    return Grid(
        "Hotel reviews: the properties, and their opposites",
        ("Property", "paper", *(f"{e}: {w}" for e in ENCODINGS for w in WAYS)),
        tuple(rows),
        note="The share of cases that fail. Pos-1 and Neg-1: all held-out reviews; "
        f"Pos-2 and Neg-2: {PAIRS:,} pairs of them, drawn at random.",
    )


ENCODINGS = ("joined", "parts")
WAYS = ("as meant", "labels swapped")


def hotel_shares(domain: HotelReview) -> dict[str, tuple[float, float]]:
    """Return for each property the share of failures, and that of its opposite."""
    reviews = domain.inputs()
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(reviews), size=(2, PAIRS)).tolist()

    def answers(changed: list[Review]) -> Array:
        return np.asarray(domain.predict.many(changed))

    def without(part: str) -> Array:
        return answers([review._replace(**{part: ""}) for review in reviews])

    def with_more(part: str) -> Array:
        texts = [getattr(review, part) for review in reviews]
        changed = [
            reviews[one]._replace(**{part: domain.strConcat(texts[one], texts[other])})
            for one, other in zip(first, second, strict=True)
        ]
        return answers(changed)

    before = answers(reviews)
    # 0 is positive. What a property forbids comes first, what its opposite does second.
    return {
        "pos_1": _falls_and_rises(before, without("positive")),
        "pos_2": _falls_and_rises(before[first], with_more("positive"))[::-1],
        "neg_1": _falls_and_rises(before, without("negative"))[::-1],
        "neg_2": _falls_and_rises(before[first], with_more("negative")),
    }


def _falls_and_rises(before: Array, after: Array) -> tuple[float, float]:
    return float((after < before).mean()), float((after > before).mean())


def speech_table() -> Grid:
    """Say how many of 5000 cases fail with other noise and other labels."""
    from casestudies.speech_command.data import WORDS
    from casestudies.speech_command.spectrogram import spectrogram
    from casestudies.speech_command.speech_command import SpeechCommand, white_noise
    from nomos.domain.fields import Draws

    domain = SpeechCommand()
    clips, labels = domain.inputs(), domain.labels()
    clean = spectrogram(clips)
    heard = _hear(domain, clips)
    rng = np.random.default_rng(0)
    wanted = [labels, *(np.full_like(labels, number) for number in range(len(WORDS)))]

    def on_the_clip() -> Array:
        draws = Draws(rng.integers(2**62, size=len(clips)))
        return np.clip(clips + white_noise(clips, 20.0, draws), -1, 1)

    def on_the_spectrogram() -> Array:
        noise = rng.standard_normal(clean.shape, dtype=np.float32)
        return clean + np.float32(SIGMA) * noise

    def failures(noisy: Callable[[], Array]) -> list[str]:
        answers = [_hear(domain, noisy()) for _ in range(DRAWS)]
        shares = [
            np.mean([((a == label) & (heard != label)).mean() for a in answers])
            for label in wanted
        ]
        return [f"{share * PAIRS:.1f}" for share in shares]

    names = ("the clip's own", *(f"always {word}" for word in WORDS))
    columns = (names, failures(on_the_clip), failures(on_the_spectrogram))
    paper = SPEECH_COMMAND.models[0].bugs["w_noise"]
    return Grid(
        "Spoken commands: bugs of WNoise in 5000 cases",
        ("Label", "noise: 20 dB below the clip", f"noise: sigma {SIGMA} on magnitudes"),
        tuple(zip(*columns, strict=True)),
        note=f"Each of the {len(clips)} test clips with {DRAWS} draws of noise; "
        f"the paper has {paper}.",
    )


def _hear(domain: SpeechCommand, sounds: Array) -> Array:
    return np.asarray(domain.predict.many(sounds))


TABLES = {"hotel_review": hotel_table, "speech_command": speech_table}


if __name__ == "__main__":
    main()
