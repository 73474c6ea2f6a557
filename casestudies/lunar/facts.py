"""Say in how many states of the pool the surface can be raised, and why not in others.

python -m casestudies.lunar.facts [POOL]
"""

import sys
from pathlib import Path

from casestudies.fuzzing import load_pool
from casestudies.lunar.state import CLEARANCE, from_row, raised_pads

HERE = Path(__file__).parent


def room_to_raise(path: Path) -> dict[str, int]:
    """Count the states of a pool: all, too low, under a hill that would rise, with room."""
    states = [from_row(row) for row in load_pool(path).states]
    low = sum(state.lander.y - CLEARANCE <= state.pad for state in states)
    room = sum(a < b for a, b in map(raised_pads, states))
    return {
        "states": len(states),
        "too low": low,
        "hill": len(states) - low - room,
        "room": room,
    }


def main() -> None:
    """Print the counts."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pool.npz"
    counts = room_to_raise(path)

    def share(name: str) -> str:
        return f"{counts[name]:>5} ({100 * counts[name] / counts['states']:.1f} %)"

    print(f"{path.name}: {counts['states']} states; `unrelax` in them:")
    print(f"  {share('room')} has room to raise the surface")
    print(f"  {share('too low')} is undefined: the lander is too low for any raise")
    print(f"  {share('hill')} is undefined: the ground would rise into the craft")


if __name__ == "__main__":
    main()
