"""A project with a property for each kind of record, and a browser to see its report."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from nomos.report.html.page import html_page
from nomos.results.result import Result
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job
from nomos.runner.options import Options

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu"]
ARGUMENTS += [
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
]
PATIENCE_S = 10.0
AXE = os.environ.get("AXE")
AXE_RUN = """
axe.run({resultTypes: ['violations']}).then((found) => found.violations.map((one) =>
  one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 120)).join(' | ')))
"""

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


# Texts that do not stand out from their ground by 4.5 to 1, as WCAG asks for.
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


class Gallery:
    """The properties by name, and how to test them."""

    names = tuple(SPECS)

    def run(
        self, folder: Path, specs: dict[str, str] | None = None, **options: Any
    ) -> list[Result]:
        """Test properties in a small project of their own, all of them if none is given."""
        specs = SPECS if specs is None else specs
        budget = options.pop("budget", 200)
        (folder / "pyproject.toml").touch()
        for name, text in DOMAINS.items():
            (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        for name, text in specs.items():
            spec = f"# The sentence of {name}.\n{text}\n"
            (folder / f"{name}.nom").write_text(spec, encoding="utf-8")
        path = list(sys.path)
        driver = Driver(folder, Options(default_budget=budget))
        done = driver.run([Job(folder / f"{name}.nom", options) for name in specs], [0])
        assert not done.failures, done.failures
        sys.path[:] = path  # another project has modules of the same names
        return done.results

    def income(self, folder: Path, **options: Any) -> list[Result]:
        """Test one property alone."""
        return self.run(folder, {"income": SPECS["income"]}, **options)


@pytest.fixture(scope="session")
def gallery() -> Gallery:
    return Gallery()


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
def results(gallery: Gallery, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    return gallery.run(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def report(results: list[Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_page(results), encoding="utf-8")
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

    def weak_texts(self) -> list[list[str]]:
        found: list[list[str]] = self.page.evaluate(CONTRAST)
        return found

    def axe(self) -> list[str]:
        """Return what axe finds wrong; skips where it is not installed."""
        if AXE is None:
            pytest.skip("there is no axe-core: set AXE to its axe.min.js")
        self.page.evaluate(Path(AXE).read_text(encoding="utf-8"))
        found: list[str] = self.page.evaluate(AXE_RUN)
        return found

    def told(self) -> str:
        text: str = self.page.inner_text("#told")
        return text


@pytest.fixture
def new_tab(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Open tabs, of a colour scheme or a size, that are closed in the end."""
    tabs: list[Tab] = []

    def new(**options: Any) -> Tab:
        tabs.append(Tab(browser, **options))
        return tabs[-1]

    yield new
    for tab in tabs:
        tab.context.close()


@pytest.fixture
def tab(new_tab: Callable[..., Tab]) -> Tab:
    return new_tab()


@pytest.fixture
def opened(tab: Tab, report: Path) -> Tab:
    tab.open(report)
    return tab
