"""The notebook of the docs runs as it is, in a kernel of its own, and says what it shows.

To write its outputs again: `jupyter execute --inplace docs/tutorial/notebook.ipynb`.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "docs" / "tutorial" / "notebook.ipynb"
VERDICTS = re.compile(r"\b(violated|holds|none found)\b")


@pytest.fixture(scope="module")
def notebook() -> Any:
    return pytest.importorskip("nbformat").read(PATH, as_version=4)


@pytest.fixture(scope="module")
def executed(notebook: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    again = pytest.importorskip("nbformat").from_dict(notebook)
    folder = tmp_path_factory.mktemp("notebook")
    client = nbclient.NotebookClient(
        again, timeout=300, resources={"metadata": {"path": str(folder)}}
    )
    client.create_kernel_manager()
    # Not whatever kernel this machine calls python3.
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    return again


def displays(cells: list[Any]) -> list[list[str]]:
    """Return the kinds of what each cell shows, and the verdicts among it."""
    shown = []
    for cell in cells:
        outputs = cell.get("outputs", [])
        text = "".join(
            str(output.get("text") or output["data"].get("text/html", ""))
            for output in outputs
        )
        kinds = [output["output_type"] for output in outputs]
        shown.append([*kinds, *VERDICTS.findall(text)])
    return shown


def test_notebook_is_kept_with_its_outputs(notebook: Any) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.slow
def test_notebook_runs_and_shows_what_it_is_kept_with(
    notebook: Any, executed: Any
) -> None:
    assert displays(executed.cells) == displays(notebook.cells)


def test_notebook_shows_a_bug_and_a_model_without_it(notebook: Any) -> None:
    pages = [
        "".join(output["data"]["text/html"])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert any("violated" in page and "<th>bmi</th>" in page for page in pages)
    assert "holds" in pages[-1]
