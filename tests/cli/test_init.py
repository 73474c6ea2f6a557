"""`nomos init`: what it writes runs at once."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.domain import Category, Flag, Integer, OneHot, Real, Schema
from nomos.domain.csvfile import infer_features, number, read_columns, read_rows
from nomos.errors import DomainError, NomosError


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run_specs(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "nomos", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def write_csv(path: Path, head: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def test_without_a_model_an_example_is_written_that_finds_its_bug(folder):
    assert nomos("init", "first").exit_code == 0
    status, out = run_specs(folder / "first", "check", "specs")
    assert (status, "3 specs, no mistakes" in out) == (0, True)
    status, out = run_specs(folder / "first", "run", "specs")
    assert status == 1
    assert "higher_age" in out


def test_odd_names_missing_values_and_dates_are_coped_with(folder):
    (folder / "odd_model.py").write_text(
        "import numpy as np\n"
        "def judge(rows):\n    return (np.nan_to_num(rows[:, 0]) > 170).astype(int)\n"
    )
    rng = np.random.default_rng(0)
    rows = [
        [
            "" if i % 7 == 0 else int(rng.integers(150, 200)),
            f"{rng.random():.3f}",
            rng.choice(["ja", "nein", ""]),
            f"2020-0{i % 9 + 1}-11",
            int(rng.integers(0, 2)),
        ]
        for i in range(60)
    ]
    head = ['Größe (cm) "barfuß"', "class-2", "for", "joined", "label"]
    write_csv(folder / "odd rows.csv", head, rows)
    result = nomos("init", "--model", "odd_model:judge", "--data", "odd rows.csv")
    assert result.exit_code == 0, result.output
    assert "`label` is not used" in result.output
    status, out = run_specs(folder, "check", "specs")
    assert status == 0, out
    status, out = run_specs(folder, "run", "specs")
    assert status in (0, 1), out
    assert "crashed=0" in out


def test_nothing_is_overwritten(folder):
    nomos("init")
    result = nomos("init")
    assert isinstance(result.exception, NomosError)
    assert "exists already" in str(result.exception)


def test_a_model_without_data_is_wrong_usage(folder):
    assert nomos("init", "--model", "m:f").exit_code == 2


class TestOnnx:
    """The width that a model's file states decides how its table is read."""

    def test_a_table_that_does_not_fit_is_refused_with_both_numbers(
        self, folder, monkeypatch
    ):
        from nomos import scaffold

        monkeypatch.setattr(scaffold, "_model_width", lambda model: 9)
        write_csv(folder / "rows.csv", ["a", "b"], [[1, "x"], [2, "y"]])
        result = nomos("init", "--model", "m:f", "--data", "rows.csv")
        assert "takes 9 numbers a row" in str(result.exception)
        assert "1, 2, 3" in str(result.exception)

    @pytest.mark.parametrize(("width", "kind"), [(2, Category), (3, OneHot)])
    def test_categories_take_the_form_that_fits(self, folder, monkeypatch, width, kind):
        from nomos import scaffold

        monkeypatch.setattr(scaffold, "_model_width", lambda model: width)
        write_csv(folder / "rows.csv", ["a", "b"], [[1, "x"], [2, "y"]])
        assert nomos("init", "--model", "m:f", "--data", "rows.csv").exit_code == 0
        assert f'{kind.__name__}("b", ("x", "y"))' in (folder / "rows.py").read_text()


class TestCsv:
    def test_kinds_are_found_out(self, tmp_path):
        path = tmp_path / "t.csv"
        head = ["n", "r", "f", "c", "town=A", "town=B", "remark"]
        rows = [
            [i, i / 2, i % 2, "xyz"[i % 3], i % 2, 1 - i % 2, f"t{i}"]
            for i in range(50)
        ]
        write_csv(path, head, rows)
        features = infer_features(read_columns(path), one_hot=False)
        assert features == [
            Integer("n", 0, 49),
            Real("r", 0.0, 24.5),
            Flag("f"),
            Category("c", ("x", "y", "z")),
            OneHot("town", ("A", "B")),
        ]
        read = read_rows(path, Schema(*features))
        assert read.shape == (50, 6)
        assert read[1].tolist() == [1, 0.5, 1, 1, 1, 0]

    def test_cells_are_numbers_dates_or_missing(self):
        assert number("3.5") == 3.5
        assert number("1970-01-11") == 10
        assert np.isnan(number(""))
        assert number("abc") is None

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("a,b\n", "no rows"),
            ("a,a\n1,2\n", "same name: a"),
            ("a,b\n1,2\n3\n", "line 3 has not 2 fields"),
        ],
    )
    def test_broken_tables_are_refused(self, tmp_path, text, says):
        path = tmp_path / "t.csv"
        path.write_text(text)
        with pytest.raises(DomainError, match=says):
            read_columns(path)

    def test_other_separators_and_a_byte_order_mark_are_read(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a;b\n1;x\n", encoding="utf-8-sig")
        assert read_columns(path) == {"a": ["1"], "b": ["x"]}

    def test_a_level_that_the_schema_lacks_is_named(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("b\nx\nq\n")
        with pytest.raises(DomainError, match="no level 'q'"):
            read_rows(path, Schema(Category("b", ("x",))))
