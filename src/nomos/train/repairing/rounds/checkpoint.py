"""What a repair leaves after each round, so that a killed one can go on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nomos.errors import StoreError
from nomos.files import write_whole
from nomos.train.repairing.judging.evaluate import Evaluation, Share
from nomos.train.repairing.rounds.rounds import Round, RoundProgress

_VERSION = 2


class Checkpoint:
    """A folder that holds the last finished round of one repair.

    The states are written first and the list of rounds last, each whole or not at all,
    so that at every moment there is a round to go on from.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, progress: RoundProgress) -> None:
        """Keep where the repair has come to."""
        last = progress.rounds[-1].number
        files = {"now": f"now-{last}", "best": f"best-{progress.best}"}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder.parent / ".gitignore").write_text("*\n")
            write_whole(self.folder / files["now"], progress.now)
            if not (self.folder / files["best"]).exists():
                write_whole(self.folder / files["best"], progress.best_state)
            document = {
                "version": _VERSION,
                "best": progress.best,
                "stop": progress.stop,
                "files": files,
                "rounds": [_round_data(one) for one in progress.rounds],
            }
            write_whole(self.folder / "rounds.json", json.dumps(document).encode())
            for path in self.folder.iterdir():
                if path.name not in ("rounds.json", *files.values()):
                    path.unlink()
        except OSError as error:
            raise StoreError(
                f"the round cannot be kept in {self.folder}: {error}"
            ) from None

    def load(self) -> RoundProgress:
        """Return where the repair had come to: at its beginning, where nothing is kept."""
        try:
            document = json.loads((self.folder / "rounds.json").read_bytes())
            if document["version"] != _VERSION:
                return RoundProgress()
            now, best = (
                (self.folder / document["files"][name]).read_bytes()
                for name in ("now", "best")
            )
            rounds = [_round(data) for data in document["rounds"]]
        except FileNotFoundError:
            return RoundProgress()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self.folder} holds no repair to go on with: {error}; delete it"
            ) from None
        return RoundProgress(rounds, document["best"], now, best, document["stop"])

    def clear(self) -> None:
        """Forget the repair."""
        shutil.rmtree(self.folder, ignore_errors=True)


def repair_key(parts: Sequence[str | bytes]) -> str:
    """Return a name for a repair: that of the same specs, model, data and plan."""
    digest = blake2b(digest_size=8)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _round_data(one: Round) -> dict[str, Any]:
    return {
        "number": one.number,
        "evaluation": evaluation_data(one.evaluation),
        "weights": dict(one.weights),
        "noise": one.noise,
    }


def evaluation_data(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain data."""
    return {
        "accuracy": asdict(evaluation.accuracy),
        "rates": {name: asdict(rate) for name, rate in evaluation.rates.items()},
    }


def _round(data: dict[str, Any]) -> Round:
    told = data["evaluation"]
    rates = {name: Share(**rate) for name, rate in told["rates"].items()}
    evaluation = Evaluation(Share(**told["accuracy"]), rates)
    return Round(data["number"], evaluation, data["weights"], data["noise"])
