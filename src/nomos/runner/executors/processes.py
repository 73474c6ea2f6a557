"""Workers in processes of their own: one that dies costs the case that killed it.

A worker gets tasks and sends answers through a pipe. What it is about to run, and since
when, stands in a small shared file, so that a death or a hang can be put down to a case.
"""

import mmap
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import DomainError, ModelError, NomosError, ServiceDown, StoreError
from nomos.runner.executors.pool import Answer, WorkerCrash, WorkerPool
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.options import Options

_SIGN = struct.Struct("dq")  # since when something runs (0: nothing), and for which row
_GRACE_S = 5.0  # for a process to end once its pipe is closed
_CALLS = struct.Struct("q")  # behind it: how many calls of the model the task has made
_SIZE = _SIGN.size + _CALLS.size
_LOOK_S = 0.05  # how often limits are looked at while waiting
_ERRORS = {
    e.__name__: e
    for e in (DomainError, ServiceDown, ModelError, StoreError, NomosError)
}
_CHILD = "from nomos.runner.executors.processes import serve; serve()"


class Launched(Protocol):
    """A process that was started or forked."""

    pid: int

    def poll(self) -> int | None:
        """Return its status once that is known."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Return its status when it has ended."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


Launch = Callable[[Sequence[int]], Launched]


def spawn_process(fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a worker that talks through these file descriptors."""
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, *map(str, fds)],
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=2,
    )


class _Process:
    """One worker, seen from outside."""

    def __init__(self, setting: Setting, launch: Launch) -> None:
        self.ticket: int | None = None  # of the task that it does
        self.killed_for = ""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._file.write(bytes(_SIZE))
        self._file.flush()
        self._sign = mmap.mmap(self._file.fileno(), _SIZE)
        ours, theirs = os.pipe(), os.pipe()  # each: read, write
        self.process = launch([theirs[0], ours[1], self._file.fileno()])
        os.close(theirs[0])
        os.close(ours[1])
        self.answers = Connection(ours[0], writable=False)
        self._tasks = Connection(theirs[1], readable=False)
        self._send((setting, sys.path, dict(os.environ)))

    def _send(self, message: object) -> None:
        with suppress(OSError):  # where it has died, reading will tell
            self._tasks.send_bytes(pickle.dumps(message, protocol=5))

    def give(self, ticket: int, task: tuple[Any, ...]) -> None:
        """Let it do a task."""
        self.ticket, self._phase = ticket, task[0].phase
        self._sign[:] = _SIGN.pack(0.0, WHOLE_CHUNK) + _CALLS.pack(0)
        self._send(task)

    def answer(self) -> Answer:
        """Read what became of its task."""
        assert self.ticket is not None
        ticket, self.ticket = self.ticket, None
        try:
            value, error, asked, raised = pickle.loads(self.answers.recv_bytes())
        except (EOFError, OSError):
            return self.death(ticket)
        if error is not None:
            kind, words = error
            failure = _ERRORS.get(kind, RuntimeError)(words)
            return Answer(ticket, error=failure, asked=asked, raised=raised)
        return Answer(ticket, value, asked=asked, raised=raised)

    @property
    def is_silent(self) -> bool:
        """Whether it has died, and nothing of it is left to read.

        A process that a model has begun may keep the pipe open, so no end of it is read.
        """
        return self.process.poll() is not None and not self.answers.poll()

    def death(self, ticket: int) -> Answer:
        """Say what became of a task, and how the process died."""
        self.ticket = None
        died = self._death()
        calls = _CALLS.unpack_from(self._sign, _SIGN.size)[0]
        return Answer(ticket, crash=died, asked={self._phase: calls})

    def _death(self) -> WorkerCrash:
        try:
            status = self.process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:  # a model may have closed the pipe
            self.kill("it closed the pipe to its driver")
            status = self.process.wait()
        row = _SIGN.unpack_from(self._sign)[1]
        reason = self.killed_for or _in_words(status)
        return WorkerCrash(reason, None if row == WHOLE_CHUNK else row)

    def look(self, limits: Options) -> None:
        """End it where it takes too long or too much."""
        since = _SIGN.unpack_from(self._sign)[0]
        timeout = limits.call_timeout_s
        if timeout is not None and since and time.monotonic() - since > timeout:
            self.kill(f"a call took longer than {timeout:g} s (--call-timeout)")
        most = limits.memory_limit_mb
        if most is not None and _memory_mb(self.process.pid) > most:
            self.kill(f"it took more than {most} MB (--memory-limit)")

    def kill(self, reason: str = "it was ended") -> None:
        """End it at once."""
        self.killed_for = self.killed_for or reason
        self.process.kill()

    def close(self) -> None:
        """End it and take away what it used."""
        self.kill()
        self.process.wait()
        self.answers.close()
        self._tasks.close()
        self._sign.close()
        self._file.close()


class ProcessPool(WorkerPool):
    """Worker processes; one that died is replaced."""

    can_tell_row = True

    def __init__(
        self, setting: Setting, options: Options, launch: Launch = spawn_process
    ) -> None:
        super().__init__()
        self.launch = launch
        self.size = options.jobs
        self.options = options
        self.setting = setting
        self._pool: list[_Process] = []

    def _give_out(self) -> None:
        idle = [w for w in self._pool if w.ticket is None]
        # One that ended with or after its last task, or is about to.
        self._end([w for w in idle if w.killed_for or w.process.poll() is not None])
        while self._todo:
            one = next((w for w in self._pool if w.ticket is None), None)
            if one is None and len(self._pool) < self.size:
                one = _Process(self.setting, self.launch)
                self._pool.append(one)
            if one is None:
                return
            one.give(*self._todo.popleft())

    def wait(self) -> Sequence[Answer]:
        """Wait until at least one task is done."""
        while True:
            busy = {w.answers: w for w in self._pool if w.ticket is not None}
            ready = wait(list(busy), timeout=_LOOK_S)
            answers = [busy[connection].answer() for connection in ready]  # type: ignore[index]  # ours
            silent = [] if answers else [w for w in busy.values() if w.is_silent]
            answers += [w.death(w.ticket) for w in silent if w.ticket is not None]
            if answers:
                self._give_out()
                return answers
            for worker in busy.values():
                worker.look(self.options)

    def drop(self) -> None:
        """Give up all tasks that are under way or wait."""
        super().drop()
        self._end([worker for worker in self._pool if worker.ticket is not None])

    def _end(self, workers: Sequence[_Process]) -> None:
        for worker in workers:
            self._pool.remove(worker)
            worker.close()

    def close(self) -> None:
        """End all workers."""
        self._end(list(self._pool))


def _in_words(status: int) -> str:
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"its process was ended by {name}"
    return f"its process ended itself with status {status}"


def _memory_mb(pid: int) -> float:
    """Return how much memory a process holds; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * mmap.PAGESIZE / 2**20


def _check_pipe(file: int, inode: int) -> None:
    """End where a model has closed the pipe: the case that is marked is at fault."""
    try:
        is_ours = os.fstat(file).st_ino == inode
    except OSError:
        is_ours = False
    if not is_ours:
        os._exit(1)


def serve() -> None:
    """Do tasks until there are no more: what a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends its workers
    reading, writing, sign = map(int, sys.argv[1:4])
    tasks = Connection(reading, writable=False)
    answers = Connection(writing, readable=False)
    shared = mmap.mmap(sign, _SIZE)

    pipe = os.fstat(writing).st_ino

    def mark(row: int) -> None:
        _check_pipe(writing, pipe)
        _SIGN.pack_into(shared, 0, time.monotonic(), row)

    watch.mark = mark
    watch.beat = lambda: mark(_SIGN.unpack_from(shared)[1])
    setting, path, environment = pickle.loads(tasks.recv_bytes())
    sys.path[:] = path
    if setting.folder:
        os.chdir(setting.folder)
    os.environ.update(environment)
    worker = Worker(setting)
    worker.report_calls = partial(_CALLS.pack_into, shared, _SIGN.size)
    while True:
        try:
            task = pickle.loads(tasks.recv_bytes())
        except EOFError:
            return
        message: tuple[object, tuple[str, str] | None, object, object]
        try:
            done = worker.run_task(*task)
            message = done.value, None, done.asked, done.raised
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            known = next((kind for kind in kinds if kind in _ERRORS), kinds[0])
            message = None, (known, str(error)), dict(worker.lease.asked), {}
        _check_pipe(writing, pipe)
        _SIGN.pack_into(shared, 0, 0.0, WHOLE_CHUNK)
        answers.send_bytes(pickle.dumps(message, protocol=5))
