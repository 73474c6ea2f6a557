"""The workflow for GitHub that the page on CI shows: it is valid, and its commands run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from casestudies.datasets import Carrier, DataFile, DataMissingError, find
from nomos.cli import cli

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-in-ci.md"
SCHEMA = DataFile(
    folder="schemas",
    name="github-workflows.json",
    sha256="d10c9f4656e1bd5bc6727e9b35080e017dc167154726fca93da33c7a6bd1c4f3",
    carriers=(
        Carrier(
            "check-jsonschema==0.39.0",
            "check_jsonschema/builtin_schemas/vendor/github-workflows.json",
        ),
    ),
)


@pytest.fixture
def workflow() -> dict[str, Any]:
    (text,) = re.findall(
        r'^```yaml title="\.github/workflows/\S+"\n(.*?)^```$',
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    document: dict[Any, Any] = yaml.safe_load(text)
    document["on"] = document.pop(True)  # what YAML 1.1 takes the word for
    return document


@pytest.mark.slow  # fetching the schema, once
def test_workflow_is_one_by_the_published_schema(workflow: dict[str, Any]) -> None:
    try:
        path = find(SCHEMA)
    except DataMissingError as error:
        pytest.skip(str(error))
    jsonschema.validate(workflow, json.loads(path.read_text(encoding="utf-8")))


def test_commands_of_the_workflow_stop_only_for_new_bugs(
    workflow: dict[str, Any], project: Any
) -> None:
    steps = workflow["jobs"]["properties"]["steps"]
    commands = [
        step["run"].split()[1:]
        for step in steps
        if step.get("run", "").startswith("nomos ")
    ]
    assert [command[0] for command in commands] == ["check", "run"]

    def statuses() -> list[int]:
        return [CliRunner().invoke(cli, command).exit_code for command in commands]

    assert statuses() == [0, 1]
    CliRunner().invoke(cli, ["run", "specs"])  # the bugs become known
    assert statuses() == [0, 0]
    uploaded = [step["with"] for step in steps if "upload" in step.get("uses", "")]
    pattern, sarif = uploaded[0]["path"], uploaded[1]["sarif_file"]
    assert {path.name for path in Path().glob(pattern)} == {
        "nomos.html",
        "nomos.xml",
        sarif,
    }
