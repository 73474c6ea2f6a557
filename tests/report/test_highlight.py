from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from textwrap import dedent

import pytest
from nomos.campaign.result import Result
from nomos.report.highlight import highlight

Page = Callable[..., str]
Run = Callable[..., list[Result]]

SPECS = sorted((Path(__file__).parents[2] / "casestudies").rglob("*.nom"))


class TestHighlighting:
    SPEC = dedent(
        '''\
        # A <comment>.
        import loans;  // and one more
        /* over
           lines */
        input x1;
        var v := strConcat("a { b", 'c') + 1.5e3;
        output d;
        {
          d = {"}": 7 // 2}["}"]  # not the end }
          if d is None: d = """three
        lines"""
        }
        ensures d == "}" && MAX_INT > 2;
        '''
    )

    def test_text_is_the_same_without_the_colours(self) -> None:
        lines = [
            unescape(re.sub(r"<[^>]*>", "", line)) for line in highlight(self.SPEC)
        ]
        assert "\n".join(lines) == self.SPEC

    @pytest.mark.parametrize("spec", SPECS, ids=lambda p: p.stem)
    def test_text_of_a_case_study_is_the_same_too(self, spec: Path) -> None:
        text = spec.read_text(encoding="utf-8")
        lines = [unescape(re.sub(r"<[^>]*>", "", line)) for line in highlight(text)]
        assert "\n".join(lines) == text

    def test_words_are_coloured_by_what_they_are(self) -> None:
        lines = highlight(self.SPEC)
        assert lines[0] == '<span class="comment"># A &lt;comment&gt;.</span>'
        assert lines[1].startswith('<span class="keyword">import</span> loans;')
        assert lines[3] == '<span class="comment">   lines */</span>'
        assert '<span class="call">strConcat</span>' in lines[5]
        assert '<span class="number">1.5e3</span>' in lines[5]
        assert lines[8].endswith('<span class="comment"># not the end }</span>')
        assert (
            '<span class="number">7</span> // <span class="number">2</span>' in lines[8]
        )
        assert (
            '<span class="keyword">is</span> <span class="number">None</span>'
            in lines[9]
        )
        assert lines[10] == '<span class="string">lines&quot;&quot;&quot;</span>'
        assert lines[12].startswith('<span class="keyword">ensures</span>')

    def test_block_that_never_ends_is_python_to_the_end(self) -> None:
        (line,) = highlight("input x; { d = 1")
        assert line.endswith('{ d = <span class="number">1</span>')

    def test_line_of_the_broken_condition_is_marked(self, page: Page, run: Run) -> None:
        (result,) = run("income")
        text = page(result)
        assert text.count('class="line failed"') == 1
        bugs = len(result.bugs)
        assert f'data-note="{bugs} bugs"><span class="keyword">ensures</span>' in text
