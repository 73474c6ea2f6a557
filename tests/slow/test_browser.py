"""The report in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomos import api
from nomos.campaign.naming import project_root
from nomos.campaign.result import Result
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Session
from nomos.report.html import write_html

pytestmark = pytest.mark.slow

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu"]
ARGUMENTS += [
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
]
SLOWEST_OPENING_S = 3.0
PATIENCE_S = 10.0
LARGEST_PAGE = 15_000_000
PLANTED = "<script>window.owned = 1</script>"

DOMAINS = {
    "people": '''
        import numpy as np
        from nomos import Domain, Schema, batched
        from nomos.domain import Integer, OneHot, Real

        class People(Domain):
            """Applicants, and a model that takes a higher income for a lower one."""

            schema = Schema(
                Integer("income", 0, 100000),
                Integer("debts", 0, 20),
                Real("share_of_rent", 0, 1),
                OneHot("town", ("Aix", "Bern", "Cork")),
            )

            def __init__(self, people: int = 60) -> None:
                self.people = people

            def inputs(self):
                rng = np.random.default_rng(3)
                n = self.people
                town = np.eye(3)[rng.integers(0, 3, n)]
                columns = [np.arange(n), rng.integers(0, 20, n), rng.random(n), town]
                return np.column_stack(columns).astype(np.float32)

            @batched
            def score(self, rows):
                return -rows[:, 0]
    ''',
    "digits": '''
        import numpy as np
        from nomos import Domain, batched

        class Digits(Domain):
            """Pictures with a bar, and a model that sees one that is not blurred."""

            def inputs(self):
                pictures = np.zeros((60, 16, 16), np.float32)
                for n, picture in enumerate(pictures):
                    picture[2:14, 2 + n % 12] = 0.2 + n / 100
                return pictures

            def blur(self, picture):
                return (picture + np.roll(picture, 1, 0) + np.roll(picture, 1, 1)) / 3

            @batched
            def brightest(self, pictures):
                return pictures.max(axis=(1, 2))
    ''',
    "reviews": '''
        from nomos import Domain, batched

        TEXTS = [
            "The room was clean and the people at the desk were kind to all of us.",
            "<script>window.owned = 1</script> in a review, </style> and <b>so on</b>",
            "a zero \\x00 byte and \\u202e a mark that turns the text around, \\u2028 too",
            "x" * 1_000_000,
        ]

        class Reviews(Domain):
            """Texts, and a model that counts their letters."""

            def inputs(self):
                return TEXTS

            def worse(self, text: str) -> str:
                return text.replace("kind", "rude and slow") + " Never again!"

            @batched
            def grade(self, texts):
                return [len(text) for text in texts]
    ''',
    "tones": '''
        import numpy as np
        from nomos import Domain, batched
        from nomos.domain.show import Sound

        class Tones(Domain):
            """Half a second of a tone, and a model that hears how loud it is."""

            def inputs(self):
                t = np.arange(4000) / 8000
                return [(0.5 * np.sin(6.28 * f * t)).astype(np.float32) for f in (220, 440)]

            def louder(self, tone):
                return np.clip(1.5 * tone, -1, 1)

            @batched
            def heard(self, tones):
                return tones.std(axis=1)

            def show(self, record):
                return Sound(record, 8000) if isinstance(record, np.ndarray) else None
    ''',
    "games": '''
        from dataclasses import dataclass, replace
        import numpy as np
        from nomos import Domain
        from nomos.domain.show import Scene

        @dataclass(frozen=True)
        class Ball:
            x: float
            height: float

        class Games(Domain):
            """A ball thrown over a wall: it flies further from higher up."""

            def inputs(self):
                return [Ball(float(x), 2.0) for x in range(4)]

            def raised(self, ball):
                return replace(ball, height=ball.height + 1)

            def flight(self, ball):
                t = np.linspace(0, 1.2, 90)
                y = np.maximum(0, ball.height + 4 * t - 5 * t * t)
                return np.column_stack([ball.x + 9 * t, y, 3 * t])

            def lands(self, ball):
                return float(-self.flight(ball)[-1, 1])

            def show_case(self, values, choices):
                balls = {n: v for n, v in values.items() if isinstance(v, Ball)}
                wall = np.array([[7, 0], [7, 1.5], [7.3, 1.5], [7.3, 0]])
                ground = np.array([[0, 0], [16, 0]])
                return {
                    f"flight of {name}": Scene(16, 6, (ground, wall), self.flight(ball), "it flew")
                    for name, ball in balls.items()
                }
    ''',
}
SPECS = {
    "income": "import people; input x1; var x2 := x1[income := x1.income + randInt(1, 3)];"
    " output d1; output d2; { d1 = score(x1); d2 = score(x2) } ensures d1 <= d2;",
    "town": 'import people; input x1; var x2 := x1[town := "Cork"];'
    " output d1; output d2; { d1 = score(x1); d2 = score(x2) } ensures d1 == d2;",
    "blurred": "import digits; input x1; var x2 := blur(x1); output d1; output d2;"
    " { d1 = brightest(x1); d2 = brightest(x2) } ensures d1 == d2;",
    "rude": "import reviews; input x1; var x2 := worse(x1); output d1; output d2;"
    " { d1 = grade(x1); d2 = grade(x2) } ensures d1 >= d2;",
    "loud": "import tones; input x1; var x2 := louder(x1); output d1; output d2;"
    " { d1 = heard(x1); d2 = heard(x2) } ensures d1 >= d2;",
    "higher": "import games; input s1; var s2 := raised(s1); output d1; output d2;"
    " { d1 = lands(s1); d2 = lands(s2) } ensures d1 == 0.0 && d2 > 0.0;",
}


def run(folder: Path, names: list[str], **options: Any) -> list[Result]:
    """Test the properties of these names in a small project of their own."""
    from textwrap import dedent

    (folder / "pyproject.toml").touch()
    for name, text in DOMAINS.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    for name in names:
        text = f"# The sentence of {name}.\n{SPECS[name]}\n"
        (folder / f"{name}.nom").write_text(text, encoding="utf-8")
    budget = Budget(cases=options.pop("budget", 200))
    session = Session(project_root(folder / "x.nom"), Options(budget=budget))
    jobs = [api.Job(folder / f"{name}.nom", options) for name in names]
    running = api.Run(session, jobs, range(1))
    for _ in running.events():
        pass
    assert not running.failures, running.failures
    for name in DOMAINS:
        sys.modules.pop(name, None)
    return running.results


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="playwright is not installed: pip install playwright",
    )
    if CHROMIUM is None:
        pytest.skip("there is no chromium: apt-get install chromium, or set CHROMIUM")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    return run(tmp_path_factory.mktemp("project"), list(SPECS))


@pytest.fixture(scope="module")
def report(results: list[Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(results, path)
    return path


class Tab:
    """A page that is open, and what it complained about or asked the network for."""

    def __init__(self, browser: Any, **options: Any) -> None:
        options = {"viewport": {"width": 1200, "height": 900}, **options}
        self.context = browser.new_context(
            permissions=["clipboard-read", "clipboard-write"], **options
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path, place: str = "") -> float:
        """Open a file and return how many seconds it took until its bugs were there."""
        began = time.perf_counter()
        self.page.goto(path.as_uri() + place)
        self.page.wait_for_selector(".card")
        return time.perf_counter() - began

    def visible(self, selector: str) -> int:
        return sum(node.is_visible() for node in self.page.query_selector_all(selector))

    def until(self, condition: str) -> None:
        """Wait for a condition; the page's policy forbids Playwright's own way."""
        deadline = time.perf_counter() + PATIENCE_S
        while not self.page.evaluate(condition):
            assert time.perf_counter() < deadline, condition
            self.page.wait_for_timeout(10)

    def until_told(self, words: str) -> None:
        self.until(f"document.querySelector('#told').textContent.includes({words!r})")

    def told(self) -> str:
        text: str = self.page.inner_text("#told")
        return text


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    opened = Tab(browser)
    yield opened
    opened.context.close()


@pytest.fixture
def opened(tab: Tab, report: Path) -> Tab:
    tab.open(report)
    return tab


def bug_of(results: list[Result], name: str, number: int = 0) -> str:
    (result,) = [r for r in results if r.subject.spec.name == name]
    return result.bugs[number].id


def test_page_opens_without_a_complaint_and_asks_the_network_for_nothing(
    opened: Tab, report: Path
) -> None:
    opened.page.mouse.wheel(0, 20_000)
    opened.page.wait_for_timeout(200)
    assert opened.complaints == []
    outside = [u for u in opened.requests if not u.startswith("data:")]
    assert outside == [report.as_uri()]


def test_every_property_has_its_row_and_its_section(opened: Tab) -> None:
    assert opened.visible(".overview tbody tr") == len(SPECS)
    assert opened.visible("section.property") == len(SPECS)
    assert "The sentence of income." in opened.page.inner_text("#property-income")


def test_fields_are_a_table_with_the_changed_ones_marked(opened: Tab) -> None:
    card = opened.page.query_selector("#property-income .card")
    (changed,) = card.query_selector_all("tr.changed")
    assert changed.inner_text().split()[0] == "income"
    assert len(card.query_selector_all("tr.same")) == 3


def test_images_are_drawn_with_their_difference(opened: Tab) -> None:
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


def test_changes_of_a_text_are_marked(opened: Tab, results: list[Result]) -> None:
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


def test_sound_plays_and_pauses(opened: Tab) -> None:
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


def test_two_scenes_are_replayed_together(opened: Tab) -> None:
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
    opened: Tab, results: list[Result]
) -> None:
    total = sum(len(result.bugs) for result in results)
    assert opened.told().startswith(f"{total} bugs in {len(SPECS)} properties")
    opened.page.fill("#query", "town=cork income=7")
    opened.until_told(" of ")
    assert opened.visible("section.property") < len(SPECS)
    opened.page.fill("#query", bug_of(results, "blurred", 40))
    opened.until_told("1 of")
    assert opened.visible("section.property") == 1
    assert opened.visible(".card") == 1
    opened.page.click("[type=reset]")
    opened.until_told(f"{total} bugs in {len(SPECS)}")


def test_verdict_filter_is_there_only_where_verdicts_differ(
    opened: Tab, tmp_path: Path
) -> None:
    opened.page.select_option("#verdict", "holds")
    assert opened.visible("section.property") == opened.visible("#property-town") == 1
    write_html(run(tmp_path, ["income"]), tmp_path / "alike.html")
    opened.open(tmp_path / "alike.html")
    assert not opened.page.is_visible("#verdict")


def test_overview_is_sorted_by_keyboard(opened: Tab) -> None:
    names = (
        "[...document.querySelectorAll('.overview tbody a')].map((a) => a.textContent)"
    )
    opened.page.focus("[data-sort='0']")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate(names) == sorted(SPECS)
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate(names) == sorted(SPECS, reverse=True)
    head = opened.page.query_selector("th[aria-sort='descending']")
    assert head.inner_text().startswith("property")


def test_bugs_are_sorted_by_how_much_changed(
    browser: Any, tab: Tab, tmp_path: Path
) -> None:
    spec = (
        "import people; input x1; var n := randInt(0, 1);"
        " var x2 := x1[income := 7][debts := x1.debts + n]; output d; { d = 0 }"
        " ensures d == 1;"
    )
    SPECS["changes"] = spec
    try:
        results = run(tmp_path, ["changes"])
    finally:
        del SPECS["changes"]
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


def test_more_cards_come_when_asked_for(opened: Tab, results: list[Result]) -> None:
    (result,) = [r for r in results if r.subject.spec.name == "income"]
    before = opened.visible("#property-income .card")
    assert before < len(result.bugs)
    opened.page.click("#property-income [data-more]")
    assert opened.visible("#property-income .card") > before


def test_replay_command_and_link_are_copied(opened: Tab, results: list[Result]) -> None:
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
    tab: Tab, report: Path, results: list[Result]
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


def test_link_to_a_bug_that_is_not_here_says_so(tab: Tab, report: Path) -> None:
    tab.open(report, "#bug-0000000000")
    assert "no bug 0000000000" in tab.told()


def test_what_is_planted_in_a_text_is_shown_as_text(opened: Tab) -> None:
    opened.page.wait_for_timeout(100)
    assert opened.page.evaluate("window.owned") is None
    text = opened.page.inner_text("#property-rude")
    assert PLANTED in text and "</style> and <b>so on</b>" in text
    assert "a zero U+0000 byte and U+202E a mark" in text
    assert "from character 999,601 of 1,000,000" in text
    assert len(text) < 60_000


def test_script_that_got_in_nevertheless_does_not_run_or_reach_the_network(
    opened: Tab,
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
    browser: Any, report: Path, scheme: str
) -> None:
    tab = Tab(browser, color_scheme=scheme)
    tab.open(report)
    weak = tab.page.evaluate(CONTRAST)
    ground = tab.page.evaluate(
        "getComputedStyle(document.documentElement).backgroundColor"
    )
    tab.context.close()
    assert weak == []
    lightness = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
    assert lightness > 200 if scheme == "light" else lightness < 60


CONTRAST = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
  };
  const weak = [];
  for (const node of document.querySelectorAll('body *')) {
    const says = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!says || !node.checkVisibility() || node.closest('script')) continue;
    const style = getComputedStyle(node);
    const colour = node.closest('svg') ? style.fill : style.color;
    const [a, b] = [light(colour), light(ground(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) weak.push([node.className, node.textContent.slice(0, 40)]);
  }
  return weak;
}"""


def test_every_control_has_a_name(opened: Tab) -> None:
    nameless = opened.page.evaluate(
        "() => [...document.querySelectorAll('button, input, select, img, svg')]"
        ".filter((node) => !(node.textContent.trim() || node.getAttribute('aria-label')"
        " || node.alt || (node.labels && node.labels.length)))"
        ".map((node) => node.outerHTML.slice(0, 80))"
    )
    assert nameless == []


def test_page_fits_a_phone(browser: Any, report: Path) -> None:
    tab = Tab(browser, viewport={"width": 360, "height": 740})
    tab.open(report)
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    tab.context.close()
    assert width <= 360


def test_page_can_be_printed(opened: Tab) -> None:
    opened.page.emulate_media(media="print")
    assert not opened.page.is_visible(".tools")
    assert opened.page.is_visible("#property-income .card")
    assert len(opened.page.pdf()) > 10_000


def test_ten_thousand_bugs_open_soon(tab: Tab, tmp_path: Path) -> None:
    results = run(tmp_path, ["income"], people="20000", budget=11_000)
    bugs = results[0].bugs
    assert len(bugs) == 10_000
    path = tmp_path / "large.html"
    write_html(results, path)
    assert path.stat().st_size < LARGEST_PAGE
    seconds = tab.open(path)
    assert seconds < SLOWEST_OPENING_S, f"{seconds:.2f} s"
    began = time.perf_counter()
    tab.page.fill("#query", f"income={json.dumps(9_999)}")
    tab.until_told(" of ")
    assert time.perf_counter() - began < SLOWEST_OPENING_S
    tab.open(path, f"#bug-{bugs[-1].id}")
    assert tab.page.evaluate("document.activeElement.id") == f"bug-{bugs[-1].id}"
