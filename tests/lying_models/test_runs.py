"""`nomos run` with every lying model and broken domain: verdict, exit status and files."""

from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.lying_models.conftest import World
from tests.lying_models.worlds import (
    COSTS_ITS_CASE,
    FAULTS,
    MODELS,
    VIOLATED,
    Done,
    Fault,
    command,
    nomos,
    nomos_process,
    write_domain,
)
from tests.sizes import one_of

FILES = ("out.json", "out.xml", "out.sarif", "out.html")
REPORTS = [
    *("--json", "out.json", "--junit", "out.xml"),
    *("--sarif", "out.sarif", "--html", "out.html"),
]
WAYS = {
    "all cases": [],
    "sample": ["--search", "random", "--budget", "300", "--mode", "coroutines"],
    "one by one": ["--mode", "sequential", "--confirm", "all"],
}
ISOLATED = {"isolated": ["--isolate"], "workers": ["--jobs", "2"]}
CLEAN = ("holds", "none-found")


def check_files(done: Done, folder: Path) -> list[dict[str, Any]]:
    """Assert that all reports are there and say what the exit status says."""
    document = json.loads((folder / "out.json").read_text())
    runs, failures = document["runs"], document["failures"]
    suite = ElementTree.parse(folder / "out.xml").getroot()
    suites = list(suite.iter("testsuite"))
    red = sum(int(s.get(n, 0)) for s in suites for n in ("failures", "errors"))
    json.loads((folder / "out.sarif").read_text())
    assert "</html>" in (folder / "out.html").read_text()
    clean = all(r["verdict"] in CLEAN and not r["problem"] for r in runs)
    evaluated = clean and runs and not failures
    assert (done.status == 0) == bool(evaluated)
    assert (red == 0) == (done.status == 0)
    if done.status == 1:
        assert any(run["verdict"] == "violated" for run in runs)
        assert not failures
    assert not list(folder.glob("*.tmp"))
    return runs


def run(
    world: World, fault: Fault, way: list[str]
) -> tuple[Done, list[dict[str, Any]]]:
    write_domain(world.folder, fault)
    limit = ["--call-timeout", "1", "--max-crashes", "3"] if fault.deadly else []
    done = command(fault, ["run", "specs", *way, *limit, *REPORTS], world.folder)
    return done, check_files(done, world.folder)


@pytest.mark.parametrize(
    ("way", "name"),
    one_of(3, product(WAYS, [n for n, f in FAULTS.items() if not f.deadly])),
)
def test_a_fault_is_never_green(world: World, name: str, way: str) -> None:
    fault = FAULTS[name]
    done, _ = run(world, fault, WAYS[way])
    wanted = fault.statuses
    if way == "one by one" and fault.alone is not None:
        wanted = fault.alone
    assert done.status in wanted, done
    assert fault.says in (world.folder / "out.json").read_text()


@pytest.fixture(scope="module")
def worst(_template: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the widest baseline there is: that of a model that is always wrong."""
    folder = tmp_path_factory.mktemp("worst") / "project"
    shutil.copytree(_template.folder, folder)
    write_domain(folder, FAULTS["answers NaN"])
    run = ["run", "specs", "--no-store", *WAYS["sample"], "--json", "worst.json"]
    assert nomos(*run, folder=folder).status == 1
    return folder / "worst.json"


@pytest.mark.parametrize(
    "name", [n for n, f in MODELS.items() if not f.deadly and 0 not in f.statuses]
)
def test_no_gate_lets_a_lying_model_pass(world: World, worst: Path, name: str) -> None:
    write_domain(world.folder, MODELS[name])
    run = ["run", "specs", *WAYS["sample"]]
    by_rate = nomos(*run, "--max-rate", "99%", folder=world.folder).status
    by_test = nomos(*run, "--baseline", str(worst), folder=world.folder).status
    if MODELS[name].statuses == VIOLATED:  # these may be relied on to be wrong
        assert (by_rate, by_test) == (int(name == "answers NaN"), 0)
    else:
        assert by_rate in (1, 3) and by_test in (1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("way", ISOLATED)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_another_process_is_never_green(
    world: World, name: str, way: str
) -> None:
    done, _ = run(world, FAULTS[name], ISOLATED[way])
    assert done.status in FAULTS[name].statuses, done


@pytest.mark.parametrize("name", one_of(2, (n for n, f in FAULTS.items() if f.deadly)))
def test_a_deadly_fault_costs_its_case(world: World, name: str) -> None:
    done, runs = run(world, FAULTS[name], ["--isolate"])
    assert done.status == 3
    if name in COSTS_ITS_CASE:
        (only,) = runs
        cost = COSTS_ITS_CASE[name]
        assert only["crashed"] == cost
        assert only["passed"] == 240 - cost
        assert f"{cost} case" in only["problem"] and "crashed" in only["problem"]


def test_other_specs_are_run_whatever_one_does(world: World) -> None:
    write_domain(world.folder, FAULTS["inputs raises"])
    good = (world.folder / "steps.py").read_text()
    good = good.replace("raise ValueError('no')", "return np.arange(30)")
    (world.folder / "good.py").write_text(good.replace("class Steps", "class Good"))
    spec = world.folder / "specs" / "steps.nom"
    for name in ("a_good", "z_good"):
        text = spec.read_text().replace("import steps", "import good")
        spec.with_stem(name).write_text(text)
    done = command(None, ["run", "specs", *REPORTS], world.folder)
    assert done.status == 3
    assert "specs/steps.nom: " in done.stderr
    document = json.loads((world.folder / "out.json").read_text())
    assert document["schema"] == 3
    assert [run["verdict"] for run in document["runs"]] == ["holds", "holds"]
    assert [f["spec"] for f in document["failures"]] == ["specs/steps.nom"]


def test_a_recorded_bug_that_nobody_accepted_stays_red(world: World) -> None:
    write_domain(world.folder, FAULTS["has holes"])
    shutil.rmtree(world.folder / ".nomos")
    run = ["run", "specs", "--search", "random", "--fail-on", "new"]
    assert nomos(*run, folder=world.folder).status == 1
    # The next campaign is so short that it does not meet one of them by itself.
    few = [*run, "--budget", "5", "--min-cases", "5", "--seed", "3", *REPORTS]
    done = nomos(*few, folder=world.folder)
    (only,) = check_files(done, world.folder)
    assert (only["violations"], done.status) == (0, 1)
    assert only["recorded"]["new"] == only["recorded"]["still"] > 0
    nomos("run", "specs", "--search", "random", folder=world.folder)  # accepts them
    assert nomos(*few, folder=world.folder).status == 0
    assert 'failures="0" errors="0"' in (world.folder / "out.xml").read_text()


@pytest.mark.parametrize("name", ["is sound", "prints", "prints below Python"])
def test_what_goes_to_standard_output_is_all_that_goes_there(
    world: World, name: str
) -> None:
    write_domain(world.folder, FAULTS[name])
    run = ["run", "specs", "--no-store", "--json", "-"]
    done = nomos_process(*run, folder=world.folder)
    (only,) = json.loads(done.stdout)["runs"]
    assert (only["verdict"], done.status) == ("holds", 0)
    if name == "is sound":
        assert done.stderr == ""


def test_specs_of_one_name_in_two_folders_have_bugs_of_their_own(world: World) -> None:
    write_domain(world.folder, FAULTS["has holes"])
    other = world.folder / "specs" / "other"
    other.mkdir()
    shutil.copy(world.folder / "specs" / "steps.nom", other)
    run = ["run", "specs", "--fail-on", "new", "--json", "out.json"]
    assert nomos(*run, folder=world.folder).status == 1
    runs = json.loads((world.folder / "out.json").read_text())["runs"]
    new = {run["spec"]: run["new_bugs"] for run in runs}
    assert new == {"specs/steps.nom": 0, "specs/other/steps.nom": 5}
