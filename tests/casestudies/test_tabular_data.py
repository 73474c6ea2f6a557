"""COMPAS and German credit: what is loaded, how it is split, and the committed models."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from casestudies.compas import data as compas_data
from casestudies.compas.compas import Compas
from casestudies.compas.data import FULL, TWO_YEARS, is_for_training, load_people
from casestudies.datasets import DataFile, DataMissingError, find
from casestudies.german_credit import data as german_data
from casestudies.german_credit.data import GERMAN, LEVELS, load_applicants
from casestudies.german_credit.german_credit import GermanCredit

ROOT = Path(__file__).parents[2]
CASES = ROOT / "casestudies"
Table = Callable[[DataFile], Path]


@pytest.fixture(scope="session")
def table() -> Table:
    """Find a real table, or skip with the loader's own message."""

    def path_of(file: DataFile) -> Path:
        match outcome(file):
            case Path() as path:
                return path
            case DataMissingError() as missing:
                pytest.skip(str(missing))

    return path_of


@cache
def outcome(file: DataFile) -> Path | DataMissingError:
    """Look for a table once: it takes seconds to find out that there is none."""
    try:
        return find(file)
    except DataMissingError as missing:
        return missing


COLUMNS = (
    "id,name,first,last,dob,sex,age,race,juv_fel_count,decile_score,juv_misd_count,"
    "juv_other_count,priors_count,c_case_number,c_charge_degree,is_recid,"
    "is_violent_recid,v_decile_score,decile_score,score_text"
)


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """Return a table with personal columns, as the published one has them."""
    person = "{id},Name,First,Last,Born,Male,30,Other,1,5,2,3,4,Case,{charge},{recid},0,6,5,{text}"
    people = [
        person.format(id=1, charge="F", recid=0, text="Low"),
        person.format(id=2, charge="M", recid=1, text="Medium"),
        person.format(id=3, charge="O", recid=1, text="High"),
        person.format(id=4, charge="O", recid=-1, text="High"),
        person.format(id=5, charge="F", recid=0, text="N/A"),
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join([COLUMNS, *people]) + "\n")
    return path


def everyone(table: Path) -> dict[int, tuple[list[float], int]]:
    parts = [load_people("train", table=table), load_people("test", table=table)]
    return {
        int(person): (row.tolist(), int(risk))
        for part in parts
        for row, risk, person in zip(part.rows, part.risks, part.ids, strict=True)
    }


def test_a_person_is_coded_as_numbers_then_sex_race_and_charge(made_up: Path) -> None:
    row, risk = everyone(made_up)[2]
    numbers = [30, 1, 2, 3, 4, 1, 0, 6]
    assert row == [*numbers, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1]
    assert risk == 1


def test_people_without_a_score_or_with_an_unknown_record_are_dropped(
    made_up: Path,
) -> None:
    assert set(everyone(made_up)) == {1, 2, 3}


def test_an_other_charge_is_coded_as_the_two_years_table_codes_it(
    made_up: Path,
) -> None:
    people = everyone(made_up)
    charge = slice(-2, None)
    assert people[3][0][charge] == people[2][0][charge] == [0, 1]
    assert people[1][0][charge] == [1, 0]


def test_no_personal_value_is_loaded(made_up: Path) -> None:
    loaded = str(list(compas_data.read_records(made_up)))
    assert "Other" in loaded
    for value in ("Name", "First", "Last", "Born", "Case"):
        assert value not in loaded


@pytest.mark.parametrize("file", [FULL, TWO_YEARS], ids=lambda file: file.name)
def test_training_and_test_people_are_different_and_two_thirds_train(
    table: Table, file: DataFile
) -> None:
    train = load_people("train", table=table(file))
    test = load_people("test", table=table(file))
    assert not set(train.ids) & set(test.ids)
    assert len(train.ids) / (len(train.ids) + len(test.ids)) == pytest.approx(
        0.67, abs=0.01
    )


def test_both_tables_have_the_same_people_in_the_test_part_with_the_same_rows(
    table: Table,
) -> None:
    full, part = everyone(table(FULL)), everyone(table(TWO_YEARS))
    assert len(part) == 7214
    assert part.items() <= full.items()
    tested = set(load_people("test", table=table(TWO_YEARS)).ids)
    assert tested == {person for person in part if not is_for_training(person)}


@pytest.mark.parametrize("file", [FULL, TWO_YEARS], ids=lambda file: file.name)
def test_the_compas_schema_is_true_of_the_data(table: Table, file: DataFile) -> None:
    for part in ("train", "test"):
        assert Compas.schema.problems(load_people(part, table=table(file)).rows) == []


def test_the_compas_schema_has_the_features_in_the_order_of_the_rows() -> None:
    names = [feature.name for feature in Compas.schema.features]
    assert names == [*compas_data.NUMBERS, *compas_data.GROUPS]


def test_a_violent_recidivist_is_always_a_recidivist(table: Table) -> None:
    # Two specs rely on it: they require what keeps a changed person possible.
    people = load_people("test", table=table(TWO_YEARS)).rows
    at = compas_data.NUMBERS.index
    assert (people[:, at("is_violent_recid")] <= people[:, at("is_recid")]).all()


def test_the_german_schema_is_true_of_the_data(table: Table) -> None:
    for part in ("train", "test"):
        rows = load_applicants(part, table=table(GERMAN)).rows
        assert GermanCredit.schema.problems(rows) == []


def test_the_german_schema_has_the_features_in_the_order_of_the_rows() -> None:
    groups = (german_data.NUMBERS, german_data.ORDINALS, german_data.ONE_HOTS)
    names = [feature.name for feature in GermanCredit.schema.features]
    assert names == [name for group in (*groups, german_data.FLAGS) for name in group]


def test_an_applicant_is_coded_feature_by_feature() -> None:
    # The second line of the file.
    line = "A12 48 A32 A43 5951 A61 A73 2 A92 A101 2 A121 22 A143 A152 1 A173 1 A191 A201 2"
    row = np.array(german_data.encode(line.split()), dtype=np.float32)
    seen = {
        feature.name: feature.decode_value(
            row[GermanCredit.schema.place(feature.name)[1]]
        )
        for feature in GermanCredit.schema.features
    }
    assert seen == {
        "duration": 48,
        "credit_amount": 5951,
        "installment_rate": 2,
        "residence_since": 2,
        "age": 22,
        "existing_credits": 1,
        "people_liable": 1,
        "credit_history": 2,
        "employment_since": 2,
        "job": 2,
        "checking_account": "below 200 DM",
        "purpose": "radio or television",
        "savings": "below 100 DM",
        "personal_status": "female not single",
        "other_debtors": "none",
        "property": "real estate",
        "other_installments": "none",
        "housing": "own",
        "telephone": 0,
        "foreign_worker": 1,
    }


@pytest.mark.parametrize("name", german_data.ORDINALS)
def test_ordinal_levels_go_up_with_the_codes(name: str) -> None:
    assert list(LEVELS[name]) == sorted(LEVELS[name])


def test_seven_of_ten_applicants_are_good(table: Table) -> None:
    parts = [load_applicants(part, table=table(GERMAN)) for part in ("train", "test")]
    assert sum(int(part.granted.sum()) for part in parts) == 700


def test_the_german_split_is_the_one_of_scikit_learn() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    train, test = selection.train_test_split(
        range(1000), test_size=0.33, random_state=42
    )
    assert german_data.numbers_of("train", 1000) == train
    assert german_data.numbers_of("test", 1000) == test


def read_card(case: str) -> dict[str, dict[str, dict[str, float]]]:
    return json.loads((CASES / case / "models" / "card.json").read_text())


@pytest.mark.parametrize("case", ["compas", "german_credit"])
def test_the_card_describes_the_committed_models(case: str) -> None:
    card = read_card(case)
    models = {path.name: path for path in (CASES / case / "models").glob("*.onnx")}
    assert {name: sha256(path) for name, path in models.items()} == card["sha256"]
    assert (ROOT / card["script"]).is_file()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_cards_name_the_data_that_is_loaded() -> None:
    assert read_card("compas")["data"] == {
        file.name: file.sha256 for file in (FULL, TWO_YEARS)
    }
    assert read_card("german_credit")["data"] == {GERMAN.name: GERMAN.sha256}


@pytest.mark.parametrize("file", [FULL, TWO_YEARS, GERMAN], ids=lambda file: file.name)
@pytest.mark.parametrize("model", ["nn.onnx", "dt.onnx"])
def test_a_committed_model_is_as_often_right_as_its_card_says(
    table: Table, file: DataFile, model: str
) -> None:
    case = "german_credit" if file is GERMAN else "compas"
    load = load_applicants if file is GERMAN else load_people
    rows, labels = load("test", table=table(file))[:2]
    answers = predict(CASES / case / "models" / model, rows)
    said = read_card(case)["accuracy"][model][f"test {file.name}"]
    assert round(float((answers == labels).mean()), 4) == said


def predict(model: Path, rows: np.ndarray) -> np.ndarray:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(model))
    first = session.run(None, {"rows": rows})[0]
    return first if first.ndim == 1 else first.argmax(axis=1)


FEATURE_OF = {
    "felony": "juv_fel_count",
    "misdmnr": "juv_misd_count",
    "priors": "priors_count",
    "others": "juv_other_count",
    "is_recid": "is_recid",
    "is_v_recid": "is_violent_recid",
    "crdt_amount": "credit_amount",
    "crdt_hist": "credit_history",
    "empl_since": "employment_since",
    "install_rate": "installment_rate",
    "job": "job",
}


@pytest.mark.parametrize(("case", "count"), [("compas", 12), ("german_credit", 10)])
def test_each_spec_updates_the_one_feature_that_its_name_says(
    case: str, count: int
) -> None:
    specs = sorted((CASES / case / "specs").glob("*.nom"))
    assert len(specs) == count
    for spec in specs:
        about = spec.stem.rpartition("_")[0]
        updated = re.findall(r"\[(\w+) :=", spec.read_text())
        assert updated == [FEATURE_OF[about]], spec.name


def test_importing_the_domains_loads_no_model_runtime() -> None:
    code = (
        "import sys, casestudies.compas.compas, casestudies.german_credit.german_credit;"
        "print({'onnxruntime', 'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == "set()\n", done.stderr
