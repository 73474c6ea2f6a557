"""`nomos init`: what it writes runs at once."""

from __future__ import annotations

import contextlib
import csv
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from nomos.cli import cli
from nomos.domain import Category, Flag, Integer, OneHot, Real, Schema
from nomos.domain.reading.csvfile import (
    infer_features,
    load_columns,
    number,
    read_rows,
    to_frame,
)
from nomos.errors import DomainError, NomosError


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run_specs(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command of the folder in this process."""
    with contextlib.chdir(folder):
        done = nomos(*arguments)
    return done.exit_code, done.output


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
    assert run_specs(folder / "first", "fmt", "--check", "specs")[0] == 0


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
            int(rng.integers(2**61, 2**62)),
            int(rng.integers(0, 2)),
        ]
        for i in range(60)
    ]
    head = ['Größe (cm) "barfuß"', "class-2", "for", "joined", "serial", "label"]
    write_csv(folder / "odd rows.csv", head, rows)
    result = nomos("init", "--model", "odd_model:judge", "--data", "odd rows.csv")
    assert result.exit_code == 0, result.output
    assert "`label` is taken for what is right" in result.output
    assert '`Größe (cm) "barfuß"` has missing values' in result.output
    assert "its column `serial` is not used" in result.output  # no float holds it
    assert "gets the days since 1970-01-01 for `joined`, and must" in result.output
    status, out = run_specs(folder, "check", "specs")
    assert status == 0, out
    assert run_specs(folder, "fmt", "--check", "specs")[0] == 0
    status, out = run_specs(folder, "run", "specs")
    assert status in (0, 1), out
    assert "crashed=0" in out


@pytest.mark.parametrize("model", ["here_only:judge", "models/judge.pkl"])
def test_the_command_finds_modules_in_the_current_folder_and_beside_a_pickle(
    folder, model
):
    (folder / "models").mkdir()
    source = "def judge(rows):\n    assert rows.shape[1] == 2\n    return rows[:, 0]\n"
    beside = folder / ("models" if model.endswith(".pkl") else ".")
    (beside / "here_only.py").write_text(source)
    # What pickle writes for a function: where it is found.
    (folder / "models" / "judge.pkl").write_bytes(b"\x80\x04chere_only\njudge\n.")
    # Only without its last column does the table have what the model takes.
    write_csv(folder / "rows.csv", ["a", "b", "c"], [[1, 2, 3], [5, 4, 3], [9, 9, 9]])
    command = shutil.which("nomos", path=str(Path(sys.executable).parent))
    assert command is not None
    for arguments in (
        ("init", "new", "--model", model, "--data", "rows.csv", "--trust"),
        ("run", "new/specs", "--quiet", "--trust"),
    ):
        done = subprocess.run([command, *arguments], cwd=folder, check=False)
        assert done.returncode == 0
    (beside / "here_only.py").write_text("def judge(rows):\n    1 / 0\n")
    done = subprocess.run(
        [command, "init", "other", "--model", model, "--data", "rows.csv", "--trust"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    # Of the first rows, and of all specs at once.
    assert done.stdout.count("ZeroDivisionError") == 2, done.stdout


def test_a_table_of_remarks_alone_is_refused(folder):
    write_csv(folder / "rows.csv", ["remark"], [[f"remark {n}"] for n in range(60)])
    result = nomos("init", "--model", "math:sqrt", "--data", "rows.csv")
    assert "rows.csv has no column of numbers" in str(result.exception)
    assert "a model of texts, images or sounds needs a domain" in str(result.exception)


def test_nothing_is_overwritten(folder):
    nomos("init")
    result = nomos("init")
    assert isinstance(result.exception, NomosError)
    assert "exists already" in str(result.exception)


def test_a_model_without_data_is_wrong_usage(folder):
    assert nomos("init", "--model", "m:f").exit_code == 2


def test_german_credit_from_its_onnx_file_and_a_table(folder):
    """The one-hot columns of the table are found to be groups; the label is left out."""
    from casestudies.german_credit.data import load_applicants
    from casestudies.german_credit.german_credit import MODELS, GermanCredit

    try:
        applicants = load_applicants("test")
    except NomosError as missing:
        pytest.skip(str(missing))
    head = [
        f"{feature.name}={level}" if isinstance(feature, OneHot) else feature.name
        for feature in GermanCredit.schema.features
        for level in (feature.levels if isinstance(feature, OneHot) else [""])
    ]
    rows = [
        [*map(int, row), int(good)]
        for row, good in zip(applicants.rows, applicants.granted, strict=True)
    ]
    write_csv(folder / "rows.csv", [*head, "class"], rows)
    model = folder / "m.onnx"
    model.write_bytes((MODELS / "dt.onnx").read_bytes())
    result = nomos("init", "--model", "m.onnx", "--data", "rows.csv")
    assert result.exit_code == 0, result.output
    assert "its column `class` is taken for what is right" in result.output
    assert 'OneHot("housing", (' in (folder / "rows.py").read_text()
    status, out = run_specs(folder, "check", "specs")
    assert (status, "3 specs, no mistakes" in out) == (0, True), out
    status, out = run_specs(folder, "run", "specs")
    assert status in (0, 1), out
    assert out.count("tests=5000") + out.count("search=exhaustive") == 3
    assert out.count("crashed=0") == 3


class TestColumns:
    """A model that was trained on a frame says which columns it takes."""

    @pytest.fixture
    def people(self, folder) -> pd.DataFrame:
        rng = np.random.default_rng(0)
        count = 120
        frame = pd.DataFrame(
            {
                "id": [f"p{number}" for number in range(count)],
                "member": rng.random(count) < 0.5,
                "town": rng.choice(["Aix", "Bern", "Cork"], count),
                "income": rng.integers(10, 120, count).astype(float),
                "loan": rng.choice(["no", "yes"], count),
            }
        )
        frame.loc[::9, "town"] = None
        frame.loc[::7, "income"] = None
        frame.to_csv(folder / "people.csv", index=False)
        return pd.read_csv(folder / "people.csv")

    def save(self, people: pd.DataFrame, path: Path) -> None:
        encode = (OneHotEncoder(handle_unknown="ignore"), ["town", "member"])
        model = make_pipeline(
            make_column_transformer(encode, (SimpleImputer(), ["income"])),
            DecisionTreeClassifier(random_state=0),
        )
        model.fit(people[["income", "town", "member"]], people["loan"])
        pytest.importorskip("skops.io").dump(model, path)

    def test_texts_and_gaps_reach_the_model_as_it_knows_them(self, folder, people):
        self.save(people, folder / "m.skops")
        result = nomos("init", "new", "--model", "m.skops", "--data", "people.csv")
        assert result.exit_code == 0, result.output
        assert "its column `id` is not used" in result.output
        assert "no answer" not in result.output
        domain = (folder / "new" / "people.py").read_text()
        assert 'Category("town", ("", "Aix", "Bern", "Cork"))' in domain
        assert 'HERE / "../m.skops"' in domain
        status, out = run_specs(folder / "new", "run", "specs", "--budget", "200")
        assert status in (0, 1), out
        assert out.count("crashed=0 flaky=0") == 3
        missing = folder / "new" / "specs" / "without_income.nom"
        assert "x1[income := missing]" in missing.read_text()

    def test_properties_of_a_model_of_texts_can_be_proved(self, folder, people):
        self.save(people, folder / "m.skops")
        people.drop(columns="id").to_csv(folder / "people.csv", index=False)
        result = nomos("init", "--model", "m.skops", "--data", "people.csv")
        assert "its column `loan` is taken for what is right" in result.output
        verify = ("verify", "specs/higher_income.nom")
        _, out = run_specs(folder, *verify)
        said = "`income` may be missing, and a proof is about values"
        assert said in " ".join(out.split())
        verify = (*verify, "--within", "income=10..119")
        status, out = run_specs(folder, *verify)
        assert status == 1 and "exact: 4,672 of 20,736 cases" in out, out
        spec = folder / "specs" / "label.nom"
        spec.write_text(
            "import people; input x; output d; { d = predict(x) }"
            " ensures d == label(x) || d != label(x);"
        )
        assert run_specs(folder, "run", str(spec))[0] == 0
        asked = ("--model", "m.skops", "--points", "60")
        status, out = run_specs(folder, "repair", "specs/higher_income.nom", *asked)
        assert status == 0 and "m.repaired.skops" in out, out
        assert run_specs(folder, *verify, "--model", "m.repaired.skops")[0] == 0

    def test_rows_are_those_that_pandas_reads(self, folder, people):
        schema = Schema(
            Category("member", ("False", "True")),
            Category("town", ("", "Aix", "Bern", "Cork")),
            Integer("income", 10, 119),
        )
        rows = read_rows(folder / "people.csv", schema, dtype=float)
        names = ["member", "town", "income"]
        pd.testing.assert_frame_equal(to_frame(rows, schema), people[names])
        alone = to_frame(rows[:1], schema)
        assert (alone.dtypes == people[names].dtypes).all()

    def test_columns_that_the_table_lacks_are_named(self, folder, people):
        self.save(people, folder / "m.skops")
        people[["id", "town"]].to_csv(folder / "few.csv", index=False)
        result = nomos("init", "--model", "m.skops", "--data", "few.csv")
        said = "was trained on columns that few.csv has not: income, member"
        assert said in str(result.exception)


class TestWidth:
    """How wide a model's rows are decides how its table is read."""

    @pytest.fixture
    def model(self, folder) -> Callable[[int], str]:
        def make(width: int) -> str:
            (folder / f"wide_{width}.py").write_text(
                "class Model:\n"
                f"    n_features_in_ = {width}\n"
                "    def predict(self, rows):\n        return rows[:, 0] > 1\n\n"
                "model = Model()\n"
            )
            return f"wide_{width}:model"

        return make

    def test_a_table_that_does_not_fit_is_refused_with_both_numbers(
        self, folder, model
    ):
        write_csv(folder / "rows.csv", ["a", "b"], [[1, "x"], [2, "y"]])
        result = nomos("init", "--model", model(9), "--data", "rows.csv")
        assert "takes 9 numbers a row" in str(result.exception)
        assert "1, 2, 3" in str(result.exception)

    @pytest.mark.parametrize(("width", "kind"), [(2, Category), (3, OneHot)])
    def test_categories_take_the_form_that_fits(self, folder, model, width, kind):
        write_csv(folder / "rows.csv", ["a", "b"], [[1, "x"], [2, "y"]])
        result = nomos("init", "--model", model(width), "--data", "rows.csv")
        assert result.exit_code == 0
        assert f'{kind.__name__}("b", ("x", "y"))' in (folder / "rows.py").read_text()


class TestAnswers:
    """What a model answers with decides what its specs ask."""

    def specs(self, folder: Path, answers: str) -> dict[str, str]:
        module = folder.name  # of the test: modules stay imported
        (folder / f"{module}.py").write_text(
            f"import numpy as np\ndef judge(rows):\n    return {answers}\n"
        )
        rows = [[age, "xy"[age % 2], age % 2 + 1] for age in range(20, 60)]
        write_csv(folder / "rows.csv", ["age", "town", "sex"], rows)
        result = nomos("init", "--model", f"{module}:judge", "--data", "rows.csv")
        assert result.exit_code == 0, result.output
        status, out = run_specs(folder, "run", "specs")
        assert status in (0, 1), out
        assert "crashed=0" in out
        paths = (folder / "specs").glob("*.nom")
        return {path.stem: path.read_text() for path in paths} | {"": result.output}

    def test_whole_numbers_are_compared_as_they_are(self, folder):
        made = self.specs(folder, "(rows[:, 0] > 40).astype(int)")
        assert "ensures d1 <= d2;" in made["higher_age"]
        assert "requires v2 <= 59;" in made["higher_age"]
        assert "ensures d1 == d3;" in made["indifferent_to_town"]
        assert "higher_sex" not in made  # 1 and 2 are no amounts

    def test_reals_may_differ_a_little(self, folder):
        made = self.specs(folder, "rows[:, 0] / 3")
        text = "d1 - d3 <= 0.4 && d3 - d1 <= 0.4"
        assert f"ensures {text};" in made["indifferent_to_town"]

    def test_words_are_kept(self, folder):
        made = self.specs(folder, "np.where(rows[:, 0] > 40, 'yes', 'no')")
        assert 'ensures d1 == "yes" ==> d2 == "yes";' in made["higher_age"]

    def test_columns_of_any_script_have_a_spec_each(self, folder):
        (folder / "fine.py").write_text("def judge(rows):\n    return rows[:, 0]\n")
        cells = [[n, n % 7, n % 9] for n in range(30, 60)]
        for head in (
            ["年龄", "收入", "x"],
            ["w 1", "w-1", "x"],
            ["Säure", "säure", "x"],
        ):
            write_csv(folder / "rows.csv", head, cells)
            made = nomos("init", head[0], "--model", "fine:judge", "--data", "rows.csv")
            specs = [*(folder / head[0]).glob("specs/higher_*.nom")]
            assert len(specs) == 2, made.output
            assert len({spec.read_text("utf-8") for spec in specs}) == 2

    def test_a_text_among_numbers_is_named(self, folder):
        (folder / "fine.py").write_text("def judge(rows):\n    return rows[:, 0]\n")
        cells = [["1", "a"], ["2", "b"], ["lots", "7"], ["5", "a"]]
        write_csv(folder / "rows.csv", ["age", "town"], cells)
        result = nomos("init", "--model", "fine:judge", "--data", "rows.csv")
        assert "column `age` is taken for names: 'lots' is no number" in result.output
        assert "column `town` is taken" not in result.output

    def test_model_that_fails_says_so_at_once(self, folder):
        (folder / "failing.py").write_text(
            "def judge(rows):\n    raise ValueError('no:\\nwhy')\n"
        )
        write_csv(folder / "rows.csv", ["age"], [[1], [2], [5]])
        result = nomos("init", "--model", "failing:judge", "--data", "rows.csv")
        assert "note: the model has no answer for the first rows: " in result.output
        assert "help: give it rows as in its training: mend" in result.output
        assert "ValueError: no: why\n" in result.output


class TestCsv:
    def test_kinds_are_found_out(self, tmp_path):
        path = tmp_path / "t.csv"
        head = ["n", "r", "f", "c", "town=A", "town=B", "remark"]
        rows = [
            [i, i / 2, i % 2, "xyz"[i % 3], i % 2, 1 - i % 2, f"t{i}"]
            for i in range(50)
        ]
        write_csv(path, head, rows)
        features = infer_features(load_columns(path), one_hot=False)
        assert features == [
            Integer("n", 0, 49),
            Real("r", 0.0, 24.5),
            Flag("f"),
            Category("c", ("x", "y", "z")),
            OneHot("town", ("A", "B")),
        ]
        scattered = ["town=A", "n", "town=B"]  # a group's columns stay where they are
        columns = load_columns(path)
        kept = infer_features({n: columns[n] for n in scattered}, one_hot=False)
        assert kept == [Flag("town=A"), Integer("n", 0, 49), Flag("town=B")]
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
            ("a,b\n1,2\n3\n", "line 3 has 1 field, and the head line has 2"),
        ],
    )
    def test_broken_tables_are_refused(self, tmp_path, text, says):
        path = tmp_path / "t.csv"
        path.write_text(text)
        with pytest.raises(DomainError, match=says):
            load_columns(path)

    def test_other_separators_and_a_byte_order_mark_are_read(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a;b\n1;x\n", encoding="utf-8-sig")
        columns = load_columns(path)
        assert {name: [*cells] for name, cells in columns.items()} == {
            "a": ["1"],
            "b": ["x"],
        }

    def test_a_level_that_the_schema_lacks_is_named(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("b\nx\nq\n")
        with pytest.raises(DomainError, match="no level 'q'"):
            read_rows(path, Schema(Category("b", ("x",))))


def test_the_column_of_right_answers_can_be_named(folder):
    (folder / "judging.py").write_text("def judge(rows):\n    return rows[:, 0]\n")
    rows = [[n, ["Aix", "Bern"][n % 2], n / 8, n] for n in range(20)]
    write_csv(folder / "homes.csv", ["rooms", "town", "rent", "age"], rows)
    given = ("init", "--model", "judging:judge", "--data", "homes.csv")
    wrong = nomos(*given, "--label", "rents")
    assert "has no column `rents`; it has: rooms, town, rent" in str(wrong.exception)
    result = nomos(*given, "--label", "rent")
    assert result.exit_code == 0, result.output
    text = (folder / "homes.py").read_text()
    assert 'read_labels(data, "rent")' in text
    assert 'Real("rent"' not in text
    said = (
        "the model gets numbers for `town`, and must have been trained so: 0 for 'Aix'"
    )
    assert said in result.output
    assert nomos("init", "--label", "rent").exit_code == 2
