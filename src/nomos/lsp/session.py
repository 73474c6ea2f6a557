"""The open specs of an editor, checked while they are written."""

import asyncio
import contextlib
import gc
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from nomos.diagnostics import Diagnostic, Severity
from nomos.lang.reading.kept import Kept
from nomos.lsp.document import Document, Places, build_document
from nomos.lsp.domains import Domains, Stamp
from nomos.lsp.requests.results import store_stamp

PAUSE_S = 0.01  # without a key before a text is checked
LOOK_EVERY_S = 1.0  # at files that may have changed on the disk
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


class Session:
    """What the server knows; `server` is the protocol's side of it."""

    def __init__(self, server: Any, import_timeout_s: float) -> None:
        self.server = server
        self._import_timeout_s = import_timeout_s
        self._domains: Domains | None = None
        self._documents: dict[str, tuple[object, Document]] = {}
        self._kept: dict[str, Kept] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._watch: asyncio.Task[None] | None = None

    @property
    def domains(self) -> Domains:
        """The imports of the open specs; made where the protocol's loop runs."""
        if self._domains is None:
            self._domains = Domains(self._import_timeout_s, self.check_all)
            self._watch = asyncio.create_task(self._look_at_files())
        return self._domains

    def forget_spec(self, uri: str) -> None:
        """Forget a spec, and take its mistakes from the screen."""
        task = self._checks.pop(uri, None)
        if task is not None:
            task.cancel()
        self._documents.pop(uri, None)
        self._kept.pop(uri, None)
        self._publish_diagnostics(uri, [])
        gc.unfreeze()

    def check_soon(self, uri: str) -> None:
        """Check a spec when nothing has been typed for a moment."""
        task = self._checks.get(uri)
        if task is not None:
            task.cancel()
        self._checks[uri] = asyncio.create_task(self._check_spec_later(uri))

    def check_all(self) -> None:
        """Check every open spec again: something around them has changed."""
        self._documents.clear()
        for uri in list(self._checks):
            self.check_soon(uri)
        self.refresh_editor()

    def refresh_editor(self) -> None:
        """Ask the editor to draw again what stands beside the text."""
        workspace = self.server.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None:
            self.server.workspace_code_lens_refresh(None)
        if workspace is not None and workspace.inlay_hint is not None:
            self.server.workspace_inlay_hint_refresh(None)

    async def _check_spec_later(self, uri: str) -> None:
        await asyncio.sleep(PAUSE_S)
        document = self.open_document(uri)
        places = self.places_in(document)
        self._publish_diagnostics(
            uri, [_lsp_diagnostic(d, places) for d in document.diagnostics]
        )
        if document.parsed.is_library:
            self._check_users()

    def _check_users(self) -> None:
        """Check the open specs again that use other files: one of these has changed."""
        for uri, (_, document) in list(self._documents.items()):
            if document.libraries and not document.parsed.is_library:
                del self._documents[uri]
                self.check_soon(uri)

    def _publish_diagnostics(self, uri: str, shown: list[types.Diagnostic]) -> None:
        version = self.server.workspace.get_text_document(uri).version
        self.server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, shown, version)
        )

    def open_document(self, uri: str) -> Document:
        """Return an open spec as it is now, read anew only if it has changed."""
        text = self.server.workspace.get_text_document(uri)
        known = self._documents.get(uri)
        if known is None or known[0] != text.version:
            path, imports_of = path_of(uri), self.domains.get
            kept = self._kept.setdefault(uri, Kept())
            read = build_document(path, text.source, self._open_text, imports_of, kept)
            known = self._documents[uri] = text.version, read
        return known[1]

    def any_document(self, path: Path) -> Document | None:
        """Return any spec, open or not; None where it cannot be read."""
        uri = from_fs_path(str(path))
        if uri in self._checks:
            return self.open_document(uri)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = path.read_text(encoding="utf-8")
            return build_document(path, text, self._open_text, lambda *_: None)
        return None

    def _open_text(self, path: Path) -> str | None:
        uri = from_fs_path(str(path.resolve()))
        if uri not in self._checks:
            return None
        text: str = self.server.workspace.get_text_document(uri).source
        return text

    def places_in(self, document: Document) -> Places:
        """Return how places in a document are told to the editor."""
        return Places(document.source, self.server.workspace.position_codec)

    async def _look_at_files(self) -> None:
        """Look at the files of domains and at stores, as long as the server runs."""
        before: dict[str, Stamp] = {}
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            # Trees are made once and looked at once, and not at every other key.
            gc.collect()
            gc.freeze()
            self.domains.look_again()
            now = {uri: store_stamp(path_of(uri)) for uri in self._checks}
            if any(before.get(uri, stamp) != stamp for uri, stamp in now.items()):
                self.refresh_editor()
            before = now


def path_of(uri: str) -> Path:
    """Return the file of an address; a text that was never saved gets a plain name."""
    path = to_fs_path(uri)
    return Path.cwd() / "untitled.nom" if path is None else Path(path)


def _lsp_diagnostic(diagnostic: Diagnostic, places: Places) -> types.Diagnostic:
    lines = [diagnostic.message, *diagnostic.notes]
    if diagnostic.help is not None:
        lines.append(f"help: {diagnostic.help}")
    return types.Diagnostic(
        range=places.range_of_span(diagnostic.at),
        message="\n".join(lines),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code.slug,
        source="nomos",
    )
