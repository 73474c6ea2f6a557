"""The training study: normal and guided training over the same seeds.

    python -m casestudies.lunar.guided.study                        # 2 pairs, minutes
    python -m casestudies.lunar.guided.study --setting middle --runs 10 --jobs 2
    python -m casestudies.lunar.guided.study --setting full --runs 10 --jobs 8
    python -m casestudies.lunar.guided.study --show casestudies/results/lunar-training.json

Each run writes one file when it is over; a study that was stopped goes on with the runs
that have none. Runs go in pairs, the normal and the guided one of a seed one after the
other, so that what is there is a study at any time.
"""

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.managers import SyncManager
from pathlib import Path
from threading import Thread
from typing import Any

from casestudies.lunar.guided.setting import SETTINGS, Setting
from casestudies.lunar.guided.tables import pairs_of, print_study

HELD_OUT_SEED = 2  # the pool that the specs draw from was grown by seed 1
HELD_OUT_STATES = 1000
FOLDER = Path("build") / "train-study"


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that is to be made, and the file that it ends in."""

    setting: Setting
    seed: int
    guided: bool
    folder: Path

    @property
    def name(self) -> str:
        """How the run is called, in its file and on the screen."""
        return f"{'guided' if self.guided else 'normal'}-{self.seed:02}"

    @property
    def path(self) -> Path:
        """The file of the run."""
        return self.folder / f"{self.name}.json"


def plan(setting: Setting, runs: int, folder: Path) -> list[Planned]:
    """Return the runs of a study, pair by pair."""
    return [
        Planned(setting, seed, guided, folder)
        for seed in range(1, runs + 1)
        for guided in (False, True)
    ]


def load_run(planned: Planned) -> dict[str, Any] | None:
    """Read a run that is over, None if it is not; refuse one of another setting."""
    if not planned.path.exists():
        return None
    run: dict[str, Any] = json.loads(planned.path.read_text())
    if not planned.setting.same_run(run["setting"], guided=planned.guided):
        raise SystemExit(
            f"{planned.path} was made with another setting: give another --folder"
        )
    return run


def write_whole(path: Path, value: Any) -> None:
    """Write a file such that it is never seen half written."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(value, indent=1) + "\n")
    unfinished.replace(path)


def make_run(planned: Planned, progress: Any) -> None:
    """Train, in a process of its own, and write the run's file."""
    from casestudies.lunar.guided.run import train_once

    result = train_once(
        planned.setting,
        planned.seed,
        guided=planned.guided,
        folder=planned.folder,
        tell=lambda test: progress.put((planned.name, test)),
    )
    write_whole(planned.path, result)


def prepare(setting: Setting, folder: Path) -> None:
    """Make what all runs need, once."""
    from casestudies.lunar.guided.run import BASE, HELD_OUT, train_base

    grow_held_out(folder / HELD_OUT)
    if setting.base_steps and not (folder / BASE).exists():
        print(f"training the common start, {setting.base_steps:,} steps", flush=True)
        train_base(setting, folder / BASE)


def grow_held_out(path: Path) -> None:
    """Grow the pool of states that the chosen policies are judged by."""
    from casestudies.lunar.fuzz import environment
    from nomos.states.fuzzing import FuzzSettings, grow, open_pool

    game = environment(Path(__file__).parents[1] / "models" / "ppo.onnx")
    pool = open_pool(
        path, settings=FuzzSettings(), seed=HELD_OUT_SEED, origin=game.origin
    )
    if len(pool) < HELD_OUT_STATES:
        grow(
            pool,
            game.environment,
            actions=game.actions,
            size=HELD_OUT_STATES,
            policy=game.policy,
            progress=lambda pool: pool.save(path),
        )


def make_runs(missing: Sequence[Planned], jobs: int) -> None:
    """Make runs, so many at a time, and show how far each is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    context = get_context("spawn")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with (
        context.Manager() as manager,
        # A process for each run: Box2D does not give all of its memory back.
        ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as workers,
        Progress(*columns, console=Console(stderr=True)) as shown,
    ):
        queue = _progress_queue(manager)
        bars = {p.name: shown.add_task(p.name, total=p.setting.steps) for p in missing}

        def show() -> None:
            for name, test in iter(queue.get, None):
                now = f"{name}: {test['bugs']} bugs, reward {test['reward']:.0f}"
                shown.update(bars[name], completed=test["steps"], description=now)
                if not shown.console.is_terminal:  # a bar would show in the end only
                    shown.console.print(f"{now} after {test['steps']:,} steps")

        listener = Thread(target=show, daemon=True)
        listener.start()
        futures: dict[Future[None], Planned] = {
            workers.submit(make_run, planned, queue): planned for planned in missing
        }
        for future in as_completed(futures):
            future.result()
            shown.console.print(f"{futures[future].path} is there")
        queue.put(None)
        listener.join()


def _progress_queue(manager: SyncManager) -> Any:
    return manager.Queue()


def arguments_of(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--setting", choices=SETTINGS, default="quick")
    parser.add_argument("--runs", type=int, default=2, help="pairs of runs")
    parser.add_argument("--steps", type=int, help="of each run, instead of its own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, help="where the runs' files are")
    parser.add_argument("--save", type=Path, help="write all runs to one file")
    parser.add_argument("--show", type=Path, help="show such a file, train nothing")
    parser.add_argument("--curve", type=Path, help="draw the curves as a PNG")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Make the runs that are missing, then print the tables."""
    arguments = arguments_of(words)
    if arguments.show is not None:
        study = json.loads(arguments.show.read_text())
    else:
        study = make_study(arguments)
    print_study(study)
    if arguments.curve is not None:
        from casestudies.lunar.guided.curve import draw

        draw(pairs_of(study), arguments.curve)
        print(f"curves: {arguments.curve}")


def make_study(arguments: argparse.Namespace) -> dict[str, Any]:
    """Make the runs that are missing and return all that are there."""
    # Before any process starts: nets this small lose by a second thread.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    setting = SETTINGS[arguments.setting]
    if arguments.steps is not None:
        setting = replace(setting, steps=arguments.steps)
    folder = arguments.folder or FOLDER / f"{arguments.setting}-{setting.steps}"
    folder.mkdir(parents=True, exist_ok=True)
    planned = plan(setting, arguments.runs, folder)
    missing = [run for run in planned if load_run(run) is None]
    if missing:
        prepare(setting, folder)
        make_runs(missing, arguments.jobs)
    study = {"schema": 1, "runs": [load_run(run) for run in planned]}
    if arguments.save is not None:
        write_whole(arguments.save, study)
    return study


if __name__ == "__main__":
    main()
