"""What is kept of a campaign and of a bug: plain data that JSON can hold."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["open", "fixed"]
Choices = tuple[int, ...]
Counts = Mapping[str, int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRecord:
    """One campaign: what was asked, and how far it came. `spec` is from the root."""

    spec: str
    property: str
    domain: str
    model: str
    settings: Mapping[str, Any]
    seed: int
    budget: int
    search: str
    engine: str
    id: int = 0  # this and the rest are given by the store
    started: str = ""
    finished: str | None = None
    verdict: str | None = None
    counts: Counts = field(default_factory=dict)
    next_case: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BugRecord:
    """One bug as a campaign found it; `seen` is how often that campaign met it."""

    id: str
    campaign: int
    spec: str
    property: str
    model: str
    settings: Mapping[str, Any]
    seed: int
    case: int
    choices: Choices
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    failed: str
    seen: int = 1
    status: Status = "open"


def bug_id(
    property: str, model: str, settings: Mapping[str, Any], choices: Choices
) -> str:
    """Return the short name of a bug, the same on every machine."""
    text = canonical_json([property, model, settings, choices])
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def canonical_json(value: object) -> str:
    """Write a value as ASCII JSON, equal values alike; any mapping will do."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=dict)
