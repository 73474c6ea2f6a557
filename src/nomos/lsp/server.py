"""`nomos lsp`: the requests of an editor, each answered by a function of its own."""

import asyncio
import gc
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lsprotocol import types
from pygls import exceptions
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path

from nomos import __version__
from nomos.diagnostics import Source
from nomos.errors import NomosError, SpecError
from nomos.lang.reading.parse import parse_spec
from nomos.lang.writing.format import format_spec
from nomos.lsp.document import Document, Places
from nomos.lsp.requests import navigation, outline, results
from nomos.lsp.requests.completion import complete_at
from nomos.lsp.requests.fixes import Fix, fixes_of
from nomos.lsp.requests.hover import hover_at
from nomos.lsp.session import Session, path_of
from nomos.runner.project.naming import project_root

RUN, SHOW_BUGS = "nomos.run", "nomos.showBugs"


def serve_editor(stdin: BinaryIO, stdout: BinaryIO, *, import_timeout_s: float) -> None:
    """Answer an editor until it ends the conversation."""
    parse_spec(Source("", ""))  # builds the parser, which lasts as long as the server
    gc.collect()
    gc.freeze()  # or looking at all of this again would cost every other key 30 ms
    gc.set_threshold(700, 10, 100_000)  # between keys: see `Session`
    server = LanguageServer("nomos", __version__, protocol_cls=_Protocol)
    _Requests(Session(server, import_timeout_s)).register_all(server)
    server.start_io(stdin, stdout)


class _Protocol(LanguageServerProtocol):  # type: ignore[misc] # it has no types here
    """The protocol, which answers a request that is none: an editor would wait for ever."""

    def structure_message(self, data: Any) -> Any:
        """Read a message; what cannot be read is answered with an error."""
        error: exceptions.JsonRpcException = exceptions.JsonRpcInvalidRequest()
        message = None
        try:
            message = super().structure_message(data)
        except exceptions.JsonRpcException as mistake:
            error = mistake
        is_asked = "jsonrpc" in data and "method" in data and "id" in data
        if is_asked and not hasattr(message, "id"):
            given = data["id"] if isinstance(data["id"], int | str) else None
            self._send_response(given, None, error.to_response_error())
        if message is None:
            raise error
        return message


class _Requests:
    """The requests of the protocol, by the names that they have there."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def register_all(self, server: Any) -> None:
        """Tell the protocol what can be asked."""
        triggers = types.CompletionOptions(trigger_characters=[".", "[", '"', "{"])
        fixes = types.CodeActionOptions([types.CodeActionKind.QuickFix])
        renames = types.RenameOptions(prepare_provider=True)
        for name, handler, options in (
            (types.TEXT_DOCUMENT_DID_OPEN, self.on_change, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self.on_change, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self.on_save, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self.on_close, None),
            (types.TEXT_DOCUMENT_COMPLETION, self.on_completion, triggers),
            (types.TEXT_DOCUMENT_HOVER, self.on_hover, None),
            (types.TEXT_DOCUMENT_DEFINITION, self.on_definition, None),
            (types.TEXT_DOCUMENT_REFERENCES, self.on_references, None),
            (types.TEXT_DOCUMENT_PREPARE_RENAME, self.prepare_rename, None),
            (types.TEXT_DOCUMENT_RENAME, self.on_rename, renames),
            (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self.on_symbols, None),
            (types.TEXT_DOCUMENT_FORMATTING, self.on_format, None),
            (types.TEXT_DOCUMENT_CODE_ACTION, self.on_fixes, fixes),
            (types.TEXT_DOCUMENT_CODE_LENS, self.on_lenses, types.CodeLensOptions()),
            (types.TEXT_DOCUMENT_INLAY_HINT, self.on_hints, None),
        ):
            server.feature(name, options)(_as_function(handler))
        server.command(RUN)(_as_function(self.run_spec))
        server.command(SHOW_BUGS)(_as_function(self.show_bugs))

    def _document_of(self, params: Any) -> tuple[Document, Places]:
        document = self.session.open_document(params.text_document.uri)
        return document, self.session.places_in(document)

    def _document_at(self, params: Any) -> tuple[Document, Places, int]:
        document, places = self._document_of(params)
        return document, places, places.offset_of(params.position)

    async def on_change(self, params: Any) -> None:
        self.session.check_soon(params.text_document.uri)

    async def on_save(self, params: types.DidSaveTextDocumentParams) -> None:
        self.session.check_all()  # other specs may use this one

    async def on_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.session.forget_spec(params.text_document.uri)

    async def on_completion(
        self, params: types.CompletionParams
    ) -> types.CompletionList:
        document, _, offset = self._document_at(params)
        return types.CompletionList(False, complete_at(document, offset))

    async def on_hover(self, params: types.HoverParams) -> types.Hover | None:
        document, places, offset = self._document_at(params)
        found = hover_at(document, offset)
        if found is None:
            return None
        text = types.MarkupContent(types.MarkupKind.Markdown, found[1])
        return types.Hover(text, places.range_of_span(found[0]))

    async def on_definition(self, params: types.DefinitionParams) -> Any:
        document, _, offset = self._document_at(params)
        found = navigation.find_definition(document, offset)
        return None if found is None else self._location_of(found)

    async def on_references(
        self, params: types.ReferenceParams
    ) -> list[types.Location]:
        document, _, offset = self._document_at(params)
        found = navigation.find_references(document, offset, self.session.any_document)
        return [self._location_of(place) for place in found]

    async def prepare_rename(self, params: types.PrepareRenameParams) -> types.Range:
        document, places, offset = self._document_at(params)
        with _as_invalid():
            span = navigation.check_renamable(document, offset).span
            return places.range_of_span(span)

    async def on_rename(self, params: types.RenameParams) -> types.WorkspaceEdit:
        document, _, offset = self._document_at(params)
        new, read = params.new_name, self.session.any_document
        with _as_invalid():
            found = navigation.find_rename_places(document, offset, new, read)
        changes: dict[str, list[types.TextEdit]] = {}
        for place in found:
            location = self._location_of(place)
            edit = types.TextEdit(location.range, new)
            changes.setdefault(location.uri, []).append(edit)
        return types.WorkspaceEdit(changes)

    def _location_of(self, place: navigation.Place) -> types.Location:
        uri = from_fs_path(str(place.path))
        if place.source is None:
            start = types.Position(max(0, place.line - 1), 0)
            return types.Location(uri, types.Range(start, start))
        places = Places(place.source, self.session.server.workspace.position_codec)
        return types.Location(uri, places.range_of_span(place.span))

    async def on_symbols(self, params: types.DocumentSymbolParams) -> Any:
        return outline.document_symbols(*self._document_of(params))

    async def on_format(self, params: types.DocumentFormattingParams) -> Any:
        document, places = self._document_of(params)
        try:
            text = format_spec(document.source)
        except SpecError:
            return None  # its mistakes are on the screen already
        if text == document.source.text:
            return []
        whole = types.Range(types.Position(0, 0), places.position_of(10**9))
        return [types.TextEdit(whole, text)]

    async def on_fixes(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        document, places = self._document_of(params)
        start = places.offset_of(params.range.start)
        end = places.offset_of(params.range.end)
        return [
            _code_action(fix, params, places, diagnostic.code.slug)
            for diagnostic in document.diagnostics
            if diagnostic.at.start <= end and start <= diagnostic.at.end
            for fix in fixes_of(diagnostic, document.source)
        ]

    async def on_lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        document, places = self._document_of(params)
        if document.parsed.is_library:
            return []
        spec = document.parsed.spec
        spans = [one.span for one in (*spec.ensures, *spec.inputs, spec)]
        at = places.range_of_span(spans[0])
        uri = params.text_document.uri
        commands = [types.Command("run", RUN, arguments=[uri])]
        for result in await asyncio.to_thread(results.last_results, document.path):
            title = f"show bugs ({results.verdict_line(document, result)})"
            commands.append(types.Command(title, SHOW_BUGS, arguments=[uri]))
        return [types.CodeLens(at, command) for command in commands]

    async def on_hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        document, places = self._document_of(params)
        found = await asyncio.to_thread(results.last_results, document.path)
        return [
            types.InlayHint(places.position_of(span.end), said, padding_left=True)
            for span, said in results.ensures_rates(document, found)
        ]

    async def run_spec(self, uri: str) -> int:
        """Run a spec in a process of its own; what it says is shown at its end."""
        path = path_of(uri)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "nomos", "run", "--quiet", str(path)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=project_root(path),
        )
        _, errors = await process.communicate()
        status = process.returncode or 0
        kind, said = types.MessageType.Info, f"{path.stem}: no violation was found"
        if status == 1:
            kind, said = types.MessageType.Warning, f"{path.stem} is violated"
        elif status:
            last = errors.decode(errors="replace").strip().splitlines()[-1:]
            kind = types.MessageType.Error
            why = " ".join(last) or "see its result"
            said = f"{path.stem} was not evaluated: {why}"
        self.session.server.window_show_message(types.ShowMessageParams(kind, said))
        self.session.refresh_editor()
        return status

    async def show_bugs(self, uri: str) -> str:
        """Write the bugs of a spec to a file, and ask the editor to open it."""
        path = path_of(uri)
        found = await asyncio.to_thread(results.last_results, path)
        folder = Path(tempfile.mkdtemp(prefix="nomos-"))
        file = folder / f"{path.stem}-bugs.txt"
        file.write_text(results.bugs_text(path, found), encoding="utf-8")
        window = self.session.server.client_capabilities.window
        if window is not None and window.show_document is not None:
            self.session.server.window_show_document(
                types.ShowDocumentParams(from_fs_path(str(file)), take_focus=True)
            )
        return str(file)


@contextmanager
def _as_invalid() -> Iterator[None]:
    """Answer with an error what cannot be done."""
    try:
        yield
    except NomosError as error:
        raise exceptions.JsonRpcInvalidParams(str(error)) from None


def _as_function(
    method: Callable[[Any], Awaitable[Any]],
) -> Callable[[Any], Awaitable[Any]]:
    """Return a method as a function: the protocol's library marks what it is given."""

    async def handle(params: Any) -> Any:
        return await method(params)

    return handle


def _code_action(
    fix: Fix, params: types.CodeActionParams, places: Places, code: str
) -> types.CodeAction:
    edits = [places.build_edit(span, text) for span, text in fix.edits]
    uri = params.text_document.uri
    return types.CodeAction(
        title=fix.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[d for d in params.context.diagnostics if d.code == code],
        edit=types.WorkspaceEdit({uri: edits}),
        is_preferred=fix.is_sure,
    )
