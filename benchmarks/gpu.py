"""Campaigns on a GPU: cases a second beside the bare network's pictures a second.

    python -m benchmarks.gpu [--seconds 20] [--json FILE] [18x32 50x32 18x224 50x224]

ResNet-18 and ResNet-50 from a seed, trained for 80 steps, bfloat16; pictures of 32x32 and
224x224.
"Bare" is the network with argmax on pictures that are on the card, at its best batch.
Both are measured after a warm-up.
A property adds noise to a picture, or blurs it; how strongly is drawn, and the strongest
is chosen so that about one case in a hundred is violated. "Confirming" is the share of
the time in which violations were re-run in isolation (float32 is their judge) or in batches.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch.nn import functional

import nomos
from benchmarks.resnet import resnet, train
from nomos import Domain, batched, random, tensors
from nomos.device import Placement, place_models
from nomos.engine.engine import Engine
from nomos.runner.executors.worker import Worker

SIZES = {"18x32": (18, 32), "50x32": (50, 32), "18x224": (18, 224), "50x224": (50, 224)}
INPUTS = {32: 20_000, 224: 2_000}
CHANGES = {"noise": 2.0, "blur": 1.0}  # and how strong they may be
GOALS = {32: 0.45, 224: 0.85}
RATE = 0.01  # of violations
ALONE = 100  # violations that are run in isolation
WARM_UP = (
    5.0  # seconds: kernels are compiled once, and each size of batch is planned once
)
SPEC = """
    import pictures;
    param most: real := 0.1;
    input x1;
    var x2 := {change}(x1, randReal(0, most));
    output d1;
    output d2;
    {{
      d1 = predict(x1)
      d2 = predict(x2)
    }}
    ensures d1 == d2;
"""


class Pictures(Domain):
    """Pictures and a network: what `main` has made."""

    images: ClassVar[Any] = None
    network: ClassVar[Any] = None

    def __init__(self) -> None:
        self._model = nomos.load_model(self.network)

    def inputs(self):
        """Return the pictures."""
        return self.images

    @batched
    @tensors
    def predict(self, images):
        """Return a class for each picture."""
        return self._model.predict(images)

    @batched
    @random
    @tensors
    def noise(self, images, strength, draws):
        """Add normal noise."""
        strength = strength.to(images.dtype)[:, None, None, None]
        return images.addcmul_(draws.normal(images.shape[1:]), strength)

    @batched
    @tensors
    def blur(self, images, share):
        """Replace a share of every pixel by the mean of the 3x3 pixels around it."""
        ninth = torch.full((3, 1, 3, 3), 1 / 9, device=images.device)
        mean = functional.conv2d(images, ninth, padding=1, groups=3)
        for edge in (mean[:, :, 0], mean[:, :, -1], mean[..., 0], mean[..., -1]):
            edge *= 1.5  # of nine pixels there are six, in a corner four
        return images.lerp_(mean, share.to(images.dtype)[:, None, None, None])


def pictures(size: int, count: int) -> tuple[Any, Any]:
    """Return smooth random pictures of forty kinds, and a label for each kind."""
    made = torch.manual_seed(size)
    kinds = torch.rand(40, 3, 4, 4, generator=made)  # a network tells these apart
    chosen = torch.randint(40, (count,), generator=made)
    coarse = kinds[chosen]
    coarse = 0.8 * coarse + 0.2 * torch.rand(count, 3, 4, 4, generator=made)
    smooth = functional.interpolate(coarse, (size, size), mode="bilinear")
    fine = torch.rand(count, 3, size, size, generator=made)
    return (0.8 * smooth + 0.2 * fine).numpy(), chosen % 10


@torch.no_grad()
def bare(model: Any, images: Any, size: int) -> tuple[int, float]:
    """Return the best batch, and how many pictures a second it is."""
    best = 0, 0.0
    for batch in (1024, 2048, 4096, 8192) if size == 32 else (128, 256, 512, 1024):
        x = images[:batch].to(torch.bfloat16, memory_format=torch.channels_last)
        seconds = timed(lambda: model(x).argmax(1), 1.0)  # noqa: B023
        best = max(best, (batch, batch / seconds), key=lambda pair: pair[1])
    return best


def timed(work: Callable[[], Any], least: float) -> float:
    """Return how long a piece of work takes on the card."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < least:
        for _ in range(5):
            work()
        torch.cuda.synchronize()
        count += 5
    return (time.perf_counter() - began) / count


class Clock:
    """Adds up the time that is spent in a method."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method, with its time counted."""

        def counted(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*arguments)
            finally:
                self.seconds += time.perf_counter() - began

        return counted


def campaign(change: str, most: float, seconds: float) -> tuple[Any, float]:
    """Run a campaign for so long; return its result and the seconds of confirming."""
    clock, confirm, repeat = Clock(), Worker.confirm, Engine._repeat
    Worker.confirm = clock.around(confirm)  # type: ignore[method-assign]
    Engine._repeat = clock.around(repeat)  # type: ignore[method-assign]
    try:
        result = nomos.run(
            nomos.spec(SPEC.format(change=change), name=change),
            domain=Pictures,
            params={"most": most},
            budget=10**9,
            time=seconds,
            search="random",
            device="cuda",
            dtype="bfloat16",
            accept_flaky=0.01,
            confirm=ALONE,
        )
    finally:
        Worker.confirm, Engine._repeat = confirm, repeat  # type: ignore[method-assign]
    return result, clock.seconds


def strength(change: str, highest: float) -> float:
    """Return the strength at which about one case in a hundred is violated."""
    with place_models(Placement("cuda", "bfloat16")):
        domain = Pictures()
    images = Pictures.images[: 8192 if Pictures.images.shape[-1] == 32 else 2000]
    shares = np.random.default_rng(0).random(len(images))
    before = domain.predict.many(images)  # type: ignore[attr-defined]
    low, high = 0.0, highest
    for _ in range(12):
        middle = (low + high) / 2
        given = [images, shares * middle]
        if change == "noise":
            given.append(np.arange(len(images)))
        changed = getattr(domain, change).many(*given)
        after = domain.predict.many(changed)  # type: ignore[attr-defined]
        share = float((np.asarray(before) != np.asarray(after)).mean())
        low, high = (middle, high) if share < RATE else (low, middle)
    return (low + high) / 2


def measure(name: str, changes: str, seconds: float) -> list[dict[str, Any]]:
    """Return the figures of one network and size."""
    depth, size = SIZES[name]
    Pictures.images, labels = pictures(size, INPUTS[size])
    images = torch.from_numpy(Pictures.images).cuda()
    network = resnet(depth).cuda()
    train(network, images, labels.cuda())
    Pictures.network = network.cpu()
    copy = resnet(depth)
    copy.load_state_dict(network.state_dict())
    copy = copy.cuda().to(torch.bfloat16).to(memory_format=torch.channels_last)
    batch, rows = bare(copy, images, size)
    del copy, images
    torch.cuda.empty_cache()
    return [
        one(name, change, highest, (batch, rows), seconds)
        for change, highest in CHANGES.items()
        if change in changes
    ]


def one(
    name: str, change: str, highest: float, best: tuple[int, float], seconds: float
) -> dict[str, Any]:
    """Measure a property."""
    most = strength(change, highest)
    campaign(change, most, WARM_UP)
    result, confirming = campaign(change, most, seconds)
    counts = result.counts
    rate = counts.tests / counts.seconds
    found = {
        "network": name,
        "change": change,
        "most": round(most, 4),
        "bare_batch": best[0],
        "bare_rows_s": round(best[1]),
        "cases": counts.tests,
        "cases_s": round(rate),
        "share_of_bare": round(rate / best[1], 3),
        "goal": GOALS[SIZES[name][1]],
        "violated": round(counts.violations / max(1, counts.evaluated), 5),
        "flaky": counts.flaky,
        "rounded": counts.rounded,
        "isolated_reruns": counts.isolated_reruns,
        "part": result.live.ready_job.engine._size.count,
        "confirming": round(confirming / counts.seconds, 4),
        "verdict": result.verdict,
        "problem": result.problem,
    }
    print(found, flush=True)
    return found


def main() -> None:
    """Measure what was asked for, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SIZES))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--changes", default=", ".join(CHANGES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    card = torch.cuda.get_device_name()
    today = str(datetime.datetime.now(datetime.UTC).date())
    about = {"card": card, "date": today, "torch": torch.__version__}
    print(about, "numpy", np.__version__, flush=True)
    runs: list[dict[str, Any]] = []
    for name in options.names or SIZES:
        runs += measure(name, options.changes, options.seconds)
        if options.json is not None:  # after each: a later one may not end
            options.json.write_text(
                json.dumps({**about, "runs": runs}, indent=1) + "\n"
            )


if __name__ == "__main__":
    main()
