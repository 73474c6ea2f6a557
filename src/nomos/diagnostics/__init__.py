"""Mistakes as data: places in a source, diagnostics, and how they are shown.

A `Span` is a place in a `Source`; a `Diagnostic` is a `Code` at a span, with a message, notes
and a help. `render` draws it for a terminal and as JSON, the language server for an editor.

The invariant: whoever finds a mistake collects it as a value and goes on, so that a spec's
mistakes are all reported at once, and in one way. Every code has a page in `pages/`.
"""

from nomos.diagnostics.diagnostic import Code, Diagnostic, Severity
from nomos.diagnostics.source import Source, Span

__all__ = ["Code", "Diagnostic", "Severity", "Source", "Span"]
