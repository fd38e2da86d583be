from __future__ import annotations

from pathlib import Path

import pytest

from pycute_xe import facts
from pycute_xe.errors import CuteError


@pytest.mark.parametrize("file", ["arch", "block2d", "convert", "dpas"])
def test_every_row_names_its_source(file: str) -> None:
    tables = facts._document(file)
    assert tables
    for table in tables:
        for row in facts.rows(file, table):
            assert str(row["source"]).strip()


def test_rows_cannot_be_changed() -> None:
    row = facts.rows("arch", "target")[0]
    with pytest.raises(TypeError):
        row["name"] = "other"
    assert isinstance(facts.rows("arch", "threads")[0]["modes"], tuple)


def test_a_row_is_read_once() -> None:
    assert facts.rows("arch", "target") is facts.rows("arch", "target")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ('[[a]]\nid = "x"\n', "row 0 names no source"),
        ('[[a]]\nsource = "s"\n[[a]]\nsource = " "\n', "row 1 names no source"),
        ("[[a]]\nsource = \n", "not TOML"),
        ('[[b]]\nsource = "s"\n', "unknown table"),
    ],
)
def test_bad_files_are_refused(
    text: str, condition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_atoms").mkdir()
    (tmp_path / "_atoms" / "broken.toml").write_text(text)
    monkeypatch.setattr(facts, "_PACKAGE", tmp_path)
    try:
        with pytest.raises(CuteError, match=condition):
            facts.rows("broken", "a")
    finally:
        facts._document.cache_clear()
        facts.rows.cache_clear()


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(CuteError, match="the file of facts is missing"):
        facts.rows("nowhere", "a")


def test_the_installed_copy_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name in (("package/_atoms", "installed"), ("atoms", "checkout")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f.toml").write_text(f'[[a]]\nname = "{name}"\nsource = "s"\n')
    monkeypatch.setattr(facts, "_PACKAGE", tmp_path / "package")
    try:
        assert facts.rows("f", "a")[0]["name"] == "installed"
    finally:
        facts._document.cache_clear()
        facts.rows.cache_clear()
