"""Writing a file whole or not at all."""

import os
import shutil
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever reads half of it; raises OSError."""
    if path.exists() and not path.is_file():  # a device or a pipe is not replaced
        path.write_bytes(data)
        return
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
