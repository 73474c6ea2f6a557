"""What a bug is called: the same name on every machine, for every batch and worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

Choices = tuple[float, ...]  # whole numbers, but for the records of a proof


class BugNames:
    """Names the bugs of one property, model and settings.

    `spec` is the path from the project's root, so that two specs of one name in
    different folders have different bugs.
    """

    def __init__(self, spec: str, model: str, settings: Mapping[str, Any]) -> None:
        head = canonical_json([spec, model, settings])[:-1] + ","
        self._head = hashlib.sha256(head.encode())

    def __call__(self, choices: Choices) -> str:
        """Return the short name of a bug."""
        digest = self._head.copy()
        digest.update(f"[{','.join(map(str, choices))}]]".encode())
        return digest.hexdigest()[:10]


def bug_id(spec: str, model: str, settings: Mapping[str, Any], choices: Choices) -> str:
    """Return the short name of one bug."""
    return BugNames(spec, model, settings)(choices)


def canonical_json(value: object) -> str:
    """Write a value as ASCII JSON, equal values alike; any mapping will do."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=dict)
