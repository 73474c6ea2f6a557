"""`nomos run --inputs FILE`: which of a domain's settings says where inputs come from."""

from __future__ import annotations

import inspect
from pathlib import Path

from nomos import api
from nomos.errors import DomainError

NAMES = ("inputs", "pool")  # of the constructor's parameter, in order of preference


def input_setting(spec: Path, file: Path | None) -> dict[str, str]:
    """Return the setting that makes a spec's domain draw from a file."""
    if file is None:
        return {}
    _, imported = api.load_spec(spec)
    domain = imported.domain
    if domain is None:
        raise DomainError(f"{spec} imports no domain, so there is nothing to draw from")
    known = list(inspect.signature(domain).parameters)
    name = next((name for name in NAMES if name in known), None)
    if name is None:
        raise DomainError(
            f"{domain.__name__} takes no file of inputs: its constructor has neither"
            f" `inputs` nor `pool`; its settings are: {', '.join(known) or 'none'}"
        )
    return {name: str(file)}
