"""What the build of the site does about the playground where npm is missing."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import playground_assets
import pytest


@pytest.fixture
def without_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A site's configuration on a machine without npm and without what it has installed."""
    monkeypatch.setattr(playground_assets, "MADE", tmp_path / "made")
    monkeypatch.setattr(playground_assets.shutil, "which", lambda _: None)
    monkeypatch.setenv("WHOLE_SITE", "true")
    return SimpleNamespace(site_dir=str(tmp_path / "site"))


def test_without_npm_the_build_says_so(without_npm: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="mkdocs.plugins.playground"):
        playground_assets.on_config(without_npm)
        playground_assets.on_post_build(without_npm)
    assert "npm is missing" in caplog.text
    assets = Path(without_npm.site_dir) / "assets" / "playground" / "assets.json"
    assert json.loads(assets.read_text()) == {"pyodide": "", "wheel": ""}


def test_a_build_that_needs_it_fails(without_npm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYGROUND", "require")
    playground_assets.on_config(without_npm)
    with pytest.raises(RuntimeError, match="npm is missing"):
        playground_assets.on_post_build(without_npm)


def test_a_check_of_the_pages_installs_nothing(
    without_npm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHOLE_SITE", "false")
    playground_assets.on_config(without_npm)
    playground_assets.on_post_build(without_npm)
    assert not Path(without_npm.site_dir).exists()
