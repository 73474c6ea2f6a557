"""Specs and models without files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import nomos
from nomos.domain.reading.table import as_table, infer_feature
from nomos.report.summary import failure_text

MONOTONE = """
    # A higher income never loses the loan.
    input x1;
    var x2 := x1[income := x1.income + randInt(1, 9)];
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures d1 <= d2;
"""


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "income": rng.integers(0, 100, 60),
            "share": rng.random(60),
            "town": rng.choice(["Aix", "Bern", "Cork"], 60),
            "member": rng.random(60) < 0.5,
        }
    )


def bump(income):
    return ((income >= 30) & ~((income >= 60) & (income < 65))).astype(int)


def test_a_frame_comes_to_the_model_as_it_was(frame):
    seen = []

    def predict(rows):
        seen.append(rows)
        return bump(rows["income"])

    result = nomos.run(MONOTONE, inputs=frame, predict=predict)
    assert result.verdict == "violated"
    assert all(list(rows.columns) == list(frame.columns) for rows in seen)
    assert all((rows.dtypes == frame.dtypes).all() for rows in seen)
    assert set(seen[0]["town"]) <= {"Aix", "Bern", "Cork"}
    bug = result.bugs[0]
    assert bug.outputs["d1"] == 1
    assert bug.outputs["d2"] == 0


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_of_a_very_large_frame_rows_are_drawn_with_their_labels(
    frame, kind, monkeypatch
):
    for module in ("nomos.inline", "nomos.domain.reading.table"):
        monkeypatch.setattr(f"{module}.LARGEST_FRAME", 20)
    spec = "input x;\noutput same;\n{ same = predict(x) == label(x) }\nensures same;"
    given = {"labels": frame["income"].tolist(), "predict": lambda x: x["income"]}
    with pytest.warns(UserWarning, match="of 60 rows 20 are drawn at random"):
        result = nomos.run(
            spec, inputs=kind(frame.to_dict("list")), budget=500, **given
        )
    assert (result.verdict, result.search) == ("none-found", "random")
    whole = nomos.run(spec, inputs=frame, search="exhaustive", **given)
    assert (whole.verdict, whole.counts.tests) == ("holds", 60)


def test_an_array_has_features_by_number_and_as_f0_f1(frame):
    rows = frame[["income", "share"]].to_numpy(dtype=np.float32)
    text = MONOTONE.replace("x1.income", "getFeat(x1, 0)").replace("income :=", "f0 :=")
    result = nomos.run(text, inputs=rows, predict=lambda rows: bump(rows[:, 0]))
    by_name = nomos.run(MONOTONE, inputs=frame, predict=lambda f: bump(f["income"]))
    assert [b.choices for b in result.bugs] == [b.choices for b in by_name.bugs]


def test_records_can_be_dicts(frame):
    records = frame.to_dict("records")
    result = nomos.run(
        MONOTONE,
        inputs=records,
        predict=lambda people: [int(bump(np.array(p["income"]))) for p in people],
    )
    by_frame = nomos.run(MONOTONE, inputs=frame, predict=lambda f: bump(f["income"]))
    assert [b.choices for b in result.bugs] == [b.choices for b in by_frame.bugs]


def test_labels_and_texts_need_no_table():
    result = nomos.run(
        """
        input x;
        var y := strConcat(x, "!");
        output a;
        output b;
        { a = score(x)
          b = score(y) }
        ensures a == label(x) ==> b == label(x);
        """,
        inputs=["good", "bad!", "fine"],
        labels=[0, 1, 0],
        score=lambda texts: [t.count("!") for t in texts],
    )
    assert result.counts.unique_bugs == 3
    assert result.verdict == "violated"


def test_a_wrong_spec_raises_with_its_diagnostics(frame):
    with pytest.raises(nomos.SpecError, match="`incom`") as caught:
        nomos.run(
            MONOTONE.replace("x1.income", "x1.incom"),
            inputs=frame,
            predict=lambda f: bump(f["income"]),
        )
    assert caught.value.diagnostics[0].help == "did you mean `income`?"
    said = str(caught.value)
    assert "^^^^^" in said and "= help: did you mean `income`?" in said


def test_what_is_no_sequence_and_what_has_no_function_is_refused(frame):
    with pytest.raises(nomos.NomosError, match="a table or a sequence"):
        nomos.run(MONOTONE, inputs=7, predict=len)
    with pytest.raises(nomos.NomosError, match="at least one function"):
        nomos.run(MONOTONE, inputs=frame)


def test_a_spec_can_be_kept_under_a_name_or_read_from_a_file(frame, tmp_path):
    kept = nomos.spec(MONOTONE, name="monotone")
    path = tmp_path / "monotone.nom"
    path.write_text(kept.text)
    results = [
        nomos.run(given, inputs=frame, predict=lambda f: bump(f["income"]))
        for given in (kept, path, str(path))
    ]
    assert {r.name for r in results} == {"monotone"}
    assert len({tuple(b.id for b in r.bugs) for r in results}) == 1


def test_a_notebook_shows_the_result_with_everything_escaped():
    result = nomos.run(
        "# <b>bold</b>\ninput x;\noutput d;\n{ d = f(x) }\nensures d == 1;\n",
        inputs=["<script>alert(1)</script>"],
        f=lambda texts: [0] * len(texts),
    )
    html = result._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>bold" not in html
    assert "violated" in repr(result)


def test_a_printed_result_says_how_often_and_shows_the_bug_that_misses_by_most(frame):
    spec = MONOTONE.replace("d1 <= d2", "d1 <= d2 + 0.5")

    def predict(rows):
        return np.where(rows["income"] < 60, rows["income"], rows["income"] - 50)

    result = nomos.run(spec, inputs=frame, predict=predict)
    widest = max(b.outputs["d1"] - b.outputs["d2"] for b in result.bugs if b.outputs)
    first, *rest = str(result).split("\n")
    said, names, changed, same, outputs = rest[-5:]
    assert first.startswith("property: violated; exact: ")
    assert said == "`d1 <= d2 + 0.5` does not hold:"
    assert names.split() == ["x1", "x2"]
    assert changed.split()[:2] == ["*", "income"]
    assert same.strip() == "(3 other features are the same)"
    d1, d2 = (int(part.rpartition(" ")[2]) for part in outputs.split("   "))
    assert d1 - d2 == widest


def test_a_notebook_marks_what_differs_and_leaves_out_what_does_not(frame):
    result = nomos.run(MONOTONE, inputs=frame, predict=lambda f: bump(f["income"]))
    html = result._repr_html_()
    assert "<th>income</th>" in html
    assert "<th>town</th>" not in html
    assert "3 other features the same" in html
    assert f"and {result.counts.unique_bugs - 3} other bugs" in html


def test_a_notebook_shows_images():
    shades = np.random.default_rng(0).random((5, 9, 9))
    result = nomos.run(
        "input x;\noutput d;\n{ d = f(x) }\nensures d > 1;\n",
        inputs=list(shades),
        f=lambda images: [float(image.mean()) for image in images],
    )
    assert result._repr_html_().count('src="data:image/png;base64,') == 3


def test_a_record_alone_is_shown_whole(frame):
    text = "input x;\noutput d;\n{ d = predict(x) }\nensures d > 0;\n"
    result = nomos.run(text, inputs=frame, predict=lambda f: f["income"] * 0)
    for shown in (str(result), result._repr_html_()):
        assert all(name in shown for name in frame.columns)


def test_a_result_without_bugs_is_one_line(frame):
    result = nomos.run(MONOTONE, inputs=frame, predict=lambda f: f["income"])
    assert str(result) == "property: holds; exact: 0 of 540"
    assert "<table>" not in result._repr_html_()


class TestTables:
    def test_kinds_are_inferred_from_the_values(self):
        kinds = {
            "Flag": [0, 1, 1],
            "Integer": [0, 1, 2],
            "Real": [0.5, 1.0, 2.0],
            "Category": np.array(["a", "b"], dtype=object),
        }
        for kind, values in kinds.items():
            assert type(infer_feature("f", np.asarray(values))).__name__ == kind

    def test_missing_numbers_stay_missing(self):
        table = as_table(pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]}))
        back = table.original(table.rows)
        assert np.isnan(back["a"][1])
        assert back["b"][0] == "x"
        assert pd.isna(back["b"][1])

    def test_what_a_category_holds_comes_back_as_it_was(self):
        mixed = pd.DataFrame({"a": pd.Series([1, "x", None, 1], dtype=object)})
        back = as_table(mixed).original(as_table(mixed).rows)
        assert back["a"].tolist() == [1, "x", None, 1]

    @pytest.mark.parametrize(
        ("column", "kind", "fits", "unfit"),
        [
            (pd.array([1, None, 3], dtype="Int8"), "Integer", 5.0, 128.0),
            (pd.array([1, None, 3], dtype="Int64"), "Integer", np.nan, 0.5),
            (pd.array([True, None, False], dtype="boolean"), "Flag", 1.0, 2.0),
            (pd.array([1.5, None, 3], dtype="Float32"), "Real", 0.1, 1e300),
            (np.array([1, 2, 3], "f2"), "Integer", 2048.0, 2049.0),
            (np.array([1, 2, 3]), "Integer", 5.0, np.nan),
            (pd.Categorical([3, 1, None]), "Category", 2.0, 5.0),
            (pl.Series([1, None, 3], dtype=pl.UInt8), "Integer", np.nan, 256.0),
            (pl.Series([True, None, False]), "Flag", np.nan, 0.5),
            (pl.Series([1.5, None, 3.0]), "Real", 0.1, None),
            (pl.Series([None, None], dtype=pl.Int64), "Real", np.nan, 0.5),
        ],
        ids=str,
    )
    def test_a_column_comes_back_in_its_own_type_or_is_refused(
        self, column, kind, fits, unfit
    ):
        library = pl if isinstance(column, pl.Series) else pd
        frame = library.DataFrame({"a": column})
        table = as_table(frame)
        assert type(table.schema.features[0]).__name__ == kind
        assert table.original(table.rows).equals(frame)
        rows = table.rows.copy()
        rows[0, 0] = fits
        held = table.original(rows)["a"]
        assert held.dtype == frame["a"].dtype
        rows[0, 0] = unfit
        if unfit is not None:
            with pytest.raises((OverflowError, IndexError)):
                table.original(rows)

    @pytest.mark.parametrize(
        ("column", "words"),
        [
            (
                pd.array([2**53 + 1, None], dtype="Int64"),
                "does not fit rows of float64",
            ),
            (pl.Series([2**53 + 1, None]), "does not fit rows of float64"),
            (
                pl.Series([1.5, None, float("nan")]),
                "holds NaN and nulls: make them one",
            ),
        ],
        ids=str,
    )
    def test_a_column_that_floats_cannot_hold_is_refused(self, column, words):
        library = pl if isinstance(column, pl.Series) else pd
        with pytest.raises(nomos.DomainError, match=words):
            as_table(library.DataFrame({"a": column}))

    def test_rows_come_back_exactly(self, frame):
        table = as_table(frame)
        pd.testing.assert_frame_equal(
            table.original(table.rows),
            frame.astype({"town": object}),
            check_dtype=False,
        )


def test_params_take_the_values_they_are_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "common.nom").write_text("def near(a, b, e) := abs(a - b) <= e;\n")
    text = (
        'use "common.nom";\nparam eps := 0.5;\ninput x1;\noutput d1;\n'
        "{ d1 = predict(x1) }\nensures near(d1, x1.f0, eps);\n"
    )
    rows = np.arange(10.0).reshape(-1, 1)
    runs = [
        nomos.run(text, inputs=rows, predict=lambda x: x[:, 0] + 1, params=params)
        for params in (None, {"eps": 2})
    ]
    assert [run.verdict for run in runs] == ["violated", "holds"]


class Classifier:
    classes_ = np.array(["no", "yes"])

    def predict(self, people):
        return np.where(people.income > 50, "yes", "no")


def evaluated(frame, ensures, predict, **options):
    text = f"""
    input x1;
    var x2 := x1[income := x1.income + 1];
    output d1;
    output d2;
    {{
      d1 = predict(x1)
      d2 = predict(x2)
    }}
    ensures {ensures};
    """
    return nomos.run(text, inputs=frame, predict=predict, **options)


def test_what_a_classifier_never_answers_is_told_and_so_is_an_order_of_names(frame):
    predict = Classifier().predict
    assert evaluated(frame, 'd1 == "yes" ==> d2 == "yes"', predict).verdict == "holds"
    with pytest.raises(nomos.NomosError, match="never answers 'Yes'"):
        evaluated(frame, 'd2 == "Yes" ==> d1 == "Yes"', predict)
    with pytest.raises(nomos.NomosError, match="compares by the alphabet"):
        evaluated(frame, "d1 <= d2", predict)


@pytest.mark.parametrize("budget", [None, 40])
def test_an_implication_whose_premise_no_case_has_is_no_success(frame, budget):
    def predict(people):
        return Classifier().predict(people)

    found = evaluated(frame, 'd1 == "Yes" ==> d2 == "Yes"', predict, budget=budget)
    assert (found.verdict, found.counts.violations) == ("failed", 0)
    assert 'has what stands before `==>` in `d1 == "Yes" ==>' in found.problem
    twice = 'd1 == "Yes" ==> d2 == "Yes"; ensures d1 == "yes" ==> d2 == "yes"'
    both = evaluated(frame, twice, predict)
    assert both.verdict == "holds"
    assert [one.is_vacuous for one in both.ensures] == [True, False]
    assert "none of which has what stands before `==>`" in failure_text(both)
    nan = evaluated(frame, "d1 > 0.5 ==> d2 > 0.5", lambda rows: rows.income * np.nan)
    assert nan.verdict == "failed"
