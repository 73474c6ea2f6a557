"""`nomos init` on messy tables: every spec that it writes runs, and says what is so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import nomos
from nomos.cli import cli
from nomos.domain.records import get_feature
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from tests.cli.messy_tables import MODELS, TABLES, MessyTable, Trained, write_table

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, at odd tables
_SAMPLED = 50  # bugs, and passes, of each project
# In `make test`: one model for each of some tables. The slow test takes all of both.
FAST = [("gaps", "catboost"), ("zips", "xgboost")]


def run_command(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def original_rows(records: list[Any], domain: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Return records as rows of the owner's frame, from what a spec sees of them."""
    first = frame.iloc[0]
    rows = [
        [
            original_cell(get_feature(record, name, domain.schema), frame[name])
            if name in domain.schema.places
            else first[name]
            for name in frame
        ]
        for record in records
    ]
    made = pd.DataFrame(rows, columns=frame.columns, dtype=object)
    whole = {n for n in frame if pd.api.types.is_integer_dtype(frame[n])}
    return made.astype({n: float if n in whole else frame[n].dtype for n in frame})


def original_cell(value: Any, column: pd.Series) -> Any:
    """Return a value that a spec sees as the owner's table has it."""
    if pd.api.types.is_bool_dtype(column):
        return str(value).lower() == "true"
    if pd.api.types.is_numeric_dtype(column):
        return float("nan") if value == "" else float(value)
    if isinstance(value, float | int) and not isinstance(value, bool):
        if value != value:
            return None
        moment = pd.Timestamp(0) + pd.Timedelta(days=value)
        long = len(str(column.dropna().iloc[0])) > 10
        return str(moment.round("s") if long else moment.date())
    return None if value in ("", "NA", "null") else value


def check_project(table: MessyTable, trained: Trained, folder: Path) -> dict[str, int]:
    """Write a project, run it, and ask the library about its bugs and passes."""
    trust = ["--trust"][: trained.trust]
    given = ("--model", trained.source, "--data", str(table.path))
    done = run_command("init", str(folder), *given, *trust)
    assert done.exit_code == 0, (done.output, done.exception)
    specs = sorted((folder / "specs").glob("*.nom"))
    assert specs, done.output
    done = run_command("run", str(folder / "specs"), "--budget", "600", *trust)
    assert done.exit_code in (0, 1), done.output
    with nomos.models.load.trusting():
        results = nomos.run_specs(str(folder / "specs"), store=False, budget=300)
        assert not results.failures, results.failures
        assert len(results) == len(specs)
        return {
            r.subject.property: check_result(r, table.frame(), trained) for r in results
        }


def check_result(result: Any, frame: pd.DataFrame, trained: Trained) -> int:
    """Compare the answers of bugs and of other cases with those of the library."""
    counts, live = result.counts, result.live
    assert counts.evaluated, f"{result.subject.property}: nothing was evaluated"
    assert not counts.crashed, result.crashes
    found = [live.values(bug) for bug in list(result.bugs)[:_SAMPLED]]
    stream = Stream(0, result.subject.property)
    cases, others = RandomCases(stream, 0, 40 * _SAMPLED), 0
    for row in range(cases.count):
        outcome = live._telling.interpreter.run(cases.isolate_case(row))
        if outcome.values:
            others += 1
            found.append(outcome.values)
        if others == _SAMPLED:
            break
    assert others == _SAMPLED or result.search == "exhaustive"
    pairs = [
        (values[f"x{name[1:]}"], answer)
        for values in found
        for name, answer in values.items()
        if name[0] == "d"
    ]
    rows = original_rows([record for record, _ in pairs], live.domain, frame)
    told = np.asarray(trained.ask(rows)).ravel().astype(float)
    given = np.array([float(answer) for _, answer in pairs])
    wrong = np.flatnonzero(np.rint(given) != np.rint(told))  # chances stand for labels
    assert not len(wrong), (rows.iloc[wrong[0]].to_dict(), given[wrong], told[wrong])
    return len(pairs)


@pytest.mark.parametrize(("name", "kind"), FAST)
def test_what_init_writes_for_a_messy_table_runs_at_once(name, kind, tmp_path):
    pytest.importorskip(kind)
    table = write_table(name, tmp_path)
    trained = MODELS[kind](table.frame(), tmp_path)
    compared = check_project(table, trained, tmp_path / "project")
    assert min(compared.values()) >= 2  # answers of a case


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_init_writes_for_any_table_and_model_runs_at_once(
    seed, name, kind, tmp_path
):
    pytest.importorskip(kind)
    table = write_table(name, tmp_path, seed)
    trained = MODELS[kind](table.frame(), tmp_path)
    compared = check_project(table, trained, tmp_path / "project")
    assert min(compared.values()) >= 2  # answers of a case
