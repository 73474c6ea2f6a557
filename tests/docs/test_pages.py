"""Every block of the README and the docs is run, in order, page by page.

In a folder of the page's own: a block with a title is written to that file, `python`
blocks run in one namespace, each line of an `sh` block is a command, `nom` blocks are
checked, and run at the end of the page, and a `text` block is what the block before it printed. A comment ahead of a
block says what is special about it: `<!-- not run: WHY -->`, `<!-- has mistakes -->`
(of a spec), `<!-- numbers may differ -->` (of printed text, where a model is trained by a
library that may have changed). A command that ends with `# exit status N` must do so.

Printed text is compared word for word, whatever the widths of columns; `...` stands for
anything, and the id of a bug for the id that the same bug has here, in later blocks too.
A number that may differ is any number but zero.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from nomos import api
from nomos.cli import cli
from nomos.diagnostics import Code
from nomos.errors import NomosError, exit_status
from nomos.models.load import trusting
from tests.docs.stand_ins import LEFT_OUT, STAND_INS
from tests.sizes import IS_WHOLE

ROOT = Path(__file__).parents[2]
# Its blocks are mistakes and their remedies; tests/diagnostics/test_codes.py checks each.
CHECKED_ELSEWHERE = ROOT / "docs" / "reference" / "diagnostics.md"
PAGES = [
    ROOT / "README.md",
    *sorted({*(ROOT / "docs").rglob("*.md")} - {CHECKED_ELSEWHERE}),
]
NOT_RUN = re.compile(r"<!-- not run: \S.* -->")
HAS_MISTAKES = "<!-- has mistakes -->"
NUMBERS_DIFFER = "<!-- numbers may differ -->"
NO_DATA = "to be had; looked in"  # how the case studies' loader says so
SLOWEST_COMMAND_S = 120
NEEDS_A_GPU = ("docs/how-to/test-on-a-gpu.md",)  # its specs are checked, and not run
# A command of ours that needs no shell; `make test-all` runs it in a process of its own.
OURS = re.compile(r"nomos ([^|&;<>$`*?~#]*)(#.*)?")
QUICK: dict[str, Any] = {"budget": 60, "store": False, "groups": False, "shrink": False}
# What stands for something else in printed text; the rest must be there as it is.
LOOSE = re.compile(
    r"(?P<gap> ?\.\.\. ?)"
    r"|(?P<id>\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{10}\b)"
    r"|(?P<number>(?<![\w.])\d[\d,]*(?:\.\d+)?)"
)


@dataclass(frozen=True)
class Block:
    """A fenced block: `mark` is the comment ahead of it."""

    language: str
    title: str
    text: str
    line: int
    mark: str


def blocks(markdown: str) -> Iterator[Block]:
    mark = ""
    for token in MarkdownIt().parse(markdown):
        line = (token.map or [0])[0] + 1
        if token.type == "code_block":
            raise ValueError(f"line {line}: fence this block, with its language")
        if token.type == "fence":
            language, _, rest = token.info.strip().partition(" ")
            title = re.search(r'title="(.+?)"', rest)
            name = title[1] if title else ""
            yield Block(language, name, token.content, line, mark)
        if token.nesting == 0:  # not the bounds of the list that the block stands in
            mark = token.content.strip() if token.type == "html_block" else ""


class Page:
    """Runs blocks in a folder and remembers what they printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.ids: dict[str, str] = {}  # of bugs: on the page, and here
        self.printed: str | None = None
        self.specs: list[tuple[Block, Path]] = []  # without mistakes
        self.stand_in: tuple[str, str, str] | None = None
        bin_folder = str(Path(sys.executable).parent)
        kept = ("HOME", "LANG", "NOMOS_DATA", "XDG_CACHE_HOME")
        self.environment = {k: os.environ[k] for k in kept if k in os.environ}
        self.environment |= {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
            "PYTHONUTF8": "1",
        }

    def run(self, block: Block) -> None:
        printed, self.printed = self.printed, None
        if block.language == "nom" and NOT_RUN.fullmatch(block.mark):
            assert self.stand_in, "no page shows a spec that nobody runs"
            self.specs.append((block, self.write(block)))
            return
        if NOT_RUN.fullmatch(block.mark):
            return
        if block.language == "nom":
            self.check(block)
        elif block.title:
            self.write(block)
        elif block.language == "text" and printed is not None:
            self.compare(block.text, printed, exact=block.mark != NUMBERS_DIFFER)
        elif block.language == "python":
            self.printed = self.python(block)
        elif block.language == "sh":
            commands = block.text.replace("\\\n", "").splitlines()
            self.printed = "".join(map(self.command, commands))
        else:
            raise AssertionError(
                f"a `{block.language}` block that is not run needs <!-- not run: WHY -->"
            )

    def write(self, block: Block) -> Path:
        path = self.folder / (block.title or f"line_{block.line}.nom")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return path

    def check(self, block: Block) -> None:
        path = self.write(block)
        checked = api.load_spec(path).checked
        found = checked.diagnostics
        mistakes = [d.message for d in found if d.code is not Code.DOMAIN_UNAVAILABLE]
        if block.mark == HAS_MISTAKES:
            assert mistakes, "this spec has no mistakes"
        else:
            assert not mistakes, mistakes
            self.specs.append((block, path))

    def run_spec(self, block: Block, path: Path) -> None:
        """Run a spec on the page's domain, or on one made for it."""
        path.write_text(block.text, encoding="utf-8")  # a later one has its name
        if api.load_spec(path).imported is None:
            assert self.stand_in, f"{path.name} has no domain to be run on"
            name, domain, ahead = self.stand_in
            (path.parent / f"{name}.py").write_text(domain, encoding="utf-8")
            path.write_text(ahead + block.text, encoding="utf-8")
        found = api.run_specs(path, **QUICK)
        assert not found.failures, [str(failure) for failure in found.failures]
        for result in found:
            assert result.verdict != "failed", (result.problem, result.crashes[:1])
            assert result.counts.evaluated, result

    def python(self, block: Block) -> str:
        output = io.StringIO()
        code = compile("\n" * block.line + block.text, "this page", "exec")
        with contextlib.redirect_stdout(output):
            exec(code, self.names)
        return output.getvalue()

    def command(self, line: str) -> str:
        expected = re.search(r"# exit status (\d+)", line)
        for shown, here in self.ids.items():
            line = line.replace(shown, here)
        ours = OURS.fullmatch(line)
        if ours and not IS_WHOLE:
            status, said = self.here(ours[1])
        else:
            status, said = self.process(line)
        if NO_DATA in said:
            pytest.skip(said)
        wanted = int(expected[1]) if expected else 0
        # Status 1 is that of violations, and Python's own for an exception of ours.
        assert "nomos/cli/__init__.py" not in said, f"$ {line}\n{said}"
        assert status == wanted, f"$ {line}\n{said}"
        return said

    def process(self, line: str) -> tuple[int, str]:
        """Run a command in a shell; return its exit status and what it said."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SLOWEST_COMMAND_S,
        )
        return done.returncode, done.stdout

    def here(self, words: str) -> tuple[int, str]:
        """Run a command of ours in this process, which has loaded what it needs."""
        done = CliRunner().invoke(cli, shlex.split(words))
        if isinstance(done.exception, NomosError):
            return exit_status(done.exception), f"{done.output}error: {done.exception}"
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    def compare(self, expected: str, printed: str, *, exact: bool = True) -> None:
        shown: list[str] = []

        def pattern(loose: re.Match[str]) -> str:
            text = loose[0]
            if loose["gap"]:
                return ".*?"
            if loose["number"]:
                exact_here = exact or not text.strip("0.,")
                return (
                    re.escape(text)
                    if exact_here
                    else r"(?=[\d.,]*[1-9])\d[\d,]*(?:\.\d+)?"
                )
            if text in self.ids:
                return self.ids[text]
            if text in shown:
                return rf"(?P=id{shown.index(text)})"
            shown.append(text)
            return f"(?P<id{len(shown) - 1}>[0-9a-f]{{10}})"

        wanted, end = "", 0
        flat = plain(expected)
        for loose in LOOSE.finditer(flat):
            wanted += re.escape(flat[end : loose.start()]) + pattern(loose)
            end = loose.end()
        wanted += re.escape(flat[end:])
        match = re.fullmatch(wanted, plain(printed), re.DOTALL)
        assert match, f"the page says:\n{expected}\nbut this was printed:\n{printed}"
        self.ids |= {text: match[f"id{n}"] for n, text in enumerate(shown)}


def plain(text: str) -> str:
    """Return text without the spaces and rules that the widths of columns make."""
    return re.sub(r"\s+", " ", re.sub("─+", "─", text)).strip()


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    (tmp_path / "pyproject.toml").touch()  # the root of the page's own project
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield Page(tmp_path)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


LONG = (
    "docs/tutorial/first-property.md",
    "docs/how-to/prove-a-property.md",
    "docs/how-to/test-a-model-of-images.md",
)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if name in LONG else (), id=name)
        for path in PAGES
        for name in [str(path.relative_to(ROOT))]
    ],
)
def test_page_runs_as_it_says(path: Path, page: Page) -> None:
    text = path.read_text(encoding="utf-8")
    if "casestudies/" in text:
        unread = shutil.ignore_patterns("__pycache__", ".nomos")
        shutil.copytree(ROOT / "casestudies", "casestudies", ignore=unread)
    name = str(path.relative_to(ROOT))
    page.stand_in = STAND_INS.get(name)
    for block in blocks(text):
        try:
            page.run(block)
        except Exception as error:
            error.add_note(f"{name}:{block.line}")
            raise
    if name in LEFT_OUT:
        file, rest = LEFT_OUT[name]
        with (page.folder / file).open("a", encoding="utf-8") as domain:
            domain.write(rest)
    for block, spec in page.specs if name not in NEEDS_A_GPU else []:
        try:
            with trusting():  # the page's own models
                page.run_spec(block, spec)
        except Exception as error:
            error.add_note(f"{name}:{block.line}: run at the end of the page")
            raise


def run(page: Page, markdown: str) -> None:
    for block in blocks(markdown):
        page.run(block)


def test_block_of_an_unknown_kind_is_not_left_out_silently(page: Page) -> None:
    with pytest.raises(AssertionError, match="a `yaml` block"):
        run(page, "```yaml\na: 1\n```\n")
    run(page, "<!-- not run: it is only data -->\n```yaml\na: 1\n```\n")


def test_text_that_nothing_printed_is_not_left_out_silently(page: Page) -> None:
    with pytest.raises(AssertionError, match="a `text` block"):
        run(page, "```text\nsaid by nobody\n```\n")


def test_indented_block_is_not_left_out_silently(page: Page) -> None:
    with pytest.raises(ValueError, match="line 3: fence this block"):
        run(page, "Text.\n\n    echo 1\n")


def test_mark_holds_for_the_next_block_only(page: Page) -> None:
    text = "<!-- not run: no -->\n```sh\nfalse\n```\n\n```sh\nfalse\n```\n"
    with pytest.raises(AssertionError, match="false"):
        run(page, text)


def test_other_words_fail_and_so_do_other_numbers(page: Page) -> None:
    page.compare("first ... last", "first\nsecond\nlast\n")
    for printed in ("3 errors in 0.5 s", "4 bugs in 0.5 s", "3 bugs in 0.5 s, or not"):
        with pytest.raises(AssertionError, match="but this was printed"):
            page.compare("3 bugs in 0.5 s", printed)


def test_numbers_that_may_differ_do_not_fail_but_words_and_zero_do(page: Page) -> None:
    page.compare("3 bugs in 0.5 s", "12 bugs in 1.75 s\n", exact=False)
    for printed in ("3 errors in 0.5 s", "0 bugs in 0.5 s"):
        with pytest.raises(AssertionError, match="but this was printed"):
            page.compare("3 bugs in 0.5 s", printed, exact=False)


def test_an_id_stands_for_the_same_bug_in_later_blocks(page: Page) -> None:
    page.compare("bug 3a059ad274, see 3a059ad274", "bug 77aa000000, see 77aa000000")
    assert page.command("echo 3a059ad274") == "77aa000000\n"
    with pytest.raises(AssertionError, match="but this was printed"):
        page.compare("bug 3a059ad274", "bug 88bb000000")


def test_command_must_end_as_the_page_says(page: Page) -> None:
    run(page, "```sh\nexit 3  # exit status 3\n```\n")
    with pytest.raises(AssertionError):
        run(page, "```sh\nexit 3\n```\n")


def test_spec_with_a_mistake_fails_unless_it_is_said(page: Page) -> None:
    spec = "```nom\ninput x;\noutput d;\n{ d = predict(x) }\nensures e;\n```\n"
    with pytest.raises(AssertionError, match="`e` is not declared"):
        run(page, spec)
    run(page, f"{HAS_MISTAKES}\n{spec}")
