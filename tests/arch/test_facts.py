from __future__ import annotations

import re
from collections.abc import Iterator
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


def test_the_readme_of_the_facts_has_every_file() -> None:
    folder = Path(__file__).resolve().parents[2] / "atoms"
    named = re.findall(r"(?m)^\| `(\w+\.toml)` \|", (folder / "README.md").read_text("utf-8"))
    assert named == sorted(path.name for path in folder.glob("*.toml"))


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


# ------------------------------------------------------------------ a target like another

BASE = 'name = "one"\nproduct = "P"\ngrf_bytes = 64\nlisted = false\nsource = "s"\n'
RULES = """
[[rule]]
id = "r"
targets = ["one"]
most = 1
source = "s"
[[rule]]
id = "other"
targets = ["one"]
most = 2
source = "s"
[[rule]]
id = "r"
targets = ["three"]
most = 3
source = "s"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "_atoms").mkdir()
    monkeypatch.setattr(facts, "_PACKAGE", tmp_path)
    for cached in (facts._document, facts.rows):
        cached.cache_clear()
    yield tmp_path / "_atoms"
    for cached in (facts._document, facts.rows):
        cached.cache_clear()


def like(**targets: str) -> str:
    head = '[[target]]\nname = "{}"\nlike = "{}"\nproduct = "Q"\nsource = "t"\n'
    return "".join(head.format(*pair) for pair in targets.items())


def test_a_target_is_like_one_that_is_like_another(folder: Path) -> None:
    text = like(three="two", two="one") + "[[target]]\n" + BASE
    (folder / "arch.toml").write_text(text + RULES)
    three, *_ = facts.rows("arch", "target")
    assert (three["name"], three["product"], three["source"]) == ("three", "Q", "t")
    assert (three["grf_bytes"], three["listed"]) == (64, False)
    most = {
        name: [row["most"] for row in facts.rows_for("arch", "rule", name)]
        for name in ("one", "two", "three", "four")
    }
    assert most == {"one": [1, 2], "two": [1, 2], "three": [2, 3], "four": []}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        (like(two="none"), 'the key "like" of two names the unknown target none'),
        (like(two="two"), 'the key "like" leads from two back to two'),
        (like(two="one").replace('name = "two"\n', ""), "a row has no name"),
        (like(two="one") * 2, "two names 2 rows"),
        (like(four="two", two="three", three="two"), "leads from two back to two"),
        (like(two="one").replace('product = "Q"\n', ""), "two names no product"),
        (like(two="one").replace('source = "t"\n', ""), "row 0 names no source"),
    ],
)
def test_a_target_like_none_is_refused_with_its_file(
    text: str, condition: str, folder: Path
) -> None:
    (folder / "arch.toml").write_text(text + "[[target]]\n" + BASE)
    with pytest.raises(CuteError, match=condition) as error:
        facts.rows("arch", "target")
    assert "arch.toml" in str(error.value)
