"""Each kind of file that holds a network of torch, on the processor and on a device.

    python -m benchmarks.gpu_formats [--device cuda] [--json FILE]

A small network is saved in each way, loaded on both, and asked for the same rows: the
labels must be the same, and the scores up to 1e-4. The inputs of a campaign are then kept
on the device and streamed to it: the same bugs must be found. Exit status 1 if not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import nomos
from nomos import Domain, batched, random, tensors

BASES = Path(__file__).parents[1] / "casestudies" / "lunar" / "guided" / "bases"
ROWS = np.random.default_rng(5).normal(size=(500, 8)).astype(np.float32)
TEXTS = ["good room", "the room was bad", "bad bad bad", "was the room good"] * 50
CLOSE = 1e-4


def network() -> nn.Module:
    """Return a small network, the same each time."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).eval()


def exported(folder: Path) -> tuple[Any, Any]:
    """Save by torch.export."""
    sizes = ({0: torch.export.Dim("batch")},)
    example = (torch.from_numpy(ROWS[:2]),)
    program = torch.export.export(network(), example, dynamic_shapes=sizes)
    torch.export.save(program, folder / "exported.pt2")
    return folder / "exported.pt2", ROWS


def scripted(folder: Path) -> tuple[Any, Any]:
    """Save as TorchScript, which is loaded with trust."""
    script = torch.jit.trace(network(), torch.from_numpy(ROWS[:2]))
    script.save(str(folder / "scripted.pt"))  # type: ignore[no-untyped-call]
    return folder / "scripted.pt", ROWS


def weights(folder: Path) -> tuple[Any, Any]:
    """Save the weights; a function builds the network."""
    torch.save(network().state_dict(), folder / "weights.pt")
    return f"{folder / 'weights.pt'}@benchmarks.gpu_formats:network", ROWS


def pickled(folder: Path) -> tuple[Any, Any]:
    """Save the whole module, which is loaded with trust."""
    torch.save(network(), folder / "module.pt")
    return folder / "module.pt", ROWS


def in_memory(folder: Path) -> tuple[Any, Any]:
    """Save nothing."""
    return network(), ROWS


def policy(folder: Path) -> tuple[Any, Any]:
    """Take a policy that Stable-Baselines3 saved."""
    return BASES / "1.zip", ROWS


def transformer(folder: Path) -> tuple[Any, Any]:
    """Save a classifier of texts, by transformers."""
    import transformers

    torch.manual_seed(0)
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad room the was"
    (folder / "vocab.txt").write_text(words.replace(" ", "\n"))
    config = transformers.BertConfig(
        vocab_size=10,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    saved = folder / "texts"
    transformers.BertForSequenceClassification(config).save_pretrained(saved)
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(saved)
    return saved, TEXTS


KINDS: tuple[Callable[[Path], tuple[Any, Any]], ...] = (
    exported,
    scripted,
    weights,
    pickled,
    in_memory,
    policy,
    transformer,
)


def compared(device: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Load each kind on both, and say how far the answers are apart."""
    for kind in KINDS:
        found: dict[str, Any] = {"kind": kind.__name__}
        try:
            source, rows = kind(folder)
        except ImportError as error:
            yield {**found, "skipped": str(error)}
            continue
        here, there = (
            nomos.load_model(source, device=place, trust=True)
            for place in ("cpu", device)
        )
        labels = bool((here.predict(rows) == there.predict(rows)).all())
        apart = float(np.abs(here.scores(rows) - there.scores(rows)).max())
        agrees = labels and apart <= CLOSE
        yield {**found, "rows": len(rows), "apart": apart, "agrees": agrees}


class Rows(Domain):
    """Rows, and a network that a device holds."""

    def __init__(self) -> None:
        self._model = nomos.load_model(network())

    def inputs(self):
        """Return the rows."""
        return ROWS

    @batched
    @tensors
    def predict(self, rows):
        """Return a class for each row."""
        return self._model.predict(rows)

    @batched
    @random
    @tensors
    def jumped(self, rows, draws):
        """Move every value by a whole number of hundredths."""
        return rows + draws.integers(-20, 20, rows.shape[1:]) / 100


SPEC = """
    import rows;
    input x1;
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(jumped(x1))
    }
    ensures d1 == d2;
"""


def streamed(device: str) -> dict[str, Any]:
    """Run a campaign whose inputs stay on the device, and one that sends them."""
    ids = []
    for part in (4, 2**60):  # of the memory that is free, which inputs may take
        nomos.device._RESIDENT = part
        spec = nomos.spec(SPEC, name="jumped")
        result = nomos.run(
            spec, domain=Rows, budget=20_000, search="random", device=device
        )
        ids.append(sorted(bug.id for bug in result.bugs))
    agrees = bool(ids[0]) and ids[0] == ids[1]
    return {"kind": "streamed inputs", "bugs": len(ids[0]), "agrees": agrees}


def main() -> None:
    """Compare, print, keep; exit with 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [*compared(options.device, Path(folder)), streamed(options.device)]
    for one in found:
        print(one, flush=True)
    if options.json is not None:
        about = {"device": options.device, "torch": torch.__version__}
        options.json.write_text(json.dumps({**about, "found": found}, indent=1) + "\n")
    sys.exit(any(not one.get("agrees", True) for one in found))


if __name__ == "__main__":
    main()
