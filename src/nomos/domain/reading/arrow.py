"""Parquet and Arrow's own files (Feather), by pyarrow where it is installed.

A column is read each time that it is asked for: a Parquet file is several times smaller
than what it holds, and a mapped Arrow file costs no memory until it is looked at. What a
cell's text is, is what pandas would write of it into a CSV file.
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.reading.cells import Cells, number, refuse_twins
from nomos.errors import DomainError

ARROW_SUFFIXES = (".parquet", ".pq", ".feather", ".arrow")
_INDEX = re.compile(r"__index_level_\d+__")  # which pandas keeps beside the columns


def read_arrow_file(path: Path) -> dict[str, Cells]:
    """Return the columns of a Parquet, Feather or Arrow file."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DomainError(
            f"{path} is read by pyarrow: pip install 'nomos-ml[arrow]'"
        ) from None
    try:
        names, length, read = _open_parquet(path) or _open_arrow(path)
    except (pa.ArrowInvalid, OSError) as error:
        said = str(error).partition("\n")[0]
        raise DomainError(f"{path} cannot be read: {said}") from None
    names = [name for name in names if not _INDEX.fullmatch(name)]
    refuse_twins(names, path)
    if not names or not length:
        raise DomainError(f"{path} has no rows")
    return {name: _ArrowCells(length, partial(read, name)) for name in names}


def _open_parquet(path: Path) -> Any:
    """Return a Parquet file's columns' names, its length and what reads one of them."""
    from pyarrow import parquet

    if path.suffix.lower() not in ARROW_SUFFIXES[:2]:
        return None
    file = parquet.ParquetFile(path)
    names = file.schema_arrow.names
    return names, file.metadata.num_rows, lambda name: file.read([name]).column(0)


def _open_arrow(path: Path) -> Any:
    import pyarrow as pa

    source = pa.memory_map(str(path))
    try:
        table = pa.ipc.open_file(source).read_all()
    except pa.ArrowInvalid:  # the form of a stream has no index at its end
        source.seek(0)
        table = pa.ipc.open_stream(source).read_all()
    return table.column_names, table.num_rows, table.column


def _drop_midnights(column: Any) -> Any:
    """Return moments that are all midnights as days, as pandas writes them."""
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return column
    days = column.cast(pa.date32(), safe=False)
    return days if days.cast(column.type).equals(column) else column


class _ArrowCells(Cells):
    """A column of Arrow's; `read` gives it."""

    def __init__(self, length: int, read: Callable[[], Any]) -> None:
        super().__init__([])
        self._length = length
        self._stored = read

    @property
    def date_kind(self) -> str:  # type: ignore[override]  # it is only read
        """The type of its dates in a data frame of pandas."""
        from pyarrow import types

        kind = self._stored().type
        if types.is_timestamp(kind):
            return f"datetime64[{kind.unit}{', ' * bool(kind.tz)}{kind.tz or ''}]"
        return "object" if types.is_date(kind) else ""

    def _read(self) -> Any:
        return _drop_midnights(self._stored())

    def __iter__(self) -> Iterator[str]:
        for chunk in self._read().chunks:
            yield from map(_write_text, chunk.to_pylist())

    def __getitem__(self, place: int) -> str:  # type: ignore[override]  # no slices
        if not 0 <= place < self._length:
            raise IndexError(place)
        return _write_text(self._read()[place].as_py())

    def numbers(self) -> Array | None:
        """Return the cells as numbers, NaN where one is missing; None if one is no number."""
        from pyarrow import types

        column = self._read()
        if types.is_integer(column.type) or types.is_floating(column.type):
            values: Array = column.to_numpy().astype(np.float64)
            return values
        texts, codes = self.encode()
        read = [number(text) for text in texts]
        if any(value is None for value in read):
            return None
        return np.array(read, np.float64)[codes]

    def encode(self, most: float = math.inf) -> tuple[list[str], Array]:
        """Return the different cells and the place of each cell's among them."""
        import pyarrow as pa

        column = self._read()
        try:
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode()
        except pa.ArrowNotImplementedError:  # lists, structures
            return Cells([list(self)]).encode(most)
        column = column.unify_dictionaries()
        held = [*column.chunk(0).dictionary.to_pylist(), None]
        chunks = [chunk.indices.fill_null(len(held) - 1) for chunk in column.chunks]
        used, codes = np.unique(np.concatenate(chunks), return_inverse=True)
        texts = [_write_text(held[place]) for place in used.tolist()]
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return list(places), np.array([places[text] for text in texts])[codes]


def _write_text(value: Any) -> str:
    return "" if value is None else str(value)
