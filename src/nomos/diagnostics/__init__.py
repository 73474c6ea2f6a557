"""Mistakes as data: places in a source, diagnostics, and how they are shown."""

from nomos.diagnostics.diagnostic import Code, Diagnostic, Severity
from nomos.diagnostics.source import Source, Span

__all__ = ["Code", "Diagnostic", "Severity", "Source", "Span"]
