"""The page behind each code: what it means, a wrong example, the right one, and why."""

import re

from nomos.diagnostics.diagnostic import Code

_OPENING = """\
# Diagnostics

Every mistake that `nomos check` reports has a code, which stands in brackets behind
`error`, `warning` or `info`. `nomos explain CODE` shows what is written here.
"""
# What runs the code blocks of the docs leaves these out.
_EXAMPLES = "<!-- not run: the tests of the diagnostics run these examples -->"


def title_of(code: Code) -> str:
    """Return the one line that says what a code means."""
    return code.page.split("\n")[2]


def all_pages() -> str:
    """Return all pages as one document, a section for each code."""
    parts = [_OPENING]
    for code in Code:
        # A page's own sections would fill the table of contents: they become bold words.
        text = re.sub(r"^## (\w+)$", r"**\1**", code.page, flags=re.MULTILINE)
        parts.append("#" + text.replace("```nom", f"{_EXAMPLES}\n```nom"))
    return "\n".join(parts)
