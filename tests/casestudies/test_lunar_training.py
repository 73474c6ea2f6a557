"""The training study: its plan, its statistics, its tables, and one tiny run of it."""

import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from casestudies.lunar.guided import bases, study
from casestudies.lunar.guided.effects import effect, mean_interval, wilcoxon
from casestudies.lunar.guided.page import sentences
from casestudies.lunar.guided.setting import SETTINGS, Setting
from casestudies.lunar.guided.tables import groups_of, print_study

needs_training = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("stable_baselines3", "Box2D", "torch")),
    reason="needs training: pip install 'nomos-ml[lunar-train]'",
)
TINY = Setting(
    steps=512,
    bases=1,
    seeds=1,
    environments=2,
    rollout=128,
    batch=64,
    test_every=1,
    tests=12,
    fresh=12,
    games=2,
    judge_tests=12,
    control_tests=12,
    judge_games=2,
)


def run(arm: str, base: int, seed: int, bugs: int, reward: float) -> dict:
    evaluated = {"relax_bugs": bugs, "control_bugs": 1, "reward": reward}
    evaluated |= {"landed": 0.9, "won": 0.1}
    return {
        "arm": arm,
        "base": base,
        "seed": seed,
        "setting": TINY.to_json() | {"judge_tests": 5000},
        "cpu_s": {"all": 1800.0},
        "guided_steps": 0.5,
        "tests": [{"steps": 100 * n, "bugs": bugs, "reward": reward} for n in range(3)],
        "chosen": {"last": {"test": 2, **evaluated}},
    }


def triple(base: int, seed: int, *bugs: int, rewards=(200.0, 200.0, 200.0)) -> list:
    arms = ("normal", "guided", "pool")
    return [
        run(a, base, seed, b, r) for a, b, r in zip(arms, bugs, rewards, strict=True)
    ]


FEWER = [
    *(triple(1, seed, 60 + seed, 40 + seed, 55) for seed in range(1, 5)),
    *(triple(2, seed, 70 + seed, 50 - seed, 66) for seed in range(1, 5)),
]
STUDY = {"runs": [one for runs in FEWER for one in runs]}


def test_the_arms_of_a_seed_follow_each_other_so_that_a_part_is_a_study(tmp_path):
    names = [one.path.stem for one in study.plan(replace(TINY, bases=2), tmp_path)]
    arms = ("normal", "guided", "pool")
    assert names == [f"{arm}-{base}-11" for base in (1, 2) for arm in arms]


def test_the_study_of_the_page_is_that_which_was_fixed():
    setting = SETTINGS["study"]
    assert (setting.bases, setting.seeds, setting.steps) == (3, 8, 294_912)
    assert (setting.environments, setting.rollout, setting.batch) == (16, 512, 128)
    assert (setting.share, setting.tests, setting.fresh) == (0.5, 200, 800)
    assert (setting.judge_tests, setting.judge_games) == (5000, 200)
    assert setting.choices == ("last",)


def test_the_papers_protocol_has_its_length_and_its_number_of_tests():
    setting = SETTINGS["paper"]
    rollouts = math.ceil(setting.steps / setting.rollout)
    tests = len([n for n in range(1, rollouts + 1) if n % setting.test_every == 0])
    assert (tests, setting.tests, setting.fresh) == (97, 1600, 0)
    assert (setting.environments, setting.bases, setting.arms) == (
        1,
        0,
        ("normal", "guided"),
    )


def test_a_seed_without_all_of_its_arms_is_left_out():
    runs = [*triple(1, 1, 9, 8, 7), *triple(1, 2, 9, 8, 7)[:2]]
    assert [group["normal"]["seed"] for group in groups_of({"runs": runs})] == [1]


def test_the_signed_rank_test_is_exact():
    stats = pytest.importorskip("scipy.stats")
    for gaps in ([1, -2, 3, 4, 5, 6], [-1, -2, -3, -4, -5, -6, -7, 8]):
        assert wilcoxon(gaps) == pytest.approx(stats.wilcoxon(gaps).pvalue)
    # Ties: of all 16 signs, 4 give a sum as extreme as this on either side.
    assert wilcoxon([1, 1, 1, -1]) == pytest.approx(10 / 16)
    assert wilcoxon([2, 0, 0]) == 1.0
    assert wilcoxon([]) == 1.0


def test_the_band_of_a_mean_is_that_of_students_t():
    band = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    # 3 plus and minus 2.7764 times the deviation of the mean, 0.7071.
    assert (band.low, band.high) == pytest.approx((1.0368, 4.9632), abs=1e-3)


def test_an_effect_is_told_in_number_and_in_proportion():
    found = effect([60, 80, 100], [30, 40, 50])
    assert found.ratio == pytest.approx(0.5, abs=0.01)
    assert found.difference == -40
    assert (found.pairs, found.lower, found.higher) == (3, 3, 0)
    assert found.interval.low < -40 < found.interval.high
    assert found.p == 0.25


def test_effects_with_intervals_come_first(capsys):
    print_study(STUDY)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("8 triples of runs of 512 steps; 12.0 CPU hours")
    assert "guided against normal: bugs -33 % (95 %: -35 % to -31 %), -22.5" in printed
    assert "fewer in 8 of 8, more in 0; Wilcoxon p = 0.0078" in printed
    assert "reward +0.0 (95 %: +0.0 to +0.0): kept" in printed
    assert "guided against pool" in printed
    assert "with a power of 80 %" in printed
    assert printed.index("guided against normal") < printed.index("Run by run")
    assert " 2 4 72.5 47.5 66.0 -34 %" in printed


def test_pairs_of_the_papers_protocol_have_a_table_for_each_choice(capsys):
    runs = []
    for seed in range(1, 4):
        for one in triple(0, seed, 20, 12, 0)[:2]:
            one["setting"] |= {"arms": ["normal", "guided"]}
            one["setting"] |= {"choices": ["minimum_bug", "last"]}
            fewest = one["chosen"]["last"] | {"relax_bugs": 5 + seed}
            one["chosen"]["minimum_bug"] = fewest
            runs.append(one)
    print_study({"runs": runs})
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("3 pairs of runs")
    fewest, last = printed.split("the last policy")
    assert "fewest bugs while training, 5,000 held-out cases guided against" in fewest
    assert "bugs +0 %" in fewest
    assert "bugs -39 %" in last
    assert "pool" not in printed.replace("from bugs or the pool", "")


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ((200, 195, 200), "kept"),
        ((200, 150, 200), "lost"),
        ((200, 189, 200), "not shown to be kept"),
    ],
)
def test_a_reward_is_called_kept_only_if_its_interval_says_so(capsys, rewards, words):
    runs = []
    for seed in range(1, 9):
        shaken = [reward + 3 * (-1) ** seed * at for at, reward in enumerate(rewards)]
        runs += triple(1, seed, 60, 40, 50, rewards=shaken)
    print_study({"runs": runs})
    lines = capsys.readouterr().out.splitlines()
    line = next(line for line in lines if line.strip().startswith("reward"))
    assert line.endswith(f": {words}")


def test_the_page_claims_no_more_than_the_triples_show():
    fewer, pool, _ = sentences(groups_of(STUDY))[2::2]
    assert fewer.startswith(
        "- Bugs of the guided runs against the normal ones: **-33 %"
    )
    assert "fewer in 8 of 8 pairs, p = 0.0078." in fewer
    assert fewer.endswith("+0.0): it is kept.")
    assert "leaves open" not in fewer + pool
    runs = [one for seed in range(1, 6) for one in triple(1, seed, 60, 50 + seed, 60)]
    first, open_one = sentences(groups_of({"runs": runs}))[::2][:2]
    assert first == "**5 of 24 triples are complete.**"
    assert "this leaves open whether there is a difference" in open_one
    few = sentences(groups_of({"runs": runs[:3]}))
    assert few[-1] == "That is too few to compare anything."


def test_the_page_has_what_the_command_prints(tmp_path, capsys):
    page, results = tmp_path / "page.md", tmp_path / "all.json"
    results.write_text(json.dumps(STUDY))
    page.write_text("# Title\n")
    for _ in range(2):
        study.main(["--show", str(results), "--page", str(page)])
    printed = capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert text.count("Run by run") == 1
    shown = text.partition("```text\n")[2].partition("```")[0]
    assert shown.split() == printed.split()[: len(shown.split())]


def test_no_whole_seed_is_said(capsys):
    print_study({"runs": STUDY["runs"][:2]})
    assert capsys.readouterr().out == "no seed has all of its runs yet\n"


def test_a_file_of_another_setting_is_refused(tmp_path):
    planned = study.plan(TINY, tmp_path)[0]
    other = replace(TINY, steps=1024)
    planned.path.write_text(json.dumps({"setting": other.to_json()}))
    with pytest.raises(SystemExit, match="another setting"):
        study.load_run(planned)
    more = replace(TINY, seeds=5)
    planned.path.write_text(json.dumps({"setting": more.to_json()}))
    assert study.load_run(planned) is not None


@pytest.mark.slow
@needs_training
def test_a_study_goes_on_where_it_was_stopped_and_draws_its_curves(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(study.SETTINGS, "quick", TINY)
    words = ["--setting", "quick", "--folder", str(tmp_path / "runs")]
    saved = tmp_path / "all.json"
    study.main([*words, "--save", str(saved)])
    first = (tmp_path / "runs" / "normal-1-11.json").read_bytes()
    once = json.loads((tmp_path / "runs" / "guided-1-11.json").read_text())
    (tmp_path / "runs" / "guided-1-11.json").unlink()
    study.main(words)
    assert (tmp_path / "runs" / "normal-1-11.json").read_bytes() == first
    again = json.loads((tmp_path / "runs" / "guided-1-11.json").read_text())
    cpu = {"cpu_s": None}
    tests = [[{**t, **cpu} for t in r["tests"]] for r in (once, again)]
    assert tests[0] == tests[1]
    (group,) = groups_of(json.loads(saved.read_text()))
    # Before the first step all arms are one and the same policy.
    assert len({group[arm]["tests"][0]["bugs"] for arm in group}) == 1
    assert group["normal"]["guided_steps"] == 0
    capsys.readouterr()
    curve = tmp_path / "curve.png"
    study.main(["--show", str(saved), "--curve", str(curve)])
    assert "1 triples of runs" in capsys.readouterr().out
    assert Path(curve).read_bytes()[:4] == b"\x89PNG"


@needs_training
def test_the_pool_arm_starts_from_states_of_the_pool_both_as_they_are_and_lowered():
    from casestudies.fuzzing import load_pool
    from casestudies.guiding.starts import Start
    from casestudies.lunar.guided.run import PoolStarts
    from casestudies.lunar.state import from_row

    chooser = PoolStarts([1])
    bug = Start("bug", "s2", None)
    chooser.take_starts([bug], [bug])
    chooser.probability = 1.0
    pads = {
        from_row(row).pad for row in load_pool(bases.HERE.parent / "pool.npz").states
    }
    known = [chooser.choose_start().state.pad in pads for _ in range(400)]
    assert 140 < sum(known) < 260
