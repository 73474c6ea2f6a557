"""The model is never asked about more rows than `calls` allows, whoever asks."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.domain.meter import CallsSpent, Grant, Lease, Meter, asking, under_lease
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job
from nomos.store.store import Store
from tests.lying_models.worlds import nomos
from tests.runner.driving import drive, options_of

SEARCHES: tuple[dict[str, Any], ...] = (
    {"search": "random"},
    {"search": "exhaustive"},
    {"search": "guided"},
    {"search": "diverse"},
    {"search": "random", "inputs": "generated"},
    {"search": "auto"},
)
DOMAIN = """
import os
from pathlib import Path
import numpy as np
from nomos import Domain, Schema, batched, random
from nomos.domain.schema import Integer

class Rows(Domain):
    schema = Schema(*[Integer(name, 0, 60) for name in "abc"])

    def inputs(self):
        return np.random.default_rng({seed}).integers(0, 50, ({count}, 3))

    @batched
    def predict(self, rows):
        rows = np.asarray(rows)
        with Path(__file__).with_name("asked").open("ab") as file:
            file.write(bytes(len(rows)))  # its own counter, which survives it
        if {fails_at} in rows[:, 0]:
            raise ValueError("no answer")
        return rows[:, 0] * {factor} % 13 // 4

    @random
    def throw(self, row, rng):
        with Path(__file__).with_name("asked").open("ab") as file:
            file.write(bytes(1))
        return int(rng.random() < 0.3)
"""
SPEC = """
import rows;
input x;
var r := randInt(0, 5);
var y := x[a := x.a + r];
requires y.a <= 60;
{requires}
output d1;
output d2;
{{
  d1 = predict(x)
  {other}
}}
ensures {ensures};
"""
MODEL = """from sklearn.tree import DecisionTreeClassifier
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(np.eye(3) * 9, [0, 1, 2])
    verifies = {"predict": "model"}

    def inputs"""
REQUIRES = ("", "requires y.a % 3 != 0;", "requires predict(x) > 0;")
ENSURES = ("d1 <= d2", "d1 <= 99", "d1 == d2", "d1 <= d2 + 1")
OTHERS = (
    "d2 = predict(y)",
    "d2 = predict(y)\n  for _ in range(x.b % 3): d2 = predict(y)",
    "d2 = throw(y)",
    "d1 = throw(x)\n  d2 = throw(y)",
)


def run_random_campaign(folder: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fails_at = int(rng.integers(0, 50)) if rng.random() < 0.3 else -1
    parts = {"seed": seed, "count": int(rng.integers(1, 60)), "fails_at": fails_at}
    (folder / "pyproject.toml").write_text("")
    domain = DOMAIN.format(**parts, factor=rng.integers(1, 9999))
    (folder / "rows.py").write_text(domain)
    (folder / "asked").write_bytes(b"")
    spec = folder / "specs" / "rows.nom"
    spec.parent.mkdir()
    search = SEARCHES[seed % len(SEARCHES)]
    others = OTHERS[: 2 if search["search"] == "exhaustive" else None]
    words = {
        "requires": rng.choice(REQUIRES),
        "ensures": rng.choice(ENSURES),
        "other": rng.choice(others),
    }
    spec.write_text(SPEC.format(**words))
    calls = int(rng.choice([1, 3, 7, 20, 60, 100, 250, 800]))
    options: dict[str, Any] = {
        **search,
        "batch": int(rng.choice([1, 7, 64])) if rng.random() < 0.5 else None,
        "until_bug": bool(rng.random() < 0.2),
        "mode": "sequential" if rng.random() < 0.2 else None,
        "confirm": "all" if rng.random() < 0.2 else None,
        "jobs": 2 if seed % 10 == 9 else 1,
    }
    run, _, _ = drive([spec], calls=calls, **options)
    asked = (folder / "asked").stat().st_size
    assert asked <= calls, (calls, options)
    for failure in run.failures:
        if "the calls are used up" not in str(failure.error):
            raise failure.error
        return  # before the search had what it begins with
    counted = run.results[0].calls
    assert asked <= counted.asked <= calls
    assert counted.limit == calls
    assert sum(counted.by_phase.values()) == counted.asked


@pytest.mark.parametrize("seed", range(18))
def test_the_models_own_counter_never_exceeds_the_calls(
    tmp_path: Path, seed: int
) -> None:
    run_random_campaign(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(18, 200))
def test_the_counter_of_many_more_campaigns_never_exceeds_the_calls(
    tmp_path: Path, seed: int
) -> None:
    run_random_campaign(tmp_path, seed)


@pytest.mark.parametrize("seed", range(4))
def test_calls_of_killed_runs_count_though_no_checkpoint_has_them(
    tmp_path: Path, seed: int
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    parts = {"seed": seed, "count": 50, "fails_at": -1, "factor": 37}
    (tmp_path / "rows.py").write_text(DOMAIN.format(**parts))
    spec = tmp_path / "rows.nom"
    words = {"requires": "", "ensures": ENSURES[seed], "other": OTHERS[0]}
    spec.write_text(SPEC.format(**words))
    rng = np.random.default_rng(seed)
    options = options_of(search="random", calls=300, batch=10, resume=True)
    for deaths in range(6):
        left = int(rng.integers(1, 5)) if deaths < 5 else 10**9

        def die_at_last(_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt  # nothing is written after it

        with Store.open(tmp_path / "store") as store:
            driver = Driver(tmp_path, options, store=store, handlers=[die_at_last])
            with suppress(KeyboardInterrupt):
                (result,) = driver.run([Job(spec)], [0]).results
    asked = (tmp_path / "asked").stat().st_size
    assert asked <= result.calls.asked <= 300
    assert result.calls.by_phase["before a kill"] > 0


@pytest.mark.parametrize("search", ["random", "guided"])
def test_a_search_that_makes_inputs_goes_on_where_its_model_waits(
    tmp_path: Path, search: str
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    parts = {"seed": 1, "count": 50, "fails_at": -1, "factor": 37}
    domain = DOMAIN.format(**parts).replace(
        "rows = np.asarray(rows)", "import time; time.sleep(0.2); rows = np.array(rows)"
    )
    (tmp_path / "rows.py").write_text(domain)
    spec = tmp_path / "rows.nom"
    words = {"requires": "", "ensures": "d1 <= 99", "other": OTHERS[0]}
    spec.write_text(SPEC.format(**words))
    made: dict[str, Any] = {"search": search, "inputs": "generated", "recheck": False}
    run, _, _ = drive([spec], budget=1500, **made)
    assert run.results[0].counts.tests == 1500


@pytest.mark.parametrize(
    ("ensures", "options"),
    [
        ("d1 <= 2", {"search": "random"}),
        ("d1 <= 99", {"search": "exhaustive", "mode": "sequential"}),
        ("d1 <= 2", {"search": "guided"}),
    ],
)
def test_the_time_is_kept_for_search_reruns_and_check(
    tmp_path: Path, ensures: str, options: dict[str, Any]
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    parts = {"seed": 1, "count": 50, "fails_at": -1, "factor": 37}
    domain = DOMAIN.format(**parts).replace(
        "rows = np.asarray(rows)",
        "import time; rows = np.array(rows); time.sleep(0.01 * len(rows))",
    )
    (tmp_path / "rows.py").write_text(domain)
    (spec := tmp_path / "rows.nom").write_text(
        SPEC.format(requires="", ensures=ensures, other="d2 = predict(y)")
    )
    began = time.monotonic()
    run, _, warnings = drive([spec], time=2.0, groups=False, shrink=False, **options)
    assert time.monotonic() - began < 6
    (result,) = run.results
    assert result.reason == "the time is up" and not result.problem
    assert not any("again" in words for words in warnings)
    assert 10 < result.counts.tests < 160
    assert bool(result.counts.confirmed) == (ensures == "d1 <= 2")
    assert result.calls.by_phase["flakiness check"] > 0


@pytest.mark.parametrize("calls", [3, 150, 9000])
@pytest.mark.parametrize("how", ["--sanity", "--verify"])
def test_the_calls_hold_for_all_campaigns_and_proofs_of_a_command(
    tmp_path: Path, how: str, calls: int
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    parts = {"seed": 1, "count": 50, "fails_at": -1, "factor": 1}
    domain = DOMAIN.format(**parts)
    if how == "--verify":
        pytest.importorskip("sklearn")
        domain = domain.replace("def inputs", MODEL)
        ours = "return rows[:, 0] * 1 % 13 // 4"
        domain = domain.replace(ours, "return self.model.predict(rows)")
    (tmp_path / "rows.py").write_text(domain)
    (tmp_path / "rows.nom").write_text(
        SPEC.format(requires="", ensures="d1 <= 99", other="d2 = predict(y)")
    )
    (tmp_path / "asked").touch()
    done = nomos(
        *("run", "rows.nom", how, "--calls", str(calls), "--search", "random"),
        folder=tmp_path,
    )
    asked = (tmp_path / "asked").stat().st_size
    assert calls == 3 or 0 < asked <= calls
    if calls == 9000:
        assert "proved" in done.stdout or "notices" in done.stdout


def test_calls_that_only_the_user_sees_are_counted(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    parts = {"seed": 1, "count": 50, "fails_at": -1, "factor": 37}
    twice = (
        "import nomos\n        with nomos.asking(2 * len(rows)): rows = np.array(rows)"
    )
    domain = DOMAIN.format(**parts).replace("rows = np.asarray(rows)", twice)
    domain = domain.replace("bytes(len(rows))", "bytes(2 * len(rows))")
    (tmp_path / "rows.py").write_text(domain)
    (spec := tmp_path / "rows.nom").write_text(
        SPEC.format(requires="", ensures="d1 <= 99", other="d2 = predict(y)")
    )
    run, _, _ = drive([spec], calls=100, search="random")
    asked = (tmp_path / "asked").stat().st_size
    assert 0 < asked == run.results[0].calls.asked <= 100


def test_what_is_paid_for_is_paid_for_inside_and_more_is_more() -> None:
    with under_lease(Lease(Grant(10))) as lease, asking(4):
        with asking(3):
            pass
        with asking(3):
            pass
        assert lease.asked.total() == 6
        with pytest.raises(CallsSpent), asking(5):
            pass
    assert lease.calls_left == 4


def test_what_tasks_hold_and_lose_is_never_granted_twice() -> None:
    meter = Meter(100)
    first = meter.grant(60, from_reserve=False)
    second = meter.grant(60, from_reserve=False)
    assert (first, second) == (60, 20)
    assert meter.free(from_reserve=True) == 20
    meter.settle(first, {"search": 10}, from_reserve=False)
    meter.settle(second, {"search": 20}, from_reserve=False)  # its worker was lost
    assert meter.free(from_reserve=False) == 50
    assert meter.grant(None, from_reserve=True) == 70
