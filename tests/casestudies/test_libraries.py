"""Promises of libraries: configurations, the page from stored results, known findings."""

import json
import os
import re
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from casestudies.libraries import page, reports, study
from casestudies.libraries.changes import Changes
from casestudies.libraries.configurations import Configuration, Drawn, draw, load, save
from casestudies.libraries.findings import FINDINGS, finding_of
from casestudies.libraries.libraries import Libraries
from casestudies.libraries.promises import PROMISES, learners_of
from casestudies.libraries.spaces import SPACES

ROOT = Path(page.__file__).parents[2]
STUDY = json.loads(page.RESULTS.read_text())
SHOWN = [finding for finding in FINDINGS if finding.name in STUDY["shown"]]


def test_a_number_stands_for_one_configuration():
    drawn = Drawn("xgboost.XGBRegressor", count=50)
    assert [c.number for c in drawn] == list(range(50))
    assert repr(drawn[7]) == repr(draw("xgboost.XGBRegressor", 7))
    assert len({repr(c.settings) for c in drawn}) > 25


def test_configurations_have_ties_missing_values_categories_and_few_rows():
    drawn = Drawn("lightgbm.LGBMRegressor")[:300]
    assert {len(c.rows) for c in drawn} == {4, 8, 20, 60}
    assert any(value != value for c in drawn for row in c.rows for value in row)
    assert any("categorical_feature" in c.settings for c in drawn)
    assert any(0 in c.weights for c in drawn)


def test_a_pool_gives_back_what_was_saved(tmp_path):
    drawn = Drawn("catboost.CatBoostClassifier")[:5]
    save(drawn, tmp_path / "pool.json")
    assert repr(load(tmp_path / "pool.json")) == repr(drawn)


def test_features_and_weights_are_multiplied():
    c = draw("sklearn.linear_model.ElasticNet", 3)
    large = Changes().heavier(Changes().scaled(c, 1024), 4)
    assert large.rows[0][0] == 1024 * c.rows[0][0]
    assert large.weights == tuple(4 * weight for weight in c.weights)
    assert large.target == c.target


def test_words_for_classes_and_another_order_of_rows_give_the_same_answers():
    pytest.importorskip("sklearn")
    domain = Libraries("sklearn.tree.DecisionTreeClassifier")
    c = Configuration(domain.model, {}, ((0.0,), (1.0,), (2.0,)), (0, 1, 0), (1, 1, 1))
    assert domain.predict(c, c.rows).tolist() == [[1, 0], [0, 1], [1, 0]]
    for asked in (domain.backwards, domain.renamed):
        assert asked(c, c.rows[:2]).tolist() == [[1, 0], [0, 1]]


def test_columns_are_taken_by_name():
    pytest.importorskip("sklearn")
    domain = Libraries("pipeline.Regressor")
    settings = {"final": "LinearRegression", "step": {"name": "MinMaxScaler"}}
    rows = ((0.0, 5.0), (1.0, 3.0), (2.0, 4.0))
    c = Configuration(domain.model, settings, rows, (0.0, 1.0, 2.0), (1, 1, 1))
    assert domain.by_names(c, rows, 1) == pytest.approx([0, 1, 2])
    turned = [row[::-1] for row in rows]
    assert domain.by_names(c, turned, 0) != pytest.approx([0, 1, 2])


def test_a_longer_campaign_takes_the_place_of_a_shorter_one(tmp_path):
    out = tmp_path / "results.json"
    entry = {"promise": "monotone", "learner": "a", "violations": 0, "judged": 50}
    for changed in ({}, {"learner": "b"}, {"judged": 200}):
        study.keep(entry | changed, out)
    kept = study.read(out)["campaigns"]
    assert [(e["learner"], e["judged"]) for e in kept] == [("b", 50), ("a", 200)]


def test_there_are_25_promises_of_4_libraries_each_with_a_spec_and_learners():
    assert len(PROMISES) >= 25
    specs = {path.stem for path in (ROOT / "casestudies/libraries/specs").iterdir()}
    assert specs == set(PROMISES)
    learners = {learner for promise in PROMISES for learner in learners_of(promise)}
    assert learners <= set(SPACES)
    assert len({learner.partition(".")[0] for learner in learners}) >= 4


def test_the_page_is_made_of_the_stored_results():
    text = page.PAGE.read_text(encoding="utf-8")
    part = text.partition("<!-- begin results: generated -->")[2]
    assert part.partition("<!-- end results -->")[0].strip() == page.markdown(STUDY)


def test_what_is_called_broken_is_argued_and_the_rest_is_listed_as_open():
    for campaign in STUDY["campaigns"]:
        argued = any(finding_of(campaign, cause) for cause in campaign["causes"])
        column = page.column_of(campaign)
        said = page.cell([campaign], campaign["promise"], column)
        assert said.startswith("broken") == argued
        assert said.startswith("kept") == (
            campaign["violations"] == 0 and campaign["judged"] > 0
        )


def test_three_promises_or_more_are_broken_each_with_a_short_script():
    assert len(SHOWN) >= 3
    for finding in SHOWN:
        path = page.SCRIPTS / f"{finding.name.replace('-', '_')}.py"
        code = path.read_text(encoding="utf-8")
        assert len(code.splitlines()) <= 20
        assert "nomos" not in code
        first, second = STUDY["shown"][finding.name]
        assert first == second
        assert "expected" in first and "seen" in first


def test_each_finding_that_nobody_reported_has_a_report_to_paste():
    unknown = reports.unknown_findings(STUDY)
    assert {finding.name for finding in unknown} == set(reports.FIXES)
    for finding in unknown:
        written = reports.REPORTS / finding.name / "REPORT.md"
        assert written.read_text(encoding="utf-8") == reports.write_report(
            STUDY, finding
        )
    assert len(list(reports.REPORTS.iterdir())) == len(unknown) >= 13


@pytest.mark.slow
def test_sentences_stand_in_the_docstrings_of_the_installed_versions():
    def flat(text):
        return re.sub(r"[\s#]+", " ", text)

    for sources in PROMISES.values():
        for source in sources:
            if source.where.startswith("http"):
                continue
            pytest.importorskip(source.where.partition(".")[0])
            text = Path(find_spec(source.where).origin).read_text(encoding="utf-8")
            assert flat(source.sentence) in flat(text), source


FIND = """
import sys
from casestudies.libraries.study import campaign
options = {"budget": 600, "until_bug": True, "isolate": True, "call_timeout_s": 60}
result = campaign(sys.argv[1], sys.argv[2], 11, **options)
print(result.counts.violations)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "learner"),
    [
        ("monotone", "xgboost.XGBRegressor"),
        ("monotone", "sklearn.ensemble.HistGradientBoostingRegressor"),
        ("contributions_sum", "catboost.CatBoostRegressor"),
        ("weights_are_copies", "sklearn.dummy.DummyRegressor"),
    ],
)
def test_the_engine_finds_a_known_one_from_a_fresh_seed(promise, learner):
    pytest.importorskip(learner.partition(".")[0])
    done = subprocess.run(
        [sys.executable, "-c", FIND, promise, learner],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 1


EACH = """
import sys
from casestudies.libraries.promises import PROMISES, learners_of
from casestudies.libraries.study import campaign, learners_in
for promise in PROMISES:
    for learner in [n for n in learners_in(sys.argv[1]) if n in learners_of(promise)][:1]:
        counts = campaign(promise, learner, 1, budget=2).counts
        assert counts.evaluated and not counts.crashed, (promise, learner, counts)
        print(promise)
"""


@pytest.mark.slow
@pytest.mark.parametrize("library", study.LIBRARIES)
def test_each_promise_of_a_library_is_judged_on_some_configurations(library):
    pytest.importorskip("skl2onnx", reason="needs pip install 'nomos-ml[wild]'")
    pytest.importorskip(library)
    done = subprocess.run(
        [sys.executable, "-c", EACH, library],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


AGAIN = """
from casestudies.libraries.study import found_with
entry = {"promise": "weights_are_copies", "learner": "sklearn.dummy.DummyRegressor"}
print(found_with(11, entry, {"sklearn-weights-dummy"}, isolate=False))
"""


@pytest.mark.slow
def test_a_fresh_seed_finds_the_same_cause():
    pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, "-c", AGAIN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "{'sklearn-weights-dummy':" in done.stdout, done.stderr


SHRINK = """
from casestudies.libraries.study import campaign, told
names = "weights_are_copies", "sklearn.dummy.DummyRegressor"
cause = told(campaign(*names, 11, budget=600, until_bug=True))["causes"][0]
print(len(cause["settings"]), len(cause["rows"]))
"""


@pytest.mark.slow
def test_a_finding_is_shrunk_to_few_settings_and_rows():
    done = subprocess.run(
        [sys.executable, "-c", SHRINK],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    settings, rows = map(int, done.stdout.split()[-2:])
    assert settings <= 2  # the strategy, and its quantile
    assert rows <= 3


@pytest.mark.slow
@pytest.mark.parametrize("finding", SHOWN, ids=lambda finding: finding.name)
def test_a_script_shows_its_finding_on_the_versions_of_the_study(finding):
    here = {name: study.version_of(name) for name in STUDY["versions"]}
    if here != STUDY["versions"]:
        pytest.skip(f"the study is of other versions: {here}")
    path = page.SCRIPTS / f"{finding.name.replace('-', '_')}.py"
    assert page.run_script(path) == STUDY["shown"][finding.name][0]


@pytest.mark.slow
def test_scripts_print_what_the_page_says_in_a_fresh_environment(tmp_path):
    lock = page.HERE / "requirements.lock"
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "-r", lock]
    installed = subprocess.run(pip, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"the lock file cannot be installed: {installed.stderr[-300:]}")
    clean = {n: v for n, v in os.environ.items() if not n.startswith("PYTHON")}
    said = {}
    for finding in SHOWN:
        path = page.SCRIPTS / f"{finding.name.replace('-', '_')}.py"
        ran = subprocess.run(
            [python, path], cwd=tmp_path, capture_output=True, text=True, env=clean
        )
        said[finding.name] = ran.stdout or ran.stderr[-300:]
    assert said == {name: printed[0] for name, printed in STUDY["shown"].items()}
