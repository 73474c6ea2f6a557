"""The training study: the same training as usual, guided by bugs, and from random states.

    python -m casestudies.lunar.guided.study                      # the study of the page
    python -m casestudies.lunar.guided.study --setting quick      # minutes
    python -m casestudies.lunar.guided.study --setting paper      # the paper's protocol
    python -m casestudies.lunar.guided.study --show casestudies/results/lunar-training.json

Each run writes one file when it is over; a study that was stopped goes on with the runs
that have none. The arms of a seed follow each other, so that what is there is a study at
any time. `--show` trains nothing: it prints the tables of what is there.
"""

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from casestudies.lunar.guided.setting import SETTINGS, Setting
from casestudies.lunar.guided.tables import print_study

FOLDER = Path("build") / "train-study"
FIRST_SEED = 11  # those before it were used while the settings were chosen


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that is to be made, and the file that it ends in."""

    setting: Setting
    arm: str
    base: int
    seed: int
    folder: Path

    @property
    def path(self) -> Path:
        """The file of the run."""
        return self.folder / f"{self.arm}-{self.base}-{self.seed}.json"


def plan(setting: Setting, folder: Path) -> list[Planned]:
    """Return the runs of a study: arm after arm of a seed, base after base."""
    bases = range(1, setting.bases + 1) if setting.bases else (0,)
    return [
        Planned(setting, arm, base, seed, folder)
        for seed in range(FIRST_SEED, FIRST_SEED + setting.seeds)
        for base in bases
        for arm in setting.arms
    ]


def load_run(planned: Planned) -> dict[str, Any] | None:
    """Read a run that is over, None if it is not; refuse one of another setting."""
    if not planned.path.exists():
        return None
    run: dict[str, Any] = json.loads(planned.path.read_text())
    if run["setting"] != planned.setting.to_json():
        raise SystemExit(
            f"{planned.path} was made with another setting: give another --folder"
        )
    return run


def write_whole(path: Path, text: str) -> None:
    """Write a file such that it is never seen half written."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text)
    unfinished.replace(path)


def make_run(planned: Planned) -> str:
    """Train, in a process of its own, and write the run's file."""
    from casestudies.lunar.guided.run import train_once

    def tell(test: dict[str, Any]) -> None:
        print(
            f"{planned.path.stem}: {test['bugs']} bugs, reward {test['reward']:.0f}"
            f" after {test['steps']:,} steps",
            flush=True,
        )

    result = train_once(planned.setting, planned.arm, planned.base, planned.seed, tell)
    write_whole(planned.path, json.dumps(result) + "\n")
    return f"{planned.path} is there"


def gather(planned: Sequence[Planned], path: Path | None) -> dict[str, Any]:
    """Return all runs that are there, and write them to one file, a line for each."""
    runs = [run for one in planned if (run := load_run(one)) is not None]
    if path is not None:
        lines = ",\n".join(json.dumps(run) for run in runs)
        write_whole(path, f'{{"schema": 2, "runs": [\n{lines}\n]}}\n')
    return {"schema": 2, "runs": runs}


def make_runs(planned: Sequence[Planned], jobs: int, save: Path | None) -> None:
    """Make the runs that are missing, so many at a time."""
    from casestudies.lunar.guided.bases import prepare

    missing = [run for run in planned if load_run(run) is None]
    if not missing:
        return
    prepare(missing[0].setting.bases)
    # A process for each run: Box2D does not give all of its memory back.
    context = get_context("spawn")
    with ProcessPoolExecutor(
        jobs, mp_context=context, max_tasks_per_child=1
    ) as workers:
        for future in as_completed([workers.submit(make_run, run) for run in missing]):
            print(future.result(), flush=True)
            gather(planned, save)


def arguments_of(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--setting", choices=SETTINGS, default="study")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the runs' files are")
    parser.add_argument("--save", type=Path, help="write all runs to one file")
    parser.add_argument("--show", type=Path, help="show such a file, train nothing")
    parser.add_argument("--page", type=Path, help="write --show's tables into a page")
    parser.add_argument("--curve", type=Path, help="draw the curves as a PNG")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Make the runs that are missing, then print the tables."""
    # Before any process starts: nets this small lose by a second thread.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = arguments_of(words)
    if arguments.show is not None:
        study = json.loads(arguments.show.read_text())
    else:
        folder = arguments.folder or FOLDER / arguments.setting
        folder.mkdir(parents=True, exist_ok=True)
        planned = plan(SETTINGS[arguments.setting], folder)
        make_runs(planned, arguments.jobs, arguments.save)
        study = gather(planned, arguments.save)
    print_study(study)
    if arguments.page is not None:
        from casestudies.lunar.guided.page import write

        write(study, arguments.show or arguments.save, arguments.page)
    if arguments.curve is not None:
        from casestudies.lunar.guided.curve import draw

        draw(study, arguments.curve)
        print(f"curves: {arguments.curve}")


if __name__ == "__main__":
    main()
