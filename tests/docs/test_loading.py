"""Pages and case studies teach `load_model`, which runs nothing from a file."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNSAFE = re.compile(
    r"\b(joblib|pickle|dill|cloudpickle|cPickle)\.loads?\(|weights_only=False"
)
TEACHING = [
    ROOT / "README.md",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "docs").rglob("*.ipynb"),
    *(ROOT / "casestudies").rglob("*.py"),
]


def test_no_page_teaches_to_load_a_file_that_can_run_code() -> None:
    assert len(TEACHING) > 20
    unsafe = [str(p) for p in TEACHING if UNSAFE.search(p.read_text(encoding="utf-8"))]
    assert unsafe == []
