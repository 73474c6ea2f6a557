from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nomos.campaign.baseline import case_name
from nomos.campaign.events import Crash
from nomos.campaign.result import Result
from nomos.report.html_overview import model_names

from nomos.report.html import html, write_html

Page = Callable[..., str]
Read = Callable[[str], Any]
Run = Callable[..., list[Result]]
Maker = Callable[..., Result]
SVG = "http://www.w3.org/2000/svg"
NASTY = (
    "</script><script>alert(1)</script></style><!-- <b>\x00 \u202e \u2028 \ud800 &amp;"
)


class TestPage:
    def test_each_property_has_a_row_and_a_section(
        self, project: Any, page: Page, run: Run, read: Read
    ) -> None:
        project.spec(
            "steady", "import loans; input x; output d; { d = 1 } ensures d == 1;"
        )
        text = page(*run("income", "steady"))
        document = read(text)
        assert document.count("section", id="property-income") == 1
        assert document.count("tr", **{"data-key": "property-steady"}) == 1
        assert "1 of 2 properties is violated" in text
        assert "If the income rises, a granted loan stays granted." in text
        assert '<td role="cell" class="extra">exhaustive</td>' in text

    def test_every_element_that_is_opened_is_closed(
        self, page: Page, run: Run, read: Read
    ) -> None:
        alone = {"meta", "link", "input", "br", "wbr", "img", "path"}
        document = read(page(*run("income")))
        assert [tag for tag in document.open if tag not in alone] == []

    def test_bugs_of_a_real_run_are_in_the_data_with_what_changed(
        self, page: Page, run: Run, read: Read
    ) -> None:
        (result,) = run("income")
        (line,) = read(page(result)).data
        assert [bug[0] for bug in line["bugs"]] == [bug.id for bug in result.bugs]
        form, base, change = line["bugs"][0][-1][0]
        fields = line["forms"][form]["fields"]
        assert fields == ["income", "debts", "share", "member", "town"]
        values = result.bugs[0].values
        assert base[0] == values["v1"]
        assert change == [0, values["v2"]]

    def test_page_takes_nothing_from_elsewhere(
        self, page: Page, run: Run, read: Read
    ) -> None:
        text = page(*run("income"))
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[\w/.]*", text))
        assert addresses <= {SVG}
        for tag, attributes in read(text).elements:
            for name in ("src", "href", "action", "data", "srcset"):
                target = attributes.get(name) or ""
                assert target == "" or target.startswith(("#", "data:")), (tag, target)
        assert not re.search(r"@import|url\(", text)

    def test_policy_lets_only_the_pages_own_script_and_style_run(
        self, page: Page, run: Run, read: Read
    ) -> None:
        document = read(page(*run("income")))
        policy = next(
            str(attributes["content"])
            for tag, attributes in document.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for kind, own in (
            ("script", document.texts["script"][1]),
            ("style", document.texts["style"][0]),
        ):
            digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
        styled = [tag for tag, attributes in document.elements if "style" in attributes]
        assert styled == []

    def test_file_is_written_whole(self, tmp_path: Path, run: Run) -> None:
        path = tmp_path / "report.html"
        write_html(run("income"), path)
        assert path.read_text(encoding="utf-8").endswith("</html>\n")
        assert sorted(p.name for p in tmp_path.glob("report*")) == ["report.html"]

    def test_page_without_results_says_so(self, page: Page) -> None:
        assert "0 of 0 properties are violated" in page()

    def test_specs_that_could_not_be_run_are_named(self, run: Run) -> None:
        text = html(run("income"), [("specs/a.nom", "no <model> at all")])
        assert "<b>specs/a.nom</b> could not be run: no &lt;model&gt; at all" in text
        assert "1 of 1 property is violated, 1 could not be run</h1>" in text

    def test_problems_and_crashes_are_told(self, page: Page, run: Run) -> None:
        (result,) = run("income", fail_at="50")
        result.crashes = [
            Crash(7, (1,), "ValueError: no", "Traceback\n  <here>\nValueError")
        ]
        text = page(result)
        assert "Case 7 crashed" in text
        assert "Traceback" not in text.partition("<details>")[0]
        assert "&lt;here&gt;" in text

    def test_bug_that_two_seeds_find_is_one_bug_met_twice(
        self, page: Page, run: Run, read: Read
    ) -> None:
        first, second = run("income", seeds=(0, 1), people="40")
        (line,) = read(page(first, second)).data
        ids = [bug[0] for bug in line["bugs"]]
        assert len(ids) == len(set(ids)) < len(first.bugs) + len(second.bugs)
        shared = {bug.id for bug in first.bugs} & {bug.id for bug in second.bugs}
        assert all(bug[3] >= 2 for bug in line["bugs"] if bug[0] in shared)
        assert "±" in page(first, second)

    def test_bugs_that_were_known_are_told_from_new_ones(
        self, page: Page, run: Run, read: Read
    ) -> None:
        (result,) = run("income")
        known = case_name("income", {}, result.bugs[0].choices)
        (line,) = read(page(replace(result, known=frozenset({known})))).data
        assert {bug[4] for bug in line["bugs"][1:]} == {"new"}
        assert line["bugs"][0][4] == "known"
        (line,) = read(page(result)).data
        assert {bug[4] for bug in line["bugs"]} == {""}

    def test_models_have_a_column_where_they_differ(self, page: Page, run: Run) -> None:
        (bumpy,) = run("income", model="bumpy")
        (smooth,) = run("income", model="smooth")
        text = page(bumpy, smooth)
        assert 'id="property-income-2"' in text
        assert ">model</button>" in text
        assert "1 of 2 violated: 1 property on 2 models" in text
        assert ">model</button>" not in page(bumpy)

    def test_models_of_one_name_are_told_apart_by_their_folders(self) -> None:
        names = model_names(["a/models/nn.onnx", "b/models/nn.onnx", "a/dt.onnx", ""])
        assert [re.sub("<.*?>", "", name) for name in names] == [
            "a/models/nn.onnx",
            "b/models/nn.onnx",
            "dt.onnx",
            "-",
        ]

    def test_what_is_the_same_for_all_is_said_once(self, page: Page, run: Run) -> None:
        text = page(*run("income"))
        assert ">search</button>" not in text and ">seed</button>" not in text
        assert "random search, seed 0" in text

    def test_gaps_of_all_seeds_are_told_together(
        self, project: Any, page: Page, run: Run
    ) -> None:
        project.spec(
            "gap",
            "import loans; input x; var n := randInt(1, 2); output d; { d = n }"
            " ensures d <= 0;",
        )
        text = page(*run("gap", seeds=(0, 1, 2)))
        (said,) = re.findall(r"Violations miss what is ensured by 1 \(.*?\)\.", text)
        assert re.search(r"by 2 \(\d+ cases\)", said)


class TestEscaping:
    def test_nothing_planted_becomes_an_element(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        result = made([{"x1": {NASTY: NASTY}, "v1": NASTY, "d1": NASTY}])
        spec = result.subject.spec
        (ensures,) = spec.ensures
        ensures = replace(ensures, text=NASTY)
        spec = replace(spec, name=NASTY, description=NASTY, ensures=(ensures,))
        result.subject = replace(
            result.subject, spec=spec, model=NASTY, settings={NASTY: NASTY}, path=NASTY
        )
        result.bugs = [replace(bug, failed=NASTY) for bug in result.bugs]
        crash = Crash(0, (), NASTY, f"{NASTY}\n{NASTY}")
        result.crashes = [crash]
        text = page(result)
        plain = read(page(made([{"x1": {"a": 1}}])))
        document = read(text)
        assert document.count("script") == plain.count("script") == 2
        assert document.count("style") == 1
        assert document.count("b") == 0
        assert "alert(1)" not in "".join(document.texts["script"][1:])
        text.encode("utf-8")

    def test_data_holds_nothing_that_ends_a_script(
        self, made: Maker, page: Page
    ) -> None:
        text = page(made([{"x1": {"a": NASTY}, "v1": NASTY}]))
        data = text.partition('id="data">')[2].partition("</script>")[0]
        assert not set(data) & set("<>&\u2028\u2029")
        assert data.isascii()
        (line,) = json.loads(data)
        words, table = line["bugs"][0][-1]
        assert words[1] == NASTY
        assert table[1] == [NASTY]

    def test_what_cannot_be_seen_is_named_in_the_pages_own_text(
        self, made: Maker, page: Page
    ) -> None:
        result = made([])
        spec = replace(result.subject.spec, description="a\x00b\u202ec")
        result.subject = replace(result.subject, spec=spec)
        text = page(result)
        assert (
            'a<span class="odd">U+0000</span>b<span class="odd">U+202E</span>c' in text
        )
        assert "\x00" not in text and "\u202e" not in text

    def test_text_of_a_megabyte_is_cut_around_its_change(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        long = "x" * 1_000_000
        text = page(made([{"x1": long + "ENDE", "x2": long + "END"}]))
        assert len(text) < 200_000
        (line,) = read(text).data
        form, *texts = line["bugs"][0][-1][0]
        assert line["forms"][form]["kind"] == "words"
        kept, start, length = texts[0]
        assert length == 1_000_004 and start > 900_000
        assert kept.endswith("ENDE")

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            (np.float32(0.1), 0.1),
            (float("nan"), "nan"),
            (float("-inf"), "-inf"),
            (2**70, str(2**70)),
            (None, None),
            (np.True_, True),
            ([1, [2, "<"]], '[1, [2, "<"]]'),
        ],
        ids=str,
    )
    def test_value_is_written_so_that_a_script_reads_the_same(
        self, made: Maker, value: Any, written: Any, page: Page, read: Read
    ) -> None:
        (line,) = read(page(made([{"v1": value}]))).data
        assert line["bugs"][0][-1][0][1] == pytest.approx(written)
