"""`nomos doctor`: what is installed and what is there, for a report of a fault."""

import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from nomos import __version__
from nomos.cli.options import takes
from nomos.terminal import echo

_OTHER_EXTRAS = {"ray": "ray", "lsp": "pygls"}
_NEEDED = ("click", "greenlet", "jinja2", "lark", "numpy", "rich")


@click.command("doctor")
@takes("doctor", "format", format="text")
def command(format: str) -> None:
    """Say what is installed: versions, extras, devices, the store, the data.

    \b
    nomos doctor
    nomos doctor --format json

    Nothing of yours is run. Paste what it prints into a report of a fault.
    """
    found: dict[str, dict[str, Any]] = {
        "program": {
            "nomos": __version__,
            "python": sys.version.split()[0],
            "system": platform.platform(),
            "cores": os.cpu_count() or 0,
        },
        "needed": {name: _package_version(name) or "missing" for name in _NEEDED},
        "extras": _extras(),
        "devices": _find_devices(),
        "project": _describe_project(),
    }
    if format == "json":
        echo(json.dumps(found, indent=1))
        return
    for title, values in found.items():
        echo(f"{title}")
        for name, value in values.items():
            echo(f"  {name:<16} {value}")


def _extras() -> dict[str, str]:
    """Say which libraries are installed, by the extra that installs each."""
    from nomos.models.kinds import all_kinds

    kinds = {one.extra or one.name: one.package or one.extra for one in all_kinds()}
    return {
        extra: _package_version(package)
        or _package_version(f"{package}-cpu")
        or "not installed"
        for extra, package in (kinds | _OTHER_EXTRAS).items()
        if package
    }


def _package_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _find_devices() -> dict[str, str]:
    """Ask torch, where it is installed, which devices it sees."""
    if _package_version("torch") is None:
        return {"cpu": "yes", "cuda": "torch is not installed"}
    import torch

    count = torch.cuda.device_count()
    names = ", ".join(torch.cuda.get_device_name(number) for number in range(count))
    return {"cpu": "yes", "cuda": names or "none"}


def _describe_project() -> dict[str, str]:
    from nomos.domain.find import find_root
    from nomos.store.store import DATABASE, FOLDER

    root = find_root(Path.cwd())
    store = (root or Path.cwd()) / FOLDER / DATABASE
    size = f"{store.stat().st_size:,} bytes" if store.exists() else "none"
    data = os.environ.get("NOMOS_DATA", "")
    there = "" if not data or Path(data).is_dir() else " (no such folder)"
    return {
        "root": "found" if root else "none: no pyproject.toml or .git upwards",
        "store": size,
        "NOMOS_DATA": f"{'set' if data else 'not set'}{there}",
    }
