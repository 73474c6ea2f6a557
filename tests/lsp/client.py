"""An editor's side of the protocol: JSON over the pipes of a real `nomos lsp`."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

PATIENCE_S = 60
CAPABILITIES = {
    "workspace": {
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
    },
    "window": {"showDocument": {"support": True}},
    "general": {"positionEncodings": ["utf-16"]},
}


class Refused(Exception):
    """The server answered with an error."""


class Editor:
    """An editor that talks to a server of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nomos", "lsp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
        )
        self.inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.told: list[dict[str, Any]] = []  # notifications and requests not yet read
        self.number = 0
        self.versions: dict[str, int] = {}
        self.errors: list[bytes] = []
        self.threads = [
            threading.Thread(target=target, daemon=True)
            for target in (self._read, self._drain)
        ]
        for thread in self.threads:
            thread.start()
        root = folder.as_uri()
        given = {"processId": None, "rootUri": root, "capabilities": CAPABILITIES}
        self.server = self.ask("initialize", **given)["capabilities"]
        self.tell("initialized")

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            size = 0
            while (line := stream.readline().strip()) or not size:
                if not line:
                    self.inbox.put(None)
                    return
                name, _, value = line.partition(b":")
                assert name in (b"Content-Length", b"Content-Type"), line
                size = int(value) if name == b"Content-Length" else size
            self.inbox.put(json.loads(stream.read(size)))

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _next(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        message = self.inbox.get(timeout=timeout_s)
        assert message is not None, b"".join(self.errors).decode()
        if "method" in message and "id" in message:  # what the server asks of us
            done = {"success": True} if "showDocument" in message["method"] else None
            self._send({"id": message["id"], "result": done})
        return message

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and wait for its answer."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise Refused(message["error"]["message"])
                return message["result"]
            self.told.append(message)

    def wait(
        self,
        method: str,
        fits: Callable[[Any], bool] = lambda params: True,
        is_past: Callable[[Any], bool] = lambda params: False,
    ) -> Any:
        """Return the parameters of the next such message of the server that fits.

        Those on the way that are past are dropped: nobody can wait for them later.
        """
        kept: list[dict[str, Any]] = []
        try:
            while True:
                message = self.told.pop(0) if self.told else self._next()
                params = message.get("params")
                is_such = message.get("method") == method
                if is_such and fits(params):
                    return params
                if not (is_such and is_past(params)):
                    kept.append(message)
        finally:
            self.told = kept + self.told

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        """Open a spec with a text that need not be that of the file."""
        self.versions[name] = 1
        document = {
            "uri": self.uri(name),
            "languageId": "nomos",
            "version": 1,
            "text": text,
        }
        self.tell("textDocument/didOpen", textDocument=document)

    def change(self, name: str, text: str) -> None:
        """Give an open spec another text, which is not saved."""
        self.versions[name] += 1
        document = {"uri": self.uri(name), "version": self.versions[name]}
        self.tell(
            "textDocument/didChange",
            textDocument=document,
            contentChanges=[{"text": text}],
        )

    def diagnostics(self, name: str, fits: Any = lambda codes: True) -> list[Any]:
        """Wait for the diagnostics of the newest text whose codes fit."""

        def is_of_it(params: Any) -> bool:
            return bool(params["uri"] == self.uri(name))

        def wanted(params: Any) -> bool:
            codes = [d["code"] for d in params["diagnostics"]]
            is_newest = is_of_it(params) and params["version"] == self.versions[name]
            return is_newest and fits(codes)

        method = "textDocument/publishDiagnostics"
        found: list[Any] = self.wait(method, wanted, is_of_it)["diagnostics"]
        return found

    def of(self, method: str, name: str, **params: Any) -> Any:
        """Ask about a document."""
        document = {"uri": self.uri(name)}
        return self.ask(f"textDocument/{method}", textDocument=document, **params)

    def close(self) -> None:
        """End the conversation; the server must end well."""
        try:
            self.ask("shutdown")
            self.tell("exit")
            self.process.wait(timeout=PATIENCE_S)
        finally:
            self.release()
        assert self.process.returncode == 0, b"".join(self.errors).decode()

    def release(self) -> None:
        """End the server if it runs, and give back what was held of it."""
        self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join(timeout=PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def place(text: str, mark: str, *, within: int = 0, nth: int = 0) -> dict[str, int]:
    """Return the position of the nth occurrence of a piece of text."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(mark, at + 1)
    at += within
    line = text.count("\n", 0, at)
    column = text[text.rfind("\n", 0, at) + 1 : at]
    return {"line": line, "character": len(column.encode("utf-16-le")) // 2}


def applied(text: str, edits: list[Any]) -> str:
    """Return a text after some edits."""
    starts = [0]
    starts += [i + 1 for i, c in enumerate(text) if c == "\n"]

    def offset(position: dict[str, int]) -> int:
        if position["line"] >= len(starts):
            return len(text)
        return starts[position["line"]] + position["character"]

    for edit in sorted(edits, key=lambda e: -offset(e["range"]["start"])):
        start, end = (offset(edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text
