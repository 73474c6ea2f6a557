"""What a repair leaves after each round, so that a killed one can go on."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nomos.errors import StoreError
from nomos.files import write_whole
from nomos.train.repairing.judging.evaluate import Evaluation, Share
from nomos.train.repairing.rounds.rounds import Round, RoundProgress

_VERSION = 3


class Checkpoint:
    """A file that holds the rounds of one repair, written whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, progress: RoundProgress) -> None:
        """Keep where the repair has come to."""
        document = {
            "version": _VERSION,
            "best": progress.best,
            "stop": progress.stop,
            "rounds": [asdict(one) for one in progress.rounds],
        }
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            archive.writestr("rounds.json", json.dumps(document))
            archive.writestr("now", progress.now)
            archive.writestr("best", progress.best_state)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.path.parent / ".gitignore").write_text("*\n")
            write_whole(self.path, written.getvalue())
        except OSError as error:
            raise StoreError(
                f"the round cannot be kept in {self.path}: {error}"
            ) from None

    def load(self) -> RoundProgress:
        """Return where the repair had come to: at its beginning, where nothing is kept."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                document = json.loads(archive.read("rounds.json"))
                now, best = archive.read("now"), archive.read("best")
            if document["version"] != _VERSION:
                return RoundProgress()
            rounds = [_round(data) for data in document["rounds"]]
        except FileNotFoundError:
            return RoundProgress()
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise StoreError(
                f"{self.path} holds no repair to go on with: {error}; delete it"
            ) from None
        return RoundProgress(rounds, document["best"], now, best, document["stop"])

    def clear(self) -> None:
        """Forget the repair."""
        self.path.unlink(missing_ok=True)


def repair_key(parts: Sequence[str | bytes]) -> str:
    """Return a name for a repair: that of the same specs, model, data and plan."""
    digest = blake2b(digest_size=8)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _round(data: dict[str, Any]) -> Round:
    told = data.pop("evaluation")
    rates = {name: Share(**rate) for name, rate in told["rates"].items()}
    return Round(evaluation=Evaluation(Share(**told["accuracy"]), rates), **data)
