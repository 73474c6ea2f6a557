"""Processes that start at once: forked from one that has Nomos imported, and nothing else.

Starting Python and importing Nomos takes a third of a second, and each flakiness check wants
a process in which no model has answered yet. So one process is started, once, while cases
run; it stays as it is and forks. No code of the user runs in it, and it has no threads of
its own that a fork could break. The command line forks it from itself before it loads any
code of the user: then it costs nothing to start.

Workers are forked from another such process: its hash seed is another one, so a model whose
answers depend on that is found out. One that died is replaced in some milliseconds.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from nomos.diagnostics import Source
from nomos.lang.reading.parse import parse_spec
from nomos.runner.posix import CAN_FORK

_CHILD = "from nomos.runner.executors.forking import serve_forks; serve_forks()"
_MOST = 65_536  # bytes of a message
_RUNS = 1000  # the status of a process that has not ended


class ForkedProcess:
    """A process that was forked: what is asked of one that was started."""

    def __init__(self, server: _Server, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return its status once it has ended."""
        if self._status is None:
            status = self._server.ask({"wait": self.pid})
            self._status = None if status == _RUNS else status
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Return its status when it has ended, which its pipe has told."""
        ends = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if ends is not None and time.monotonic() > ends:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            time.sleep(0.01)
        return status

    def kill(self) -> None:
        """End it at once."""
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class _Child:
    """A server that was forked from this process: what is asked of a started one."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if not self._pid:
            ours.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            sys.argv[1:] = [str(theirs.detach())]
            _serve_and_exit(serve_forks)

    def poll(self) -> int | None:
        """Return its status once it has ended."""
        with suppress(ChildProcessError):
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if pid else None
        return 0

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> None:
        """Return when it has ended."""
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


class _Server:
    """The process that forks, seen from outside."""

    def __init__(self, *, is_clean: bool = False) -> None:
        self.owner = os.getpid()
        self.preload: set[str] = set()
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        self._process: subprocess.Popen[bytes] | _Child
        if is_clean:
            self._process = _Child(self._channel, theirs)
            theirs.close()
            return
        arguments = [sys.executable, "-c", _CHILD, str(theirs.fileno())]
        self._process = subprocess.Popen(
            arguments, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2
        )
        theirs.close()

    def ask(self, message: dict[str, object], fds: Sequence[int] = ()) -> int:
        """Let it fork or wait; return the number that it answers."""
        data = json.dumps(message).encode()
        with self._lock:
            try:
                socket.send_fds(self._channel, [data], fds)
                answer = self._channel.recv(_MOST)
            except OSError:
                answer = b""
        return int(answer or b"-1")

    @property
    def is_alive(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def close(self) -> None:
        self._channel.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()


_servers: dict[str, _Server] = {}  # by what they fork: "check", "work"


def fork_server() -> None:
    """Fork the server from this process, before it runs any code of the user."""
    # What the server and this process need: imported once, for both.
    for name in ("nomos.runner.driver", "nomos.runner.executors.processes"):
        importlib.import_module(name)
    if CAN_FORK and not _servers and threading.active_count() == 1:
        parse_spec(Source("", "input x;"))  # reads the grammar
        _servers["check"] = _Server(is_clean=True)


def start_server(what: str = "check") -> _Server:
    """Return the process that forks; it starts while others work."""
    if what not in _servers or not _servers[what].is_alive:
        if what in _servers:
            _servers[what].close()
        _servers[what] = _Server()
    return _servers[what]


def fork_process(fds: Sequence[int], what: str = "check") -> ForkedProcess:
    """Fork a worker that talks through these file descriptors."""
    server = start_server(what)
    sys.stderr.flush()
    pid = server.ask({"preload": sorted(server.preload)}, [*fds, 2])
    if pid < 0:
        raise OSError("no process could be forked")
    return ForkedProcess(server, pid)


@atexit.register
def _close() -> None:
    for server in _servers.values():
        server.close()
    _servers.clear()


def serve_forks() -> None:
    """Fork until nobody asks any more: what the process that forks runs."""
    from nomos.runner.executors.processes import serve

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=int(sys.argv[1]))
    parse_spec(Source("", "input x;"))  # reads the grammar, which takes a while
    gc.collect()
    gc.freeze()
    while True:
        data, fds, _, _ = socket.recv_fds(channel, _MOST, 4)
        if not data:
            return
        message = json.loads(data)
        if "wait" in message:
            pid, status = os.waitpid(message["wait"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else _RUNS
        else:
            for name in message["preload"]:
                with suppress(Exception):
                    importlib.import_module(name)
            answer = os.fork()
            if not answer:
                channel.close()
                for output in (1, 2):  # of whoever asked, which may be another by now
                    os.dup2(fds[-1], output)
                sys.argv[1:] = map(str, fds[:-1])
                _serve_and_exit(serve)
            for fd in fds:
                os.close(fd)
        channel.send(str(answer).encode())


def _serve_and_exit(serve: object) -> None:
    status = 1
    try:
        serve()  # type: ignore[operator]  # a function of another module
        status = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
