"""Reading tables at size: CSV and Parquet files beside pandas, in CPU time and memory.

    python -m benchmarks.tables [--sizes 10 100 1000] [--folder FOLDER]

Two tables of each size in megabytes of CSV: `reals`, ten columns of 17 digits, and `mixed`,
of whole numbers, amounts, zip codes, names with commas in quotes, and gaps. Each reading is
a process of its own, after a small file has been read. What is measured is the CPU time of
reading, and by how much the process grew at its largest. `schema` is what `nomos init` does
first: every column's kind from every cell; `rows` is what a domain does at each start. Goals
for `rows` of CSV: 3 times pandas' CPU, and 3 times the file in memory. Needs pandas, pyarrow.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

READERS = ("pandas", "rows", "schema")
_ROWS = {"reals": 50_000, "mixed": 185_000}  # of ten megabytes


def make_frame(name: str) -> Any:
    """Return a table of some ten megabytes."""
    import pandas as pd

    draw, count = np.random.default_rng(0), _ROWS[name]
    if name == "reals":
        return pd.DataFrame({f"f{i}": draw.normal(size=count) for i in range(10)})
    amounts = np.round(draw.normal(size=count) * 100, 2)
    gaps = np.where(draw.random(count) < 0.2, np.nan, np.round(draw.random(count), 3))
    return pd.DataFrame(
        {
            "age": draw.integers(18, 90, count),
            "income": draw.integers(1000, 200_000, count),
            "zip": [f"{code:05d}" for code in draw.integers(1000, 1100, count)],
            "plan": draw.choice(["Gold", "Silver", "Bronze, old", "None yet"], count),
            "score": np.round(draw.random(count), 3),
            "amount": amounts,
            "owns": draw.integers(0, 2, count),
            "city": draw.choice(["Berlin", "Köln", "München", "Ulm"], count),
            "gap": gaps,
        }
    )


def write_files(name: str, megabytes: int, folder: Path) -> list[Path]:
    """Write a table of a size as CSV and as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    frame, times = make_frame(name), megabytes // 10
    paths = [folder / f"{name}.csv", folder / f"{name}.parquet"]
    head, body = frame.to_csv(index=False).split("\n", 1)
    with paths[0].open("w", encoding="utf-8") as file:
        file.write(head + "\n")
        for _ in range(times):
            file.write(body)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with parquet.ParquetWriter(paths[1], table.schema) as writer:
        for _ in range(times):
            writer.write_table(table)
    return paths


def read_file(path: Path, reader: str) -> None:
    """Read a file in this process; print seconds of CPU and kilobytes of growth."""
    from nomos import Schema
    from nomos.domain.reading import csvfile

    if reader == "pandas":
        import pandas as pd

        read: Any = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
    elif reader == "rows":
        small = path.with_name(f"small-{path.name}")
        features = csvfile.infer_features(csvfile.load_columns(small), one_hot=False)
        read = lambda file: csvfile.read_rows(file, Schema(*features))  # noqa: E731
    else:
        read = lambda file: csvfile.infer_features(  # noqa: E731
            csvfile.load_columns(file), one_hot=False
        )
    read(path.with_name(f"small-{path.name}"))
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest so far
    before = largest_size()
    began = time.process_time()
    kept = read(path)
    seconds = time.process_time() - began
    print(seconds, largest_size() - before)
    del kept


def largest_size() -> int:
    """Return the kilobytes that this process held at its largest."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Measure each reader on each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--folder", type=Path, help="for the files, which are deleted")
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read_file(Path(options.read[0]), options.read[1])
        return
    print(
        f"{'file':24} {'MB':>6} {'reader':8} {'CPU s':>7} {'x pandas':>9} {'x file':>7}"
    )
    for size in options.sizes:
        for name in _ROWS:
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                for path in write_files(name, 10, Path(folder)):
                    path.rename(path.with_name(f"small-{path.name}"))
                for path in write_files(name, size, Path(folder)):
                    print_readings(path)


def print_readings(path: Path) -> None:
    """Print what each reader takes for a file."""
    of_pandas = 0.0
    for reader in READERS:
        module = [sys.executable, "-m", "benchmarks.tables", "--read", str(path)]
        said = subprocess.run([*module, reader], check=True, stdout=subprocess.PIPE)
        seconds, grown = map(float, said.stdout.split())
        of_pandas = seconds if reader == "pandas" else of_pandas
        times, share = seconds / of_pandas, grown * 1024 / path.stat().st_size
        print(
            f"{path.name:24} {path.stat().st_size / 1e6:6.0f} {reader:8} {seconds:7.2f}"
            f" {times:9.1f} {share:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
