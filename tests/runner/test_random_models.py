"""Campaigns on models that answer at random, with planted probabilities."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from math import comb
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import nomos
from nomos.cli import cli
from nomos.errors import NomosError
from nomos.report.view import remarks_on
from nomos.results.excess import case_power, excess_power
from nomos.results.result import Result

DOMAIN = '''
import time
from nomos import Domain, batched, random


class Coins(Domain):
    """Coins that show 1 with a probability; `bad` inputs change it when they are asked."""

    def __init__(self, noise: float = 0.2, bad: int = 0, shift: float = 0.6,
                 is_own: bool = False, sleep: float = 0.0) -> None:
        self.noise, self.bad, self.shift = noise, bad, shift
        self.is_own, self.sleep = is_own, sleep

    def inputs(self):
        return list(range(100))

    def said(self, coin, rng):
        """A question of 100 or more is about the same coin in other words."""
        time.sleep(self.sleep)
        import random as own
        share = self.noise + self.shift * (coin >= 100 and coin % 100 < self.bad)
        return int((own.random() if self.is_own else rng.random()) < share)

    @random
    @batched
    def toss(self, coins, draws):
        return [self.said(coin, rng) for coin, rng in zip(coins, draws)]

    @random
    def throw(self, coin, rng):
        return self.said(coin, rng)

    @batched
    def same(self, ones, others):
        return [one == other for one, other in zip(ones, others)]
'''
STRAIGHT = "{\n  a = toss(x)\n  b = toss(x + 100)\n}\nensures a == b;"
SPEC = f"import coins;\ninput x;\noutput a;\noutput b;\n{STRAIGHT}\n"
BLOCKS = {
    "batched": SPEC,
    "plain": SPEC.replace("toss", "throw"),
    "in a loop": SPEC.replace(
        STRAIGHT,
        "{\n  found = []\n  for q in (x, x + 100):\n    found.append(toss(q))\n"
        "  a, b = found\n}\nensures a == b;",
    ),
    "in a function": SPEC.replace(
        STRAIGHT,
        "{\n  def ask(q):\n    return toss(q)\n  a, b = ask(x), ask(x + 100)\n}\n"
        "ensures a == b;",
    ),
    "evaluated": SPEC.replace(
        STRAIGHT,
        "{\n  a = same(toss(x), toss(x + 100))\n  b = 0\n}\nensures a || b > 0;",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "coins.py").write_text(DOMAIN)
    (tmp_path / "coins.nom").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(spec: str = SPEC, *, store: bool = False, **options: Any) -> Result:
    Path("coins.nom").write_text(spec)
    more = {
        name: options.pop(name)
        for name in ("noise", "bad", "shift", "is_own")
        if name in options
    }
    options = {"budget": 100, "groups": False, "shrink": False, **options}
    results = nomos.run_specs("coins.nom", settings=more, store=store, **options)
    assert not results.failures, results.failures
    return results[0]


def facts(result: Result) -> Any:
    counts = result.counts
    bugs = [
        (bug.id, dict(bug.inputs), dict(bug.outputs), bug.repeats)
        for bug in result.bugs
    ]
    pairs = (
        counts.pairs,
        counts.only_violated,
        counts.only_control,
        counts.both_violated,
    )
    return result.verdict, counts.tests, counts.violations, pairs, bugs


@pytest.mark.parametrize("name", BLOCKS)
def test_a_bug_is_told_from_noise_however_the_model_is_asked(
    name: str, folder: Path
) -> None:
    noisy = run(BLOCKS[name], noise=0.2)
    assert noisy.verdict == "none-found" and noisy.counts.violations > 15
    assert noisy.counts.pairs == 100 and not noisy.bugs
    broken = run(BLOCKS[name], noise=0.02, bad=20, shift=0.9)
    assert broken.verdict == "violated" and broken.bugs
    # Two coins of those that changed may be asked about in a row of cases that did not.
    assert all(bug.inputs["x"] < 20 for bug in broken.bugs)
    assert all(bug.repeats.failed > 3 * bug.repeats.control for bug in broken.bugs)
    asked = broken.calls.by_phase
    assert name == "plain" or asked["control"] == asked["search"] == 200 + 100 * (
        name == "evaluated"
    )
    excess = broken.counts.excess
    assert excess is not None and excess.is_shown
    assert excess.excess.value == pytest.approx(0.2 * 0.9, abs=0.1)


@pytest.mark.parametrize(
    "block",
    [
        "{\n  a = toss(x)\n  b = 0\n}\nensures a == b;",
        "{\n  a = toss(x)\n  b = toss(x)\n}\nensures a == b;",
        "{\n  q = x + 1\n  a = toss(q)\n  b = 0\n}\nensures a == b;",
    ],
)
def test_a_property_of_a_single_question_has_no_control(
    block: str, folder: Path
) -> None:
    result = run(SPEC.replace(STRAIGHT, block), budget=50)
    assert result.verdict == "violated" and result.counts.pairs == 0
    (shown,) = [one.text for one in remarks_on([result]) if "A/A" in one.text]
    assert "asks a random model one thing" in shown and "repeats 10;" in shown


@pytest.mark.parametrize("mode", ["coroutines", "sequential"])
@pytest.mark.parametrize(
    "block",
    [
        "a, b = [toss(q) for q in (x, x)]",
        "a, b = [throw(q) for q in (x, x)]",
        "y = x + 0\n  a, b = toss(x), toss(y)",
        "a, b = [toss(q) for q in (x, x)]\n  b += 0 * same(x, x + 1) * same(x, x)",
    ],
)
def test_a_control_that_asks_what_the_case_asks_is_none(
    block: str, mode: str, folder: Path
) -> None:
    spec = SPEC.replace(STRAIGHT, f"{{\n  {block}\n}}\nensures a == b;")
    spec = spec.replace("input x;", "input x;\nallow unchanged;")
    result = run(spec, noise=0.3, mode=mode, batch=7)
    assert result.verdict == "failed" and result.counts.violations > 20
    assert "no A/A control" in result.problem and "repeats 10;" in result.problem
    assert result.counts.pairs == 0 and not result.bugs
    assert run(spec, noise=0.0, mode=mode).verdict == "none-found"
    # A control is one of the cases that ask something else, and excuses no others.
    varied = spec.replace("(x, x)]", "(x, x + (x < 9))]").replace(
        "x + 0", "x + (x < 9)"
    )
    some = run(varied, noise=0.3, mode=mode, batch=7)
    assert some.verdict == "failed" and 0 < some.counts.pairs < 20
    only = varied.replace("output a;", "requires x < 9;\noutput a;", 1)
    assert run(only, noise=0.3, mode=mode, batch=7).verdict == "none-found"


def test_noise_that_is_added_in_a_var_belongs_to_the_case(folder: Path) -> None:
    spec = SPEC.replace("output a;", "var n := throw(x);\noutput a;", 1)
    one, two = run(spec, budget=40, noise=0.5), run(spec, budget=40, noise=0.5)
    assert facts(one) == facts(two) and one.counts.pairs == 40


def test_every_way_to_run_comes_to_the_same(folder: Path) -> None:
    planted = {"noise": 0.1, "bad": 30, "budget": 60}
    whole = facts(run(**planted))
    assert whole[0] == "violated" and len(whole[-1]) > 1
    for options in (
        *({"mode": mode} for mode in ("coroutines", "sequential")),
        {"batch": 7},
        {"jobs": 2},
    ):
        assert facts(run(**planted, **options)) == whole, options


def test_a_limit_of_calls_holds_and_what_is_counted_is_in_pairs(folder: Path) -> None:
    for calls in (1, 9, 60, 333):
        result = run(calls=calls, budget=200, bad=50)
        assert result.calls.asked <= calls
        assert result.counts.pairs == result.counts.evaluated


def test_a_model_that_draws_by_itself_is_judged_alike(folder: Path) -> None:
    assert run(is_own=True).verdict == "none-found"
    result = run(is_own=True, noise=0.02, bad=40, shift=0.95)
    assert result.verdict == "violated" and result.bugs and not result.counts.flaky


def test_a_bug_is_kept_tried_again_and_replayed(folder: Path) -> None:
    planted = {"noise": 0.02, "bad": 30, "shift": 0.9}
    first = run(store=True, **planted)
    again = run(store=True, seeds=[1], **planted)
    assert again.recorded.tried == len(first.bugs) == again.recorded.still
    replay = ["replay", first.bugs[0].id]
    kept = CliRunner().invoke(cli, [*replay, *sets(planted)])
    assert kept.exit_code == 1 and "repeats, its control in" in kept.output, kept.output
    Path("coins.py").write_text(DOMAIN.replace("self.shift *", "0 *"))  # a better model
    gone = CliRunner().invoke(cli, [*replay, *sets(planted)])
    assert gone.exit_code == 0 and "gone, fails in" in gone.output, gone.output
    Path("coins.py").write_text(DOMAIN)
    told = CliRunner().invoke(cli, ["show", first.bugs[0].id, *sets(planted)])
    assert "x = " in told.output, told.output


def sets(settings: dict[str, Any]) -> list[str]:
    return [part for n, v in settings.items() for part in ("--set", f"{n}={v}")]


def test_a_smaller_case_is_one_that_the_repeats_confirm(folder: Path) -> None:
    spec = SPEC.replace("input x;", "input x;\nvar n := randInt(0, 40);").replace(
        "toss(x + 100)", "toss(x + 100 if n > 6 else x)"
    )
    wide = {"budget": 400, "groups": True, "shrink": True}
    result = run(spec, noise=0.02, bad=100, shift=0.9, **wide)
    small = [bug.shrunk for bug in result.bugs if bug.shrunk is not None]
    assert small and all(one.inputs["n"] >= 7 for one in small)
    assert min(one.inputs["n"] for one in small) <= 12


def test_a_gate_weighs_the_excess(folder: Path) -> None:
    planted = sets({"noise": 0.02, "bad": 30, "shift": 0.9})
    for limit, status in (("80%", 0), ("1%", 1)):
        asked = ["run", "coins.nom", "--budget", "100", "--no-store", *planted]
        ran = CliRunner().invoke(cli, [*asked, "--max-rate", limit, "--junit", "j.xml"])
        assert ran.exit_code == status, ran.output
    assert "its A/A control" in Path("j.xml").read_text()


def test_repeats_are_planted_as_a_binomial_says(folder: Path) -> None:
    spec = SPEC.replace(STRAIGHT, "{\n  a = toss(x)\n  b = 0\n}\nensures a == b;")
    for repeats, require, noise in ((10, 8, 0.2), (4, 4, 0.1)):
        result = run(
            spec,
            budget=400,
            noise=noise,
            repeats=repeats,
            require=require,
            recheck=False,
        )
        ways = range(require, repeats + 1)
        share = sum(
            comb(repeats, n) * (1 - noise) ** n * noise ** (repeats - n) for n in ways
        )
        assert result.counts.passed / 400 == pytest.approx(share, abs=0.07)
        assert result.subject.settings["repeats"] == str(repeats)
    own = spec.replace("output a;", "repeats 5;\noutput a;", 1).replace(
        "ensures a == b;", "ensures (count r in repeats: a == b) >= 4;"
    )
    for mode in ("coroutines", "sequential"):
        found = run(own, mode=mode, budget=300, recheck=False)
        assert found.counts.passed / 300 == pytest.approx(0.737, abs=0.09)
        assert found.subject.k == 5


def test_what_repeats_cannot_mean_is_said(folder: Path) -> None:
    for text, words in (
        (SPEC.replace("output a;", "repeats 5;\noutput a;", 1), "one for each repeat"),
        (SPEC.replace("input x;", "repeats 0;\ninput x;"), "repeats"),
        (SPEC.replace("ensures", "repeats 3;\nensures"), "right behind the inputs"),
        (SPEC.replace("input x;", "input repeats;"), "a word of the language"),
    ):
        Path("bad.nom").write_text(text)
        ran = CliRunner().invoke(cli, ["check", "bad.nom"])
        assert ran.exit_code and words in ran.output, ran.output


@pytest.mark.slow
def test_a_campaign_that_is_killed_goes_on_to_the_same_result(folder: Path) -> None:
    planted = {"noise": 0.1, "bad": 30}
    options = [
        "--budget",
        "60",
        "--seed",
        "4",
        "--json",
        "r.json",
        *sets(planted),
        *sets({"sleep": 0.003}),
    ]
    asked = [sys.executable, "-m", "nomos", "run", "coins.nom", "--quiet", *options]
    subprocess.run([*asked, "--no-store"], check=False)
    import json

    def counted() -> Any:
        (one,) = json.loads(Path("r.json").read_text())["runs"]
        names = ("tests", "violations", "pairs", "only_violated", "only_control")
        return (
            [one[name] for name in names],
            [bug["id"] for bug in one["bugs"]],
            one["excess"],
        )

    whole = counted()
    for after in (0.8, 1.3, 1.9, 2.6):
        process = subprocess.Popen([*asked, "--resume"])
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*asked, "--resume"], check=False)
    assert counted() == whole


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "bad"), [(0.05, 40), (0.3, 80)])
def test_false_alarms_and_power_over_two_hundred_campaigns(
    noise: float, bad: int, folder: Path
) -> None:
    """The verdict is wrong in 5 % at most, and right as often as computed beforehand."""
    alarms = shown = 0
    shift, cases = 0.6, 60
    for seed in range(200):
        alarms += run(noise=noise, budget=cases, seeds=[seed]).verdict == "violated"
        planted = run(noise=noise, bad=bad, shift=shift, budget=cases, seeds=[seed])
        excess = planted.counts.excess
        assert excess is not None
        shown += excess.is_shown
    differ = [
        noise * (1 - other) + other * (1 - noise) for other in (noise, noise + shift)
    ]
    violated = (1 - bad / 100) * differ[0] + bad / 100 * differ[1]
    mixed = [(1 - bad / 100, differ[0]), (bad / 100, differ[1])]
    only = sum(share * each * (1 - differ[0]) for share, each in mixed)
    power = excess_power(cases, only, only - violated + differ[0])
    print(
        f"noise {noise}: {alarms} false alarms, {shown} of 200 shown, computed {power:.3f}"
    )
    assert alarms <= 200 * 0.05
    assert shown / 200 == pytest.approx(power, abs=0.11)  # 3 deviations of 200 draws
    assert (
        case_power(differ[1], differ[0])["bug"]
        > case_power(differ[0], differ[0])["bug"]
    )


def test_answers_are_asked_for_again_until_they_satisfy_the_spec(folder: Path) -> None:
    noisy = sets({"noise": 0.3})
    asked = ["select", "coins.nom", "--budget", "200", "--no-store", *noisy]
    ran = CliRunner().invoke(cli, [*asked, "--tries", "4"])
    assert ran.exit_code in (0, 1), ran.output
    first, selected = (int(n) for n in re.findall(r"in (\d+) of 200", ran.output))
    assert first / 200 == pytest.approx(0.58, abs=0.12)
    assert selected / 200 == pytest.approx(1 - 0.42**4, abs=0.04)
    never = [
        "select",
        "coins.nom",
        "--no-store",
        *sets({"noise": 0, "bad": 100, "shift": 1}),
    ]
    assert CliRunner().invoke(cli, never).exit_code == 1
    settings = {"noise": "0.3"}
    found = [
        nomos.select_answers(
            "coins.nom", 7, settings=settings, seed=seed, tries=9, store=False
        )
        for seed in range(20)
    ]
    assert (
        all(one.is_satisfied for one in found) and max(one.tries for one in found) > 1
    )
    assert all(one.outputs["a"] == one.outputs["b"] for one in found)
    for calls in ("1", "405", "450"):  # they end among the first answers, or later
        short = CliRunner().invoke(cli, [*asked, "--calls", calls])
        assert "the calls are used up" in short.output
        assert short.exit_code == 3
    with pytest.raises(NomosError, match="the calls are used up"):
        nomos.select_answers("coins.nom", 7, calls=1, store=False)
    Path("coins.py").write_text(DOMAIN.replace("    @random\n", ""))
    plain = CliRunner().invoke(cli, asked)
    assert plain.exit_code == 3, plain.output
