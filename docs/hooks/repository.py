"""Where a page comes from: "edit" leads to the repository, or to the page's text beside the site.

The repository is that of the variable REPOSITORY, else the remote ``origin`` of the checkout; a
checkout that has none, or one on the same disk, has no address to link to. Then each page leads to
its own Markdown, which the site keeps.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

TEXTS = "texts"


def address(remote: str) -> str:
    """Return the address of a repository for readers; nothing for one on a disk.

    >>> address("git@github.com:someone/pycute_xe.git")
    'https://github.com/someone/pycute_xe'
    >>> address("/srv/git/pycute_xe")
    ''
    """
    found = re.fullmatch(r"(?:https://|ssh://git@|git@)([\w.-]+)[:/](.+?)(?:\.git)?/?", remote)
    return f"https://{found[1]}/{found[2]}" if found else ""


def _remote() -> str:
    given = os.environ.get("REPOSITORY")
    if given is not None:
        return given
    command = ["git", "config", "--get", "remote.origin.url"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Say where the repository is."""
    found = address(_remote())
    features: list[str] = config.theme["features"]
    if found:
        config.repo_url, config.repo_name = found, "/".join(found.split("/")[-2:])
        config.edit_uri = "edit/main/docs/"
        features.append("content.action.edit")
    else:
        features.append("content.action.view")
    return config


def on_pre_page(page: Page, config: MkDocsConfig, **_: object) -> Page:
    """Let a page that is a file lead to its text, where no repository does."""
    if (
        not config.repo_url
        and page.file.abs_src_path is not None
        and page.file.generated_by is None
    ):
        page.edit_url = get_relative_url(f"{TEXTS}/{page.file.src_uri}", page.url)
    return page


def on_post_build(config: MkDocsConfig) -> None:
    """Keep the texts of pages, where no repository has them."""
    if config.repo_url:
        return
    docs, site = Path(config.docs_dir), Path(config.site_dir)
    for path in docs.rglob("*.md"):
        into = site / TEXTS / path.relative_to(docs)
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
