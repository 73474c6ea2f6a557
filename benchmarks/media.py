"""Images and sounds: cases per second of Nomos, of single calls, and of the bare model.

    python -m benchmarks.media [--cases 20000] [mnist] [speech_command]

One run, CPU seconds. "Single" calls the same functions on one record at a time, as a
plain loop would; "bare" calls the model in batches on the two records of each case.
The goal is 200 times the single rate, or 90 % of the bare rate, whichever is less.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import nomos
from benchmarks.throughput import Stopwatch

SPECS = {"mnist": "blur", "speech_command": "w_noise"}
_BARE = 2000  # records that the bare model is timed on
_SINGLE = 100  # cases of the plain loop; it is slow, and a rate is all that is wanted


def measure(name: str, cases: int) -> None:
    """Print the figures of one case study."""
    path = Path("casestudies") / name / "specs" / f"{SPECS[name]}.nom"
    watch = Stopwatch()
    more = {"store": False, "search": "random", "handlers": [watch]}
    more |= {"groups": False, "shrink": False}  # they cost the same for any length
    nomos.run(path, budget=1000, seed=1, **more)  # warm
    nomos.run(path, budget=_SINGLE, mode="sequential", confirm=1, **more)
    single = watch.seconds / _SINGLE * cases
    result = nomos.run(path, budget=cases, **more)
    ours = watch.seconds
    assert result.live is not None
    domain = result.live.domain
    part = np.asarray(domain.inputs()[:500])
    began = time.process_time()
    for _ in range(0, _BARE, len(part)):
        domain.predict.many(part)  # type: ignore[attr-defined]  # both case studies have it
    bare = (time.process_time() - began) / _BARE * 2 * cases
    print(f"{name}: {cases} cases")
    print(f"  single calls, cases/s   {cases / single:>12,.0f}")
    print(
        f"  Nomos, cases/s          {cases / ours:>12,.0f}   {single / ours:.1f}x single"
    )
    print(
        f"  bare model, cases/s     {cases / bare:>12,.0f}   {bare / ours:.0%} of bare"
    )


def main() -> None:
    """Measure what was asked for; what lacks its data is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SPECS))
    parser.add_argument("--cases", type=int, default=200_000)
    options = parser.parse_args()
    unknown = set(options.names) - set(SPECS)
    if unknown:
        parser.error(f"no such case study: {', '.join(unknown)}")
    for name in options.names or SPECS:
        try:
            measure(name, options.cases)
        except nomos.NomosError as error:
            print(f"{name}: {error}")


if __name__ == "__main__":
    main()
