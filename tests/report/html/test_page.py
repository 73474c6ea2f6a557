from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest

from nomos.domain.show import Image
from nomos.report.html.cards import MOST_DRAWN
from nomos.report.html.page import html_page
from nomos.results.result import Crash, EnsuresCounts

SVG = "http://www.w3.org/2000/svg"
NASTY = "</script><script>alert(1)</script></style><!-- <b><hr>\x00 \u202e \u2028 \ud800 &amp;\"'"
LARGEST_PAGE = 15_000_000
DIGEST = {"shape": [9, 9], "dtype": "float64", "sha256": "ab" * 32}


def page(*results, **how):
    return html_page(results, **how).replace("\N{NO-BREAK SPACE}%", " %")


def later(text):
    """Return the cards that the script shows."""
    return re.findall(r"data-later>(.*?)</script>", text, re.DOTALL)[0].split("<hr>")


class TestPage:
    def test_each_property_has_a_row_and_a_section(self, bug, result, read):
        held = result(
            property="steady", spec="b.nom", search="exhaustive", is_complete=True
        )
        text = page(result(bug()), held)
        document = read(text)
        assert document.count("section", id="property-income") == 1
        assert document.count("tr", **{"data-key": "property-steady"}) == 1
        assert "1 of 2 properties is violated</h1>" in text
        assert "If the income rises, a granted loan stays granted." in text
        assert '<td role="cell" class="extra">exhaustive</td>' in text

    def test_every_element_that_is_opened_is_closed(self, bug, result, read):
        alone = {"meta", "link", "input", "wbr", "img", "path", "rect"}
        document = read(
            page(result(*(bug(n) for n in range(9)), margins={1.0: 2, 2.0: 3}))
        )
        assert [tag for tag in document.open if tag not in alone] == []

    def test_page_takes_nothing_from_elsewhere(self, bug, result, read):
        text = page(result(bug()))
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[\w/.]*", text))
        assert addresses <= {SVG}
        for tag, attributes in read(text).elements:
            for name in ("src", "href", "action", "data", "srcset"):
                target = attributes.get(name) or ""
                assert target == "" or target.startswith(("#", "data:")), (tag, target)
        assert not re.search(r"@import|url\(", text)

    def test_policy_lets_only_the_pages_own_script_and_style_run(
        self, bug, result, read
    ):
        document = read(page(result(bug())))
        policy = next(
            str(attributes["content"])
            for tag, attributes in document.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for kind, own in (
            ("script", document.texts["script"][-1]),
            ("style", document.texts["style"][0]),
        ):
            digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
        styled = [tag for tag, attributes in document.elements if "style" in attributes]
        assert styled == []

    def test_page_without_results_says_so(self):
        assert "0 of 0 properties are violated" in page()

    def test_specs_that_could_not_be_run_are_named(self, bug, result):
        text = page(result(bug()), failures=[("specs/a.nom", "no <model> at all")])
        assert "<b>specs/a.nom</b> could not be run: no &lt;model&gt; at all" in text
        assert "1 of 1 property is violated, 1 could not be run</h1>" in text

    def test_headline_counts_what_the_table_counts(self, bug, result):
        text = page(result(bug(), unique_bugs=19_869))
        assert "19,869 unique bugs in 19,869 cases" in text
        assert re.search(r'bugs-cell"[^>]*>19,869</td>', text)
        assert "19,868 more bugs not on this page" in text
        seeds = page(result(bug(0), bug(1)), result(bug(1), seed=1))
        assert "1.5 unique bugs a seed in 600 cases" in seeds
        assert re.search(r'bugs-cell"[^>]*>1.5 ± 0.7</td>', seeds)

    def test_problems_and_crashes_are_told(self, bug, result):
        crash = Crash(7, (1,), "ValueError: no", "Traceback\n  <here>\nValueError")
        text = page(result(bug(), crashed=1, crashes=(crash,)))
        assert '<p class="problem">1 case crashed.</p>' in text
        assert "<summary>Case 7 crashed: ValueError: no</summary>" in text
        assert "&lt;here&gt;" in text
        failed = page(result(flaky=71))
        assert "0 of 1 property are violated, 1 without a verdict" in failed
        assert "71 violations did not fail again" in failed

    def test_bug_that_two_seeds_find_is_one_card_met_twice(self, bug, result, read):
        text = page(result(bug(0), bug(1)), result(bug(1), bug(2), seed=1))
        ids = [a["id"] for tag, a in read(text).elements if a.get("class") == "card"]
        assert ids == [f"bug-{n:010x}" for n in range(3)]
        assert text.count("met 2 times") == 1

    def test_bugs_that_were_known_are_told_from_new_ones(self, bug, result):
        text = page(result(bug(0), bug(1, is_new=False)))
        assert '<span class="tag new">new</span>' in text
        assert '<span class="tag known">known</span>' in text
        assert "2 unique bugs (1 new)" in text
        assert "<option>new</option><option>known</option>" in text
        assert 'class="tag' not in page(result(bug(0)))

    def test_models_have_a_column_where_they_differ(self, bug, result):
        one = result(bug(), model="a/models/nn.onnx")
        two = result(model="b/models/nn.onnx")
        text = page(one, two)
        assert 'id="property-income-2"' in text
        assert ">model</button>" in text
        assert (
            '<span title="b/models/nn.onnx">b/<wbr>models/<wbr>nn.onnx</span>' in text
        )
        assert "1 of 2 violated: 1 property on 2 models" in text
        assert ">model</button>" not in page(one)

    def test_what_is_the_same_for_all_is_said_once(self, bug, result):
        text = page(result(bug()))
        assert ">search</button>" not in text and ">seed</button>" not in text
        assert "random search, seed 0" in text

    def test_each_ensures_has_a_row(self, bug, result):
        both = (
            EnsuresCounts("1", "a < b", 3, 30, 20),
            EnsuresCounts("2", "b", 4, 0, 0),
        )
        text = page(result(bug(), ensures=both))
        assert "<code>a &lt; b</code></th><td>20</td><td>30 of 300: 10 % (" in text

    def test_gaps_are_a_histogram(self, bug, result):
        text = page(result(bug(), margins={0.04: 29, 0.79: 1}))
        assert '<th scope="row">0.04</th><td>29</td>' in text
        assert '<th scope="row">0.79</th><td>1</td>' in text
        assert re.findall(r'<rect [^>]*width="([\d.]+)"', text) == ["99.5", "3.9"]
        assert "<rect" not in page(result(bug()))

    def test_line_of_the_broken_condition_is_marked(self, bug, result):
        text = page(result(bug()))
        assert text.count('class="line failed"') == 1
        assert 'data-note="1 bug"><span class="keyword">ensures</span>' in text
        assert "was not recorded" in page(result(bug(), text=""))

    def test_a_stored_result_gives_the_same_page(self, run):
        (found,) = run("income")
        assert page(found) == page(replace(found, live=None))


class TestCards:
    def test_a_card_says_what_changed_and_what_came_out(self, bug, result):
        text = page(result(bug(margin=2.5)))
        assert '<span class="gist">income 60 → 64, d1 = 1, d2 = 0</span>' in text
        assert '<th scope="row">income</th><td>60</td><td>64</td>' in text
        assert "<summary>2 the same</summary>" in text
        assert "debts=2  town=Bern" in text
        assert "case 0 · misses by 2.5" in text

    def test_the_clearest_bug_is_open_and_the_first(self, bug, result, read):
        wide = bug(0, inputs={"x1": {"a": 1, "b": 1}, "x2": {"a": 2, "b": 2}})
        cards = [
            a
            for _, a in read(page(result(wide, bug(1)))).elements
            if a.get("class") == "card"
        ]
        assert [(card["id"][-1], "open" in card) for card in cards] == [
            ("1", True),
            ("0", False),
        ]

    def test_cards_need_no_script(self, bug, result, read):
        text = page(result(*(bug(n) for n in range(230))))
        assert read(text).count("details", **{"class": "card"}) == 200
        assert len(later(text)) == 30
        assert "<noscript>" in text and "30 more need the page's script" in text
        assert "192 more</summary>" in text

    def test_a_page_of_many_properties_has_fewer_cards_of_each(self, bug, result, read):
        bugs = [bug(n) for n in range(100)]
        text = page(*(result(*bugs, spec=f"{n}.nom") for n in range(40)))
        assert read(text).count("details", **{"class": "card"}) == 40 * 30

    def test_a_bug_without_values_says_how_to_see_it(self, bug, result):
        text = page(result(bug(confirmed="batch", inputs={}, outputs={})))
        assert "<code>nomos show 0000000000</code> runs it again" in text
        assert "failed again in a batch of other cases, not in isolation" in text

    def test_a_fairness_bug_folds_the_record_that_the_model_is_not_given(
        self, bug, result
    ):
        people = {"x1": {"sex": "m", "age": 3}, "x2": {"sex": "f", "age": 9}}
        text = page(
            result(bug(inputs={**people, "x3": {"sex": "f", "age": 3}}), text="")
        )
        assert "x2 is not given to the model</summary>" in text
        assert '<th scope="row">sex</th><td>m</td><td>f</td>' in text

    def test_changes_of_a_text_are_marked(self, bug, result):
        review = "The room was clean and the people at the desk were kind to all of us."
        changed = review.replace("kind", "rude")
        text = page(result(bug(inputs={"x1": review, "x2": changed})))
        assert "<del> kind</del> <ins>rude</ins>" in text

    def test_only_the_first_bugs_of_a_property_are_drawn(self, bug, result, playing):
        live = playing(None, *({"x1": np.full((9, 9), n / 99)} for n in range(60)))
        bugs = [bug(n, inputs={"x1": DIGEST}) for n in range(60)]
        text = page(result(*bugs, live=live))
        assert text.count('<img src="data:') == MOST_DRAWN
        assert f"Pictures are drawn for the first {MOST_DRAWN} bugs" in text
        assert text.count("array, 9 by 9 float64") == 12

    def test_what_is_no_picture_costs_the_picture_only(self, bug, result, playing):
        class Showing:
            schema = None

            def show(self, record):
                return Image(np.full((2, 2), "no"))

        values = {"x1": np.ones(3), "d1": 1, "d2": 0}
        text = page(result(bug(), live=playing(Showing(), values)))
        assert "because it raised ValueError" in text
        assert "<code>d1 &lt;= d2</code> does not hold" in text


class TestEscaping:
    def test_nothing_planted_becomes_an_element(self, bug, result, read):
        odd = bug(
            failed=NASTY,
            inputs={NASTY: {NASTY: NASTY}, "v": NASTY},
            outputs={"d": NASTY},
        )
        names = {"property": NASTY, "description": NASTY, "model": NASTY, "text": NASTY}
        nasty = result(
            *(replace(odd, id=bug(n).id) for n in range(220)),
            **names,
            spec=NASTY,
            settings={NASTY: NASTY},
            problem=NASTY,
            crashes=(Crash(0, (), NASTY, f"{NASTY}\n{NASTY}"),),
        )
        text = page(nasty, failures=[(NASTY, NASTY)])
        document = read(text)
        assert document.count("script") == 2
        assert document.count("style") == 1
        assert document.count("b") == 1
        assert document.count("hr") == 0 and len(later(text)) == 20
        assert "alert(1)</script>" not in text
        assert not set(text) & {"\x00", "\u202e", "\u2028"}
        text.encode("utf-8")

    def test_what_cannot_be_seen_is_named(self, result):
        text = page(result(description="a\x00b\u202ec", model="m\u200b"))
        assert (
            'a<span class="odd">U+0000</span>b<span class="odd">U+202E</span>c' in text
        )
        assert 'data-model="mU+200B"' in text

    def test_text_of_a_megabyte_is_cut_around_its_change(self, bug, result):
        long = "x" * 1_000_000
        text = page(result(bug(inputs={"x1": long + "ENDE", "x2": long + "END"})))
        assert len(text) < 200_000
        assert re.search("… from character 998,67.: ", text)
        assert "ENDE" in text


class TestRoom:
    def test_ten_thousand_bugs_with_tables_stay_small(self, bug, result):
        rows = [
            {f"feature_{n}": (n * k) % 97 / 7 for n in range(40)} for k in range(97)
        ]
        bugs = [
            bug(n, inputs={"x1": rows[n % 97], "x2": rows[n % 97] | {"feature_3": -1}})
            for n in range(10_000)
        ]
        text = page(result(*bugs))
        assert len(text.encode()) < LARGEST_PAGE
        assert len(later(text)) == 9_800
        assert "left out after the first 1,000 bugs" in text
        assert "not on this page" not in text

    def test_what_does_not_fit_is_counted(self, bug, result, playing):
        picture = np.random.default_rng(2).random((200, 200))
        given = {"t": "<&> " * 900, "n": 1}
        values = [{"x1": picture, "x2": 1 - picture, **given}] * 60
        bugs = [bug(n, inputs={"x1": DIGEST, **given}) for n in range(6000)]
        text = page(result(*bugs, live=playing(None, *values)))
        assert LARGEST_PAGE / 3 < len(text.encode()) < LARGEST_PAGE
        left = 6000 - 200 - len(later(text))
        assert left > 0 and f"{left:,} more bugs not on this page" in text

    def test_large_properties_share_the_page(self, bug, result):
        bugs = [bug(n, inputs={"t": "y" * 4000}) for n in range(3000)]
        text = page(*(result(*bugs, spec=f"{n}.nom") for n in range(3)))
        assert LARGEST_PAGE / 2 < len(text.encode()) < LARGEST_PAGE

    @pytest.mark.parametrize("many", [1000, 4000])
    def test_one_property_cannot_take_the_room_of_another(self, bug, result, many):
        large = result(*(bug(n, inputs={"t": "y" * 4000}) for n in range(many)))
        small = result(*(bug(n) for n in range(10)), spec="other.nom")
        text = page(large, small)
        assert text.count("income 60 → 64") == 10
        # What the small one leaves, the large one may have.
        assert ("not on this page" in text) == (many == 4000)
