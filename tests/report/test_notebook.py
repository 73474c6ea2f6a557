from __future__ import annotations

import json

import numpy as np
import pytest

from nomos.errors import NomosError
from nomos.report.notebook import showable_result
from nomos.results.result import from_data, to_data


def test_a_result_prints_its_verdict_and_its_clearest_bug(bug, result):
    text = str(showable_result(result(bug(), crashed=1)))
    assert text.startswith("income: violated; 1 of 299: 0.33 %")
    assert "1 case crashed" in text
    assert "* income  60   64" in text


def test_a_shown_result_is_the_result(bug, result):
    one = result(bug())
    assert showable_result(one).bugs == one.bugs
    assert {n: getattr(showable_result(one), n) for n in one.__dataclass_fields__} == {
        n: getattr(one, n) for n in one.__dataclass_fields__
    }


def test_a_notebook_shows_different_inputs_first_and_escapes_all(bug, result):
    bugs = [bug(0), bug(1, choices=(0, 5)), bug(2), bug(3)]
    text = showable_result(result(*bugs, property="<b>", problem="<i>"))._repr_html_()
    assert "&lt;b&gt;: violated" in text and "&lt;i&gt;" in text
    assert text.count("does not hold") == 3
    assert "and 1 other bug, in" in text
    assert "background:rgba" in text


def test_a_notebook_draws_pictures(bug, result, playing):
    digest = {"shape": [9, 9], "dtype": "float64", "sha256": "ab" * 32}
    one = bug(inputs={"x1": digest})
    live = playing(None, {"x1": np.zeros((9, 9)), "d1": 1})
    assert (
        "data:image/png;base64,"
        in showable_result(result(one, live=live))._repr_html_()
    )


def test_a_frame_has_a_row_for_each_bug(bug, result):
    frame = showable_result(
        result(bug(0), bug(1, confirmed="batch", inputs={}, outputs={}))
    ).to_frame()
    assert list(frame["id"]) == [bug(0).id, bug(1).id]
    assert list(frame["confirmed"]) == ["isolated", "batch"]
    assert frame.loc[0, "x2.income"] == 64 and frame.loc[0, "d1"] == 1
    assert frame["x2.income"].isna().tolist() == [False, True]


def test_a_result_is_saved_by_the_ending_of_its_file(tmp_path, bug, result):
    one = showable_result(result(bug()))
    page = one.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    data = json.loads(one.save(str(tmp_path / "a.json")).read_text())
    assert json.loads(json.dumps(to_data(from_data(data)))) == data
    assert from_data(data).bugs == (bug(),)
    with pytest.raises(NomosError, match=r"ends with \.html or \.json"):
        one.save(tmp_path / "a.xlsx")


def test_a_bug_is_run_again_where_the_model_is_there(bug, result, playing):
    values = {"x1": 1}
    one = showable_result(result(bug(), live=playing(None, values)))
    assert one.replay(bug()) == values
    with pytest.raises(NomosError, match="not there any more"):
        showable_result(result(bug())).replay(bug())
