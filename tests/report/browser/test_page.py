"""The report in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nomos.campaign.result import Result

from casestudies.compas.data import load_people
from casestudies.datasets import DataMissingError
from casestudies.german_credit.data import load_applicants
from nomos.report.html import write_html

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SLOWEST_OPENING_S = 3.0
LARGEST_PAGE = 15_000_000
PLANTED = "<script>window.owned = 1</script>"


def bug_of(results: list[Result], name: str, number: int = 0) -> str:
    (result,) = [r for r in results if r.subject.spec.name == name]
    return result.bugs[number].id


def test_page_opens_without_a_complaint_and_asks_the_network_for_nothing(
    opened: Any, report: Path
) -> None:
    opened.page.mouse.wheel(0, 20_000)
    opened.page.wait_for_timeout(200)
    assert opened.complaints == []
    outside = [u for u in opened.requests if not u.startswith("data:")]
    assert outside == [report.as_uri()]


def test_page_of_the_demo_opens_without_a_complaint(tab: Any, tmp_path: Path) -> None:
    try:
        load_people("test")
        load_applicants("test")
    except DataMissingError as error:
        pytest.skip(str(error))
    page = tmp_path / "demo.html"
    command = [sys.executable, "-m", "casestudies.paper", "compas", "german_credit"]
    command += ["--budget", "500", "--seeds", "2", "--no-store", "--html", str(page)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    tab.open(page)
    assert tab.visible(".overview tbody tr") == 44
    assert tab.complaints == []


def test_every_property_has_its_row_and_its_section(opened: Any, gallery: Any) -> None:
    assert opened.visible(".overview tbody tr") == len(gallery.names)
    assert opened.visible("section.property") == len(gallery.names)
    assert "The sentence of income." in opened.page.inner_text("#property-income")


def test_fields_are_a_table_with_the_changed_ones_marked(opened: Any) -> None:
    card = opened.page.query_selector("#property-income .card")
    (changed,) = card.query_selector_all("tr.changed")
    assert changed.inner_text().split()[0] == "income"
    assert len(card.query_selector_all("tr.same")) == 3


def test_images_are_drawn_with_their_difference(opened: Any) -> None:
    card = opened.page.query_selector("#property-blurred .card")
    card.scroll_into_view_if_needed()
    opened.page.wait_for_timeout(100)
    images = card.query_selector_all("img")
    assert [image.get_attribute("alt")[:5] for image in images] == [
        "image",
        "image",
        "diffe",
    ]
    assert all(image.evaluate("image => image.naturalWidth") == 16 for image in images)


def test_changes_of_a_text_are_marked(opened: Any, results: list[Result]) -> None:
    card = opened.page.query_selector(f"#bug-{bug_of(results, 'rude')}")
    removed = [node.inner_text() for node in card.query_selector_all("del")]
    added = [node.inner_text() for node in card.query_selector_all("ins")]
    assert " ".join(removed + added).split() == [
        "kind",
        "rude",
        "and",
        "slow",
        "Never",
        "again!",
    ]


def test_sound_plays_and_pauses(opened: Any) -> None:
    button = opened.page.query_selector(
        "#property-loud .card button[aria-label='Play x1']"
    )
    button.click()
    audio = "document.querySelector('#property-loud audio')"
    opened.until(f"{audio}.currentTime > 0")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    opened.until(f"{audio}.paused")
    assert button.get_attribute("aria-pressed") == "false"
    assert opened.complaints == []


def test_two_scenes_are_replayed_together(opened: Any) -> None:
    card = opened.page.query_selector("#property-higher .card")
    assert len(card.query_selector_all("svg")) == 2
    button, slider = (
        card.query_selector(f".player {tag}") for tag in ("button", "input")
    )
    assert slider.input_value() == "89"
    bodies = card.query_selector_all(".body")
    ends = [body.get_attribute("transform") for body in bodies]
    button.click()
    opened.until("Number(document.querySelector('.player input').value) % 89 > 2")
    button.click()
    stopped = slider.input_value()
    opened.page.wait_for_timeout(150)
    assert slider.input_value() == stopped
    assert all(
        body.get_attribute("transform") != end
        for body, end in zip(bodies, ends, strict=True)
    )
    slider.fill("89")
    assert [body.get_attribute("transform") for body in bodies] == ends


def test_search_leaves_the_bugs_that_have_all_words(
    opened: Any, results: list[Result], gallery: Any
) -> None:
    total = sum(len(result.bugs) for result in results)
    assert opened.told().startswith(f"{total} bugs in {len(gallery.names)} properties")
    opened.page.fill("#query", "town=cork income=7")
    opened.until_told(" of ")
    assert opened.visible("section.property") < len(gallery.names)
    opened.page.fill("#query", bug_of(results, "blurred", 40))
    opened.until_told("1 of")
    assert opened.visible("section.property") == 1
    assert opened.visible(".card") == 1
    opened.page.click("[type=reset]")
    opened.until_told(f"{total} bugs in {len(gallery.names)}")


def test_verdict_filter_is_there_only_where_verdicts_differ(
    opened: Any, tmp_path: Path, gallery: Any
) -> None:
    opened.page.select_option("#verdict", "holds")
    assert opened.visible("section.property") == opened.visible("#property-town") == 1
    write_html(gallery.income(tmp_path), tmp_path / "alike.html")
    opened.open(tmp_path / "alike.html")
    assert not opened.page.is_visible("#verdict")


def test_overview_is_sorted_by_keyboard(opened: Any, gallery: Any) -> None:
    names = (
        "[...document.querySelectorAll('.overview tbody a')].map((a) => a.textContent)"
    )
    opened.page.focus("[data-sort='0']")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate(names) == sorted(gallery.names)
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate(names) == sorted(gallery.names, reverse=True)
    head = opened.page.query_selector("th[aria-sort='descending']")
    assert head.inner_text().startswith("property")


def test_bugs_are_sorted_by_how_much_changed(
    tab: Any, tmp_path: Path, gallery: Any
) -> None:
    spec = (
        "import people; input x1; var n := randInt(0, 1);"
        " var x2 := x1[income := 7][debts := x1.debts + n]; output d; { d = 0 }"
        " ensures d == 1;"
    )
    results = gallery.run(tmp_path, {"changes": spec})
    write_html(results, tmp_path / "changes.html")
    tab.open(tmp_path / "changes.html")
    counts = (
        "[...document.querySelectorAll('.card')]"
        ".map((card) => card.querySelectorAll('tr.changed').length)"
    )
    assert len(set(tab.page.evaluate(counts))) > 1
    tab.page.select_option("#order", "changes")
    sorted_counts = tab.page.evaluate(counts)
    assert sorted_counts == sorted(sorted_counts)


def test_more_cards_come_when_asked_for(opened: Any, results: list[Result]) -> None:
    (result,) = [r for r in results if r.subject.spec.name == "income"]
    before = opened.visible("#property-income .card")
    assert before < len(result.bugs)
    opened.page.click("#property-income [data-more]")
    assert opened.visible("#property-income .card") > before


def test_replay_command_and_link_are_copied(opened: Any, results: list[Result]) -> None:
    bug = bug_of(results, "income")
    opened.page.click(f"#bug-{bug} button:has-text('Copy replay command')")
    opened.page.wait_for_selector(f"#bug-{bug} button:has-text('Copied')")
    assert (
        opened.page.evaluate("navigator.clipboard.readText()") == f"nomos replay {bug}"
    )
    opened.page.click(f"#bug-{bug} button:has-text('Copy link')")
    opened.page.wait_for_timeout(100)
    copied = opened.page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{opened.page.url}#bug-{bug}"


def test_link_to_a_bug_shows_it_however_far_down_it_is(
    tab: Any, report: Path, results: list[Result]
) -> None:
    last = bug_of(results, "income", -1)
    tab.open(report, f"#bug-{last}")
    assert tab.page.evaluate("document.activeElement.id") == f"bug-{last}"
    card = tab.page.query_selector(f"#bug-{last}")
    assert card.is_visible() and "linked" in card.get_attribute("class")
    box = card.bounding_box()
    assert 0 <= box["y"] < 400
    other = bug_of(results, "loud")
    tab.page.evaluate(f"location.hash = '#bug-{other}'")
    tab.until(f"document.activeElement.id === 'bug-{other}'")
    assert len(tab.page.query_selector_all(".linked")) == 1


def test_link_to_a_bug_that_is_not_here_says_so(tab: Any, report: Path) -> None:
    tab.open(report, "#bug-0000000000")
    assert "no bug 0000000000" in tab.told()


def test_what_is_planted_in_a_text_is_shown_as_text(opened: Any) -> None:
    opened.page.wait_for_timeout(100)
    assert opened.page.evaluate("window.owned") is None
    text = opened.page.inner_text("#property-rude")
    assert PLANTED in text and "</style> and <b>so on</b>" in text
    assert "a zero U+0000 byte and U+202E a mark" in text
    assert "from character 999,601 of 1,000,000" in text
    assert len(text) < 60_000


def test_script_that_got_in_nevertheless_does_not_run_or_reach_the_network(
    opened: Any,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        opened.page.evaluate(
            "(address) => { const planted = document.createElement('script');"
            " planted.textContent = 'window.owned = 1'; document.body.append(planted);"
            " const image = document.createElement('img');"
            " image.setAttribute('onerror', 'window.owned = 1');"
            " image.src = address; document.body.append(image);"
            " fetch(address).catch(() => {}); }",
            address,
        )
        with pytest.raises(TimeoutError):
            server.accept()
    assert opened.page.evaluate("window.owned") is None
    assert any("Content Security Policy" in text for text in opened.complaints)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(
    new_tab: Any, report: Path, scheme: str
) -> None:
    tab = new_tab(color_scheme=scheme)
    tab.open(report)
    ground = tab.page.evaluate(
        "getComputedStyle(document.documentElement).backgroundColor"
    )
    assert tab.weak_texts() == []
    lightness = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
    assert lightness > 200 if scheme == "light" else lightness < 60


def test_every_control_has_a_name(opened: Any) -> None:
    nameless = opened.page.evaluate(
        "() => [...document.querySelectorAll('button, input, select, img, svg')]"
        ".filter((node) => !(node.textContent.trim() || node.getAttribute('aria-label')"
        " || node.alt || (node.labels && node.labels.length)))"
        ".map((node) => node.outerHTML.slice(0, 80))"
    )
    assert nameless == []


def test_page_fits_a_phone(new_tab: Any, report: Path) -> None:
    tab = new_tab(viewport={"width": 360, "height": 740})
    tab.open(report)
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360


def test_page_can_be_printed(opened: Any) -> None:
    opened.page.emulate_media(media="print")
    assert not opened.page.is_visible(".tools")
    assert opened.page.is_visible("#property-income .card")
    assert len(opened.page.pdf()) > 10_000


def test_page_as_large_as_it_may_be_opens_soon(
    tab: Any, tmp_path: Path, gallery: Any
) -> None:
    (result,) = gallery.income(tmp_path, people="20000", budget=11_000)
    picture = np.random.default_rng(1).random((200, 200))
    heavy = {"x1": picture, "x2": 1 - picture, "t": "<&> word " * 400}
    result.bugs = [
        replace(bug, values=heavy | {"n": number})
        for number, bug in enumerate(result.bugs)
    ]
    path = tmp_path / "heavy.html"
    write_html([result], path)
    assert LARGEST_PAGE / 2 < path.stat().st_size < LARGEST_PAGE
    seconds = tab.open(path)
    assert seconds < SLOWEST_OPENING_S, f"{seconds:.2f} s"


def test_ten_thousand_bugs_open_soon(tab: Any, tmp_path: Path, gallery: Any) -> None:
    results = gallery.income(tmp_path, people="20000", budget=11_000)
    bugs = results[0].bugs
    assert len(bugs) == 10_000
    path = tmp_path / "large.html"
    write_html(results, path)
    assert path.stat().st_size < LARGEST_PAGE
    seconds = tab.open(path)
    assert seconds < SLOWEST_OPENING_S, f"{seconds:.2f} s"
    began = time.perf_counter()
    tab.page.fill("#query", "income=9999")
    tab.until_told(" of ")
    assert time.perf_counter() - began < SLOWEST_OPENING_S
    tab.open(path, f"#bug-{bugs[-1].id}")
    assert tab.page.evaluate("document.activeElement.id") == f"bug-{bugs[-1].id}"
