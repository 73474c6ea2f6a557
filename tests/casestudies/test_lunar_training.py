"""The training study: its plan, its tables, and one tiny run of it."""

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from casestudies.lunar.guided import study
from casestudies.lunar.guided.setting import SETTINGS, Setting
from casestudies.lunar.guided.tables import mean_interval, pairs_of, print_study

needs_training = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("stable_baselines3", "Box2D", "torch")),
    reason="needs training: pip install 'nomos-ml[lunar-train]'",
)
TINY = Setting(
    steps=512,
    base_steps=256,
    environments=2,
    rollout=128,
    test_every=1,
    grow_every=1,
    tests=12,
    fresh=12,
    games=2,
    judge_tests=12,
    judge_games=2,
)


def run(seed: int, guided: bool, bugs: list[int], rewards: list[float]) -> dict:
    tests = [
        {"steps": 100 * n, "bugs": b, "reward": r}
        for n, (b, r) in enumerate(zip(bugs, rewards, strict=True), 1)
    ]
    fewest = bugs.index(min(bugs))
    most = rewards.index(max(rewards))
    judged = {"relax_bugs": 9, "control_bugs": 1, "reward": 150.0}
    judged |= {"won": 0.085 + guided / 100}
    return {
        "seed": seed,
        "guided": guided,
        "setting": TINY.to_json(),
        "cpu_s": {"all": 1.0},
        "tests": tests,
        "chosen": {
            "minimum_bug": {"test": fewest, **judged},
            "maximum_reward": {"test": most, **judged},
            "last": {"test": len(tests) - 1, **judged},
        },
    }


STUDY = {
    "runs": [
        run(1, False, [9, 5, 7], [10, 20, 30]),
        run(1, True, [9, 5, 3], [10, 20, 40]),
        run(2, False, [8, 6, 9], [10, 50, 30]),
        run(2, True, [8, 6, 6], [10, 20, 60]),
        run(3, False, [8, 6, 9], [10, 50, 30]),
    ]
}


def test_the_runs_go_pair_by_pair_so_that_a_part_is_a_study(tmp_path):
    names = [planned.name for planned in study.plan(TINY, 2, tmp_path)]
    assert names == ["normal-01", "guided-01", "normal-02", "guided-02"]


def test_a_run_without_its_other_half_is_left_out():
    assert [pair.seed for pair in pairs_of(STUDY)] == [1, 2]


def test_the_table_says_who_has_fewer_bugs_and_what_they_are_worth(capsys):
    print_study(STUDY)
    printed = capsys.readouterr().out
    assert "2 pairs of runs" in printed
    flat = " ".join(printed.split())
    assert "fewest bugs: guided has fewer bugs in 1 of 2 pairs" in flat
    assert "as many in 1, more in 0" in flat
    assert "difference -1.0" in flat
    assert "by chance alone" in printed
    row = next(
        words for line in printed.splitlines() if (words := line.split())[:1] == ["1"]
    )
    assert row == ["1", "5", "20.0", "3", "40.0", "7", "30.0", "3", "40.0"]
    assert "won from 8.5 % of those states (normal) and 9.5 % (guided)" in flat


def test_no_pair_is_said(capsys):
    print_study({"runs": STUDY["runs"][:1]})
    assert capsys.readouterr().out == "no pair of runs is complete\n"


def test_the_band_of_a_mean_is_that_of_students_t():
    band = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    # 3 plus and minus 2.1318 times the deviation of the mean, 0.7071.
    assert (band.low, band.high) == pytest.approx((1.4926, 4.5074), abs=1e-3)


def test_a_file_of_another_setting_is_refused(tmp_path):
    planned = study.plan(TINY, 1, tmp_path)[0]
    other = replace(TINY, steps=1024)
    planned.path.write_text(json.dumps({"setting": other.to_json()}))
    with pytest.raises(SystemExit, match="another setting"):
        study.load_run(planned)


def test_a_normal_run_serves_whatever_the_guided_ones_do():
    eager = replace(TINY, most=0.9, fresh=0)
    assert TINY.same_run(eager.to_json(), guided=False)
    assert not TINY.same_run(eager.to_json(), guided=True)
    assert not TINY.same_run(replace(eager, tests=1).to_json(), guided=False)


def test_the_full_setting_is_the_papers_length():
    assert SETTINGS["full"].steps == 1_000_000
    assert SETTINGS["full"].tests == 1600


@needs_training
def test_a_study_goes_on_where_it_was_stopped_and_draws_its_curves(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(study.SETTINGS, "quick", TINY)
    monkeypatch.setattr(study, "HELD_OUT_STATES", 20)
    words = ["--runs", "1", "--jobs", "1", "--folder", str(tmp_path / "runs")]
    study.main([*words, "--save", str(tmp_path / "all.json")])
    first = (tmp_path / "runs" / "normal-01.json").read_bytes()
    (tmp_path / "runs" / "guided-01.json").unlink()
    study.main(words)
    assert (tmp_path / "runs" / "normal-01.json").read_bytes() == first
    saved = json.loads((tmp_path / "all.json").read_text())
    (pair,) = pairs_of(saved)
    again = json.loads((tmp_path / "runs" / "guided-01.json").read_text())
    cpu = {"cpu_s": None}
    tests = [[{**t, **cpu} for t in r["tests"]] for r in (pair.guided, again)]
    assert tests[0] == tests[1]
    # Until the first start from a bug, both runs of a seed are one and the same.
    assert pair.normal["tests"][0]["bugs"] == pair.guided["tests"][0]["bugs"]
    curve = tmp_path / "curve.png"
    capsys.readouterr()
    study.main(["--show", str(tmp_path / "all.json"), "--curve", str(curve)])
    assert "1 pair of runs" in capsys.readouterr().out
    assert Path(curve).read_bytes()[:4] == b"\x89PNG"
