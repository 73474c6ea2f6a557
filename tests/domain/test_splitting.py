"""Files split in columns by numpy say what Python's `csv` says of them, cell by cell."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import DomainError
from nomos.domain.reading import cells as cells_module
from nomos.domain.reading import splitting
from nomos.domain.reading.cells import Cells, make_piece, number
from nomos.domain.reading.csvfile import load_columns

CELLS = (
    *("", "0", "01067", "1.50", "-0", "+7", "5.", ".5", "-.5e-3", "1e5", "1_0", " 3 "),
    *("12345678901234567", "0.12345678901234567", "9007199254740993", "1.2.3", "--1"),
    *("NA", "nan", "inf", "Köln", "a b", "x" * 200, "2020-01-31", "0x1A", "١٢"),
)
ODD = ("a,b", 'say ""hi""', "p\nq", "p\r\nq", ";", "\u2028", '"', "end\r")


class Chance:
    """Draws of Python's own kinds."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choice(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def randint(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def random(self) -> float:
        return float(self.rng.random())


def make_file(chance: Chance) -> bytes:
    """Return a table as people have them, regular or not."""
    width = chance.randint(1, 5)
    ends = chance.choice(("\n", "\n", "\r\n"))
    odd, quoting = chance.random() < 0.5, chance.choice((0.0, 0.2, 1.0))
    lines = [",".join(f"c{i}" for i in range(width))]
    for _ in range(chance.randint(1, 60)):
        row = [chance.choice(CELLS) for _ in range(width)]
        for place, cell in enumerate(row):
            if odd and chance.random() < 0.05:
                row[place] = f'"{chance.choice(ODD).replace(chr(34), chr(34) * 2)}"'
            elif chance.random() < quoting:
                row[place] = f'"{cell}"'
        lines.append(",".join(row))
        if odd and chance.random() < 0.02:
            lines.append(chance.choice(("", "1,2,3,4,5,6", 'a"b', "\0", "x\ry", '"z')))
    text = ends.join(lines) + ends * chance.randint(0, 2)
    return text.encode("utf-8-sig" if chance.random() < 0.2 else "utf-8")


def read_by_csv(data: bytes) -> list[list[str]] | None:
    """Return the rows that `csv` reads, None where a row is ragged or never ends."""
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    try:
        head, *rows = (row for row in csv.reader(text, strict=True) if row)
    except csv.Error:
        return None
    return [head, *rows] if {len(row) for row in rows} == {len(head)} else None


def test_every_cell_is_the_one_that_csv_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, read = Chance(0), 0
    for trial in range(400):
        monkeypatch.setattr(splitting, "_BLOCK", chance.choice((16, 100, 2**20)))
        path = tmp_path / f"{trial}.csv"
        path.write_bytes(data := make_file(chance))
        if (rows := read_by_csv(data)) is None:
            with pytest.raises(DomainError, match=r"line \d+"):
                load_columns(path)
            continue
        read += 1
        columns = [[*cells] for cells in load_columns(path).values()]
        assert [*map(list, zip(*columns, strict=True))] == rows[1:], data
    assert 200 < read < 390


def test_a_ragged_row_is_told_with_its_line_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ragged.csv"
    lines = ["a,b", *["1,2"] * 500, '"x\ny",2', *["3,4"] * 400, "5", "6,7"]
    path.write_text("\n".join(lines), "utf-8")
    for block in (64, 2**20):
        monkeypatch.setattr(splitting, "_BLOCK", block)
        with pytest.raises(DomainError, match="line 904 has 1 field, and the head"):
            load_columns(path)


@pytest.mark.parametrize("has_wide", [cells_module._HAS_WIDE, False])
def test_numbers_of_a_column_are_those_of_its_cells(
    has_wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells_module, "_HAS_WIDE", has_wide)
    chance = Chance(1)
    made = [
        repr((chance.random() - 0.5) * 10.0 ** chance.randint(-8, 12))
        for _ in range(3000)
    ]
    for _ in range(3000):
        digits = "".join(
            chance.choice("0123456789") for _ in range(chance.randint(1, 28))
        )
        point = chance.randint(0, len(digits))
        made.append(
            chance.choice(("", "-", "+"))
            + digits[:point]
            + "." * (chance.random() < 0.7)
            + digits[point:]
        )
    # Halfway between two floats, and a little beside that.
    for _ in range(3000):
        value = 1 + 99 * chance.random()
        middle = value * 2**60 + math.ulp(value) * 2**59
        digits = str(int(middle * 10**16) // 2**60 + chance.randint(-1, 1))
        made.append(f"{digits[:-16]}.{digits[-16:]}")
    made += [cell for cell in CELLS if number(cell) is not None]
    values = Cells([make_piece(made[:5000]), made[5000:6000], make_piece(made[6000:])])
    found = values.numbers()
    assert found is not None
    expected = np.array([number(cell) for cell in made], np.float64)
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))
    assert [values[place] for place in (0, 5000, 8999)] == [
        made[place] for place in (0, 5000, 8999)
    ]
    for cell in CELLS:
        alone = Cells([make_piece([cell])]).numbers()
        assert (alone is None) == (number(cell) is None), cell


def test_a_zero_byte_in_a_cell_ends_no_number() -> None:
    assert Cells([make_piece(["12" + "\0" * 40 + "3"])]).numbers() is None


def test_different_cells_are_counted_wherever_they_stand() -> None:
    cells = ["x", "", "Köln", "x", "0" * 300, "x\0", "x"]
    texts, codes = Cells([make_piece(cells[:4]), cells[4:]]).encode()
    assert [texts[code] for code in codes] == cells
    assert len(texts) == 5
    assert len(Cells([make_piece(cells)]).encode(2)[0]) > 2
