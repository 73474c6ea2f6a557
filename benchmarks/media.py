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

from nomos.campaign.events import Finished
from nomos.campaign.runner import Budget, Campaign
from nomos.campaign.session import Options, Session

from nomos import api
from nomos.engine.choices import RandomCase, Stream
from nomos.errors import NomosError

SPECS = {"mnist": "blur", "speech_command": "w_noise"}
_BARE = 2000  # records that the bare model is timed on
_SINGLE = 100  # cases of the plain loop; it is slow, and a rate is all that is wanted


def measure(name: str, cases: int) -> None:
    """Print the figures of one case study."""
    path = Path("casestudies") / name / "specs" / f"{SPECS[name]}.nom"
    session = Session(Path(), Options())
    prepared = session.prepare(*api.load_spec(path), path, {})
    engine, domain = prepared.engine, prepared.subject.domain
    list(Campaign(engine, 1, Budget(cases=1000), name_bug=str).run())  # warm
    campaign = Campaign(engine, 0, Budget(cases=cases), name_bug=str)
    began = time.process_time()
    end = list(campaign.run())[-1]
    ours = time.process_time() - began
    assert isinstance(end, Finished)
    stream = Stream(0, prepared.subject.spec.name)
    began = time.process_time()
    for number in range(_SINGLE):
        engine.alone.run(RandomCase(stream, number))
    single = (time.process_time() - began) / _SINGLE * cases
    sent, inputs = engine.answers.rows_sent, engine.program.source
    predict = domain.predict.many  # type: ignore[attr-defined]  # both case studies have it
    began = time.process_time()
    part = inputs[:500]
    for _ in range(0, _BARE, len(part)):
        predict(part)
    bare = (time.process_time() - began) / _BARE * 2 * cases
    print(f"{name}: {cases} cases, {sent} records sent to the model")
    print(f"  single calls, cases/s   {cases / single:>12,.0f}")
    print(
        f"  Nomos, cases/s          {cases / ours:>12,.0f}   {single / ours:.1f}x single"
    )
    print(
        f"  bare model, cases/s     {cases / bare:>12,.0f}   {bare / ours:.0%} of bare"
    )
    inside = bare * sent / (2 * cases)
    print(f"  outside the model       {max(0.0, 1 - inside / ours):>12.0%} of the time")


def main() -> None:
    """Measure what was asked for; what lacks its data is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SPECS))
    parser.add_argument("--cases", type=int, default=20_000)
    options = parser.parse_args()
    unknown = set(options.names) - set(SPECS)
    if unknown:
        parser.error(f"no such case study: {', '.join(unknown)}")
    for name in options.names or SPECS:
        try:
            measure(name, options.cases)
        except NomosError as error:
            print(f"{name}: {error}")


if __name__ == "__main__":
    main()
