"""Made inputs stay within the schema, are stored with their records and are no people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from nomos.cli import cli
from nomos.errors import NomosError
from nomos.results.result import Nearest, from_data, to_data
from nomos.results.verdict import rate_text
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job
from nomos.search.guided import strategy_by_name
from nomos.search.making import Encoding, Making
from nomos.search.strategy import generation_rng
from nomos.store.store import Store
from tests.runner.driving import drive, run


def making(path: Path) -> Making:
    worker = Worker(Setting(path.parent.parent))
    return Making(worker.prepare_job(Job(path)).engine.program)


@pytest.mark.parametrize("name", ["uniform", "mutated", "guided", "diverse"])
def test_made_rows_are_rows_of_the_schema(loans: Path, name: str) -> None:
    made = making(loans)
    schema = made._encoding.schema
    search = strategy_by_name(name, made.build_material())
    for number in range(3):
        cases = search.propose(generation_rng(1, "a", number))
        assert schema.problems(made.build_inputs(cases).rows) == []


def test_encoding_goes_there_and_back(loans: Path) -> None:
    made = making(loans)
    rows = made._program.source
    encoding = Encoding(made._encoding.schema, rows)
    assert np.array_equal(encoding.decode(encoding.encode(rows)), rows)


def test_the_nearest_row_has_the_fewest_features_changed(loans: Path) -> None:
    made = making(loans)
    row = made._program.source[7].copy()
    assert made._real.nearest(row) == Nearest(7, ())
    row[0], row[5:8] = 90, [0, 1, 0] if row[5] else [1, 0, 0]
    assert made._real.nearest(row) == Nearest(7, ("age", "town"))
    for row in made._program.source + np.float64(3):  # several are as near
        assert made._real.nearest(row).row == made._real.order(row)[0]


def test_guided_finds_what_mutation_and_the_data_do_not(loans: Path) -> None:
    assert run(loans, search="exhaustive")[0].verdict == "holds"
    assert run(loans, inputs="generated")[0].verdict == "none-found"
    result = run(loans, search="guided")[0]
    assert result.verdict == "violated"
    assert (result.search, result.scope) == ("guided", "generated")
    bug = result.bugs[0]
    assert len(bug.nearest[0].changed) >= 2
    assert bug.inputs["x1"]["age"] > 40  # nobody in the data is so old


def test_rates_of_made_inputs_are_no_shares_of_people(loans: Path) -> None:
    result = run(loans.with_stem("pairs"), inputs="generated")[0]
    assert result.counts.violations > 0
    assert result.rate is None
    assert result.next_bug is None
    assert result.ensures[0].rate is None
    assert rate_text([result]).endswith("generated inputs, no share of real ones")
    assert from_data(to_data(result)) == result


def test_a_made_bug_is_stored_with_its_records_and_run_again(
    loans: Path, tmp_path: Path
) -> None:
    with Store.open(tmp_path / ".nomos") as store:
        drive([loans], search="guided", store=store)
        record = store.bugs()[0]
    assert record.bug.records
    assert record.bug.choices[0] < 0
    ran = CliRunner().invoke(cli, ["replay", record.bug.id])
    assert ran.exit_code == 1, ran.output
    shown = CliRunner().invoke(cli, ["show", record.bug.id])
    assert f"row {record.bug.nearest[0].row} of the data" in shown.output
    assert "warning" not in shown.output
    with Store.open(tmp_path / ".nomos") as store:
        again, _, _ = drive([loans], search="random", cases=10, store=store)
    assert again.results[0].recorded.still > 0


def test_a_made_bug_is_made_smaller(loans: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / ".nomos") as store:
        drive([loans], search="guided", cases=2000, store=store)
        found = [(r.bug, r.bug.shrunk) for r in store.bugs() if r.bug.shrunk]
    off = [len(bug.nearest[0].changed) for bug, _ in found]
    smaller = [small.features_off for _, small in found if small is not None]
    assert sum(smaller) < sum(off)
    assert min(smaller) >= 2  # nobody who is so old has so large a loan
    ran = CliRunner().invoke(cli, ["replay", found[0][0].id, "--shrunk"])
    assert ran.exit_code == 1, ran.output


def test_diverse_search_finds_more_than_mutation(loans: Path) -> None:
    path = loans.with_stem("pairs")
    some, many = (
        run(path, cases=5000, shrink=False, **options)[0].counts.bug_inputs
        for options in ({"inputs": "generated"}, {"search": "diverse"})
    )
    assert many > 2 * some


def test_changed_records_make_another_bug(loans: Path) -> None:
    bugs = run(loans, search="guided")[0].bugs
    assert len({bug.id for bug in bugs}) == len({(b.records, b.choices) for b in bugs})
    assert len({bug.choices[0] for bug in bugs}) == len({b.records for b in bugs})


def test_without_scores_it_says_so_and_mutates(loans: Path, tmp_path: Path) -> None:
    domain = tmp_path / "loans.py"
    text = domain.read_text()
    domain.write_text(text.replace('verifies = {"predict": "model"}', ""))
    done, _, warnings = drive([loans], search="guided", cases=200)
    assert done.results[0].search == "generated"
    assert "inputs are mutated at random" in warnings[0]
    assert "gives labels, and the domain has no scores" in warnings[0]


def test_a_domain_may_give_its_scores(loans: Path, tmp_path: Path) -> None:
    domain = tmp_path / "loans.py"
    scores = "    def scores(self, rows):\n        return self.model.scores(rows)\n"
    text = domain.read_text().replace('verifies = {"predict": "model"}', "")
    domain.write_text(text + "\n" + scores)
    done, _, warnings = drive([loans], search="guided")
    assert (done.results[0].verdict, warnings) == ("violated", [])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("schema = Schema(", "other = Schema("), "only if it has a schema"),
        (("ensures d1 <= d2", "ensures label(x1) == 1 ==> d1 <= d2"), "has none"),
    ],
)
def test_what_cannot_be_made_is_told(
    loans: Path, tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    for path in (loans, tmp_path / "loans.py"):
        path.write_text(path.read_text().replace(*change))
    domain = tmp_path / "loans.py"
    labels = "    def labels(self):\n        return np.zeros(40, dtype=int)\n"
    domain.write_text(domain.read_text() + "\n" + labels)
    if "schema" in says:
        loans.write_text(
            "import loans;\ninput x1;\noutput d1;\n{\n  d1 = predict(x1)\n}\n"
            "ensures d1 >= 0;\n"
        )
    done, _, _ = drive([loans], inputs="generated")
    assert says in str(done.failures[0].error)


@pytest.mark.parametrize(
    "options",
    [
        {"search": "exhaustive", "inputs": "generated"},
        {"search": "guided", "inputs": "data"},
        {"search": "diverse", "inputs": "data"},
    ],
)
def test_options_that_exclude_each_other(loans: Path, options: Any) -> None:
    with pytest.raises(NomosError, match=r"generate[sd] "):
        run(loans, **options)


def test_the_command_line_takes_made_inputs(loans: Path, tmp_path: Path) -> None:
    given = ["run", str(loans), "--no-store", "--budget", "300"]
    generated = CliRunner().invoke(cli, [*given, "--inputs", "generated"])
    assert generated.exit_code == 0, generated.output
    assert "search=generated" in generated.output
    missing = CliRunner().invoke(cli, [*given, "--inputs", "no.csv"])
    assert missing.exit_code == 2
