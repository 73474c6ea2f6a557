"""`%%nomos` in a real shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("IPython", reason="needs IPython")
pytest.importorskip("pandas", reason="needs pandas")

CELL = """\
# A year more never gives a lower answer.
input x1;
var x2 := x1[age := x1.age + 1];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(history_length=0)
    made.history_manager.enabled = False
    made.run_cell("%load_ext nomos")
    made.run_cell(
        "import pandas as pd\n"
        "people = pd.DataFrame({'age': [1, 2, 3], 'debts': [4, 5, 6]})\n"
        "def falls(rows): return -rows.age.to_numpy()\n"
    )
    yield made
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


def run(shell: Any, line: str, cell: str = CELL) -> Any:
    done = shell.run_cell(f"%%nomos {line}\n{cell}")
    assert done.success
    return done.result


def test_a_spec_is_run_on_a_frame_at_hand(shell: Any) -> None:
    result = run(shell, "people predict=falls --into found")
    assert result.verdict == "violated"
    assert shell.user_ns["found"] is result
    result = run(shell, "people[:2] 'predict=lambda rows: rows.age.to_numpy()'")
    assert result.verdict == "holds"


def test_budget_seed_and_name_are_those_of_a_run(shell: Any) -> None:
    cell = CELL.replace("x1.age + 1", "x1.age + randInt(0, 999999)")
    result = run(shell, "people predict=falls --budget 50 --seed 3 --name older", cell)
    assert (result.name, result.seed, result.counts.tests) == ("older", 3, 50)


def test_mistakes_are_drawn_as_on_the_console(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shell, "people predict=falls", CELL.replace("[age", "[aeg")) is None
    shown = capsys.readouterr().out
    assert "error[unknown-feature]: the inputs have no feature `aeg`" in shown
    assert "3 | var x2 := x1[aeg := x1.age + 1];\n  |              ^^^" in shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("peple predict=falls", "`peple` has no value here: NameError"),
        ("people falls", "`falls` is no function: write name=expression"),
        ("people predict=falls --budget x", "invalid int value"),
        ("people", "give at least one function"),
    ],
)
def test_a_wrong_line_is_told_in_a_sentence(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert run(shell, line) is None
    assert said in capsys.readouterr().out


def test_tab_completes_what_nomos_offers(shell: Any) -> None:
    from IPython.core.completer import provisionalcompleter

    shell.run_cell("import nomos")
    for jedi in (True, False):
        shell.Completer.use_jedi = jedi
        with provisionalcompleter():
            found = {
                c.text.lstrip(".") for c in shell.Completer.completions("nomos.", 6)
            }
        assert {"run", "spec", "Domain", "relations", "load_model"} <= found


def test_interrupting_a_cell_ends_the_run() -> None:
    """In a real kernel, as a notebook's stop button does."""
    manager = pytest.importorskip(
        "jupyter_client.manager", reason="needs jupyter_client"
    )
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    made, client = manager.start_new_kernel(kernel_name="python3")
    try:
        set_up = "%load_ext nomos\nimport time\nimport numpy as np\nrows = np.zeros((9, 1))\n"
        set_up += "def slow(x):\n    print('asked', flush=True)\n    time.sleep(0.5)\n"
        set_up += "    return x[:, 0]\n"
        client.execute_interactive(set_up, timeout=60)
        cell = CELL.replace("age", "f0").replace("+ 1", "+ randInt(1, 999999)")
        number = client.execute(f"%%nomos rows predict=slow --budget 100000\n{cell}")
        while client.get_iopub_msg(timeout=60)["content"].get("text") != "asked\n":
            pass
        made.interrupt_kernel()
        while (reply := client.get_shell_msg(timeout=60))["parent_header"][
            "msg_id"
        ] != number:
            pass
        assert reply["content"]["ename"] == "KeyboardInterrupt"
    finally:
        client.stop_channels()
        made.shutdown_kernel(now=True)
