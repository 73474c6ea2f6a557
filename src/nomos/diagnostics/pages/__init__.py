"""The page behind each code: what it means, a wrong example, the right one, and why."""

from __future__ import annotations

from importlib import resources

from nomos.diagnostics.diagnostic import Code


def page(code: Code) -> str:
    """Return the page of a code, in Markdown."""
    return resources.files(__name__).joinpath(f"{code.value}.md").read_text("utf-8")


def title(code: Code) -> str:
    """Return the one line that says what a code means."""
    return page(code).split("\n")[2]
