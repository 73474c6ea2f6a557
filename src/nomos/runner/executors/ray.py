"""Workers as actors on Ray: a laptop's own, or a cluster that is there.

Ray places the actors, moves the data and notices which of them are lost. An actor that
is lost with a task under way is replaced; the driver splits its range until the case at
fault is known, as for worker processes.
"""

import os
import time
from collections.abc import Sequence
from typing import Any

from nomos.errors import NomosError
from nomos.runner.executors.pool import Answer, WorkerCrash, WorkerPool
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.options import Options

_LOOK_S = 0.05  # how often limits are looked at while waiting
_PATIENCE_S = 60.0  # how long a cluster may take to make room for a first worker


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise NomosError(
            "--engine ray needs Ray, which is not installed\n"
            "help: pip install 'nomos-ml[ray]'"
        ) from None
    return ray


class RayPool(WorkerPool):
    """Actors that take tasks; one that was lost is replaced."""

    def __init__(self, setting: Setting, options: Options) -> None:
        super().__init__()
        self.size = options.jobs
        self._ray = _import_ray()
        self._setting = setting
        self._options = options
        self._owns = not self._ray.is_initialized()
        if self._owns:
            self._connect()
        reserved = {
            "num_cpus": options.cpus,
            "num_gpus": options.gpus,
            "max_restarts": 0,
            "runtime_env": {
                "env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
            },
        }
        self._actor = self._ray.remote(Worker).options(**reserved)
        self._starting: dict[Any, Any] = {}  # what says that it is ready, and the actor
        self._began = time.monotonic()
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[int, Any, float]] = {}  # ticket, actor, since when
        self._killed_for: dict[int, str] = {}

    def _connect(self) -> None:
        address = self._options.ray_address
        try:
            self._ray.init(
                address=address,
                log_to_driver=False,
                include_dashboard=False if address is None else None,
                logging_level="ERROR",
            )
        except Exception as error:  # a node that is late raises nothing else
            where = "locally" if address is None else f"at {address}"
            raise NomosError(f"Ray cannot be reached {where}: {error}") from None

    def _give_out(self) -> None:
        """Give tasks to actors that are there, and ask for more where some are missing.

        A task never waits for an actor that cannot be placed while others are free.
        """
        while self._todo and self._idle:
            ticket, task = self._todo.popleft()
            actor = self._idle.pop()
            reference = actor.run_task.remote(*task)
            self._busy[reference] = ticket, actor, time.monotonic()
        there = len(self._busy) + len(self._starting) + len(self._idle)
        for _ in range(min(len(self._todo), self.size - there)):
            actor = self._actor.remote(self._setting)
            self._starting[actor.__ray_ready__.remote()] = actor

    def wait(self) -> Sequence[Answer]:
        """Wait until at least one task is done."""
        while True:
            done, _ = self._ray.wait(
                [*self._busy, *self._starting],
                num_returns=1,
                timeout=_LOOK_S,
                fetch_local=True,
            )
            answers = [
                self._take_in_actor(reference)
                if reference in self._starting
                else self._answer(reference)
                for reference in done
            ]
            self._give_out()
            given = [answer for answer in answers if answer is not None]
            if given:
                return given
            self._look()

    def _take_in_actor(self, reference: Any) -> Answer | None:
        """Take in an actor that is ready; one that could not start costs a task."""
        actor = self._starting.pop(reference)
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            if not self._todo:
                return None
            ticket, *_ = self._todo.popleft()
            words = str(error).strip().splitlines()
            crash = WorkerCrash(f"its worker did not start: {words[0]}")
            return Answer(ticket, crash=crash)
        self._idle.append(actor)
        return None

    def _answer(self, reference: Any) -> Answer:
        ticket, actor, _ = self._busy.pop(reference)
        exceptions = self._ray.exceptions
        try:
            done = self._ray.get(reference)
        except (exceptions.RayActorError, exceptions.WorkerCrashedError) as error:
            words = str(error).strip().splitlines()
            reason = self._killed_for.pop(ticket, f"its worker was lost: {words[0]}")
            return Answer(ticket, crash=WorkerCrash(reason))
        except exceptions.RayTaskError as error:
            self._idle.append(actor)
            cause = error.cause
            if not isinstance(cause, NomosError):
                cause = RuntimeError(str(error))
            return Answer(ticket, error=cause)
        self._idle.append(actor)
        return Answer(ticket, done.value, asked=done.asked, raised=done.raised)

    def _look(self) -> None:
        """End actors whose task takes too long; a task asks for at most one chunk."""
        if not self._busy and not self._idle:
            self._check_room()
        limit = self._options.call_timeout_s
        if limit is None:
            return
        for ticket, actor, since in self._busy.values():
            if time.monotonic() - since > limit and ticket not in self._killed_for:
                why = f"a call took longer than {limit:g} s (--call-timeout)"
                self._killed_for[ticket] = why
                self._ray.kill(actor)

    def _check_room(self) -> None:
        """Refuse to wait for ever for an actor that no machine has room for."""
        if time.monotonic() - self._began < _PATIENCE_S:
            return
        has = self._ray.cluster_resources()
        wanted = {"CPU": self._options.cpus or 0, "GPU": self._options.gpus or 0}
        for name, count in wanted.items():
            if has.get(name, 0) < count:
                raise NomosError(
                    f"Ray has no room for a worker: it needs {count:g} {name},"
                    f" and the cluster has {has.get(name, 0):g}\n"
                    "help: ask for less, or start more machines"
                )

    def drop(self) -> None:
        """Give up all tasks that are under way or wait."""
        super().drop()
        for _, actor, _ in self._busy.values():
            self._ray.kill(actor)
        self._busy.clear()

    def close(self) -> None:
        """End all actors; leave Ray itself as it was found."""
        self.drop()
        for actor in (*self._idle, *self._starting.values()):
            self._ray.kill(actor)
        self._idle.clear()
        self._starting.clear()
        if self._owns:
            self._ray.shutdown()
