"""What a campaign depends on, as checksums: whoever resumes it must find the same."""

import inspect
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from nomos import __version__
from nomos.models.kinds import library_names
from nomos.models.load import is_trusting
from nomos.runner.jobs import Prepared

_MOST_BYTES, _MOST_ITEMS, _MOST_LAZY = 2**25, 10_000, 64
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # in what Python says of an object
_NAMES = {
    "spec": "the spec",
    "domain": "the domain's file",
    "model": "the model",
    "inputs": "the inputs",
    "settings": "the settings",
    "dtype": "the precision (--dtype)",
}


def fingerprint(prepared: Prepared) -> dict[str, str]:
    """Return the checksums of all that decides what a campaign finds."""
    subject, program = prepared.subject, prepared.engine.program
    source = inspect.getsourcefile(type(prepared.domain)) or ""
    settings = sorted(subject.settings.items())
    trust = {"trust": "files that can run code"} if is_trusting() else {}
    return trust | {
        "spec": _hash_bytes(subject.text.encode()),
        "domain": _of_file(Path(source)),
        "model": _of_file(prepared.model_path) or subject.model,
        "inputs": _of_items(program.source),
        "settings": _hash_bytes(repr(settings).encode()),
        "versions": ", ".join(_loaded_versions()),
        "data": ", ".join(_describe_data(prepared)),
    }


def _describe_data(prepared: Prepared) -> Iterator[str]:
    """Yield the names of the files that a domain is given beside its model, and its inputs."""
    known = inspect.signature(type(prepared.domain)).parameters.values()
    given = {one.name: one.default for one in known} | dict(prepared.subject.settings)
    for value in dict.fromkeys(v for v in given.values() if isinstance(v, str | Path)):
        if os.path.isfile(value) and Path(value) != prepared.model_path:  # noqa: PTH113 - never raises
            yield Path(value).name
    yield f"{len(prepared.engine.program.source):,} inputs"


def _loaded_versions() -> Iterator[str]:
    """Yield what ran the campaign: Nomos, Python, and the libraries of models in use."""
    yield f"nomos {__version__}"
    yield f"python {platform.python_version()}"
    for name in sorted(library_names() & sys.modules.keys()):
        if version := getattr(sys.modules[name], "__version__", ""):
            yield f"{name} {version}"


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Say what is not as it was."""
    return [said for name, said in _NAMES.items() if before.get(name) != now.get(name)]


def _hash_bytes(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _of_file(path: Path | None) -> str:
    """Return the checksum of a file, or of all files of a folder; "" if there is none."""
    if path is None or not path.exists():
        return ""
    if path.is_file():
        return _hash_bytes(path.read_bytes())
    parts = sorted(part for part in path.rglob("*") if part.is_file())
    return _hash_bytes("".join(_of_file(part) for part in parts).encode())


def checksum_of_inputs(source: Any) -> str:
    """Return the checksum of the inputs; of very many, of some that are spread evenly."""
    if isinstance(source, np.ndarray) and source.dtype != object:
        step = max(1, source.nbytes // _MOST_BYTES)
        return f"{len(source)} {_of_items(source[::step])}"
    most = _MOST_ITEMS if isinstance(source, list | tuple) else _MOST_LAZY
    step = max(1, len(source) // most)
    return f"{len(source)} {_of_items(source, step)}"


def _of_items(source: Any, step: int = 1) -> str:
    """Return the checksum of the inputs, as far as their kinds allow."""
    if isinstance(source, np.ndarray) and source.dtype != object:
        whole = sha256(np.ascontiguousarray(source).reshape(-1).view(np.uint8).data)
        whole.update(repr(source.shape).encode())
        return whole.hexdigest()[:16]
    digest = sha256()
    for place in range(0, len(source), step):
        item = source[place]
        if isinstance(item, np.ndarray) and item.dtype != object:
            digest.update(item.tobytes())
        else:  # the bytes of an array of objects are their addresses
            said = item.tolist() if isinstance(item, np.ndarray) else item
            digest.update(_ADDRESS.sub("", repr(said)).encode())
    return digest.hexdigest()[:16]
