"""The words of messages, docstrings, comments and pages: phrases that CONTRIBUTING.md rules out.

What a page prints comes from messages and is scanned at its source. Names in the package have the
field's nouns and verbs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SCANNED = (
    *("atoms", "benchmarks", "docs", "examples", "pycute_xe"),
    *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("Makefile", "mkdocs.yml", "pyproject.toml"),
)

RULED_OUT = {
    "say 'is not a'": r"(?<!there )\b(?:is|are|was|were|be|been) no (?!longer\b|wider\b)",
    "say what is missing": r"\bthere (?:is|are|was|were) (?:not|none)\b",
    "say 'unknown', and what is known": r"\bno such\b",
    "say 'is not'": r"\b(?:what|that|which|who) (?:is|are) none\b|\bnone onto\b",
    "say 'does not apply'": r"\bof no use\b",
    "name the thread, work-item or program": r"\b(?:some|no)body\b",
    "spell it 'misspelled'": r"\bmisspelt\b",
    "say 'is available'": r"\bto be had\b",
}
ANY_RULED_OUT = re.compile("|".join(RULED_OUT.values()), re.IGNORECASE)
# A string, whole and so without what looks like a comment in it, or a comment.
STRING_OR_COMMENT = re.compile(
    r"(\"{3}|'{3})(?:\\.|(?!\1).)*\1"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|(?P<comment>\#[^\n]*)",
    re.DOTALL,
)
NOT_YET: tuple[str, ...] = ()
ALLOWED = {  # quoted as what not to write
    "CONTRIBUTING.md": ("is no multiple", "there is not", "no such mode", "nobody", "none onto"),
}

# What says nothing of a value: `row`, `layout`, `match`, `owner`, `condition` do.
NAMES_RULED_OUT = {"found", "held", "said", "says", "tell", "tells", "told", "who"}
ANY_NAME_RULED_OUT = re.compile(
    rf"(?:\b|_)(?:{'|'.join(NAMES_RULED_OUT)})(?:\b|_)"
    rf"|(?:{'|'.join(map(str.title, NAMES_RULED_OUT))})(?:[A-Z]|\b)"
)
NAMES_KEPT = {  # public classes have them, or JSON
    *("Held", "Checked.held", "RegisterPicture.held_by", "AtomDiff.held", "AtomDiff.said"),
    *("CopyAtom.places_held", "LegacyCopyAtom.places_held", "Change.who"),
    *("Counterexample.found", "Failure.found"),
}


def found_in(text: str) -> list[str]:
    """Each ruled-out phrase of a text with its surroundings and what to do."""
    flat = " ".join(text.split())
    if not ANY_RULED_OUT.search(flat):  # as a rule
        return []
    return [
        f"{flat[max(0, hit.start() - 30) : hit.end() + 20]!r}: {instead}"
        for instead, pattern in RULED_OUT.items()
        for hit in re.finditer(pattern, flat, re.IGNORECASE)
    ]


def python_texts(source: str) -> Iterator[str]:
    """String constants, f-strings with ``{}`` for their values, and runs of comments."""
    parts: set[int] = set()
    for node in ast.walk(ast.parse(source)):  # a whole before its parts
        if isinstance(node, ast.JoinedStr):
            parts |= set(map(id, node.values))
            pieces = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            yield "".join(map(str, pieces))
        elif isinstance(node, ast.Constant) and type(node.value) is str and id(node) not in parts:
            yield node.value
    comments = (hit["comment"] for hit in STRING_OR_COMMENT.finditer(source))
    yield " ".join(comment.strip("# ") for comment in comments if comment)


# Words of a program that has no ruled-out phrase, whatever stands between them.
BETWEEN = re.compile(r"[^\w{}]+")


def texts(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        flat = BETWEEN.sub(" ", source.replace("\\n", " "))
        if ANY_RULED_OUT.search(flat):  # as a rule, nothing is found
            yield from python_texts(source)
    elif path.suffix == ".md":
        prose = re.sub(r"<!-- prints.*?-->", "", source, flags=re.DOTALL)
        for phrase in ALLOWED.get(path.name, ()):
            assert phrase in prose, f"{path.name} no longer says {phrase!r}: take it off ALLOWED"
            prose = prose.replace(phrase, "")
        yield prose
    else:
        yield re.sub(r"^# ?", "", source, flags=re.MULTILINE)


def files(within: str | None = None) -> list[Path]:
    roots = [ROOT / name for name in SCANNED if within in (None, name)]
    some = [p for root in roots for p in (sorted(root.rglob("*")) if root.is_dir() else [root])]
    later = {ROOT / name for name in NOT_YET}
    kinds = (".py", ".md", ".toml", ".yml", "")
    return [p for p in some if p.is_file() and p.suffix in kinds and not later & {*p.parents}]


@pytest.mark.parametrize("root", SCANNED)
def test_nothing_ruled_out_is_written(root: str) -> None:
    mine = files(root)
    assert mine, root
    bad = [f"{p.relative_to(ROOT)}: {hit}" for p in mine for t in texts(p) for hit in found_in(t)]
    assert not bad, "\n" + "\n".join(bad)


@pytest.mark.parametrize(
    "text",
    [
        "7 is no multiple of 4",
        "strides that are no integers",
        "a slot that there is not",
        "there are none",
        "there is no such mode",
        "the map is none\n    onto the block",
        "what is none",
        "an operand missing or of no use",
        "what somebody may have meant",
        "nobody owns it",
    ],
)
def test_a_ruled_out_phrase_is_seen(text: str) -> None:
    assert found_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "7 is not a multiple of 4",
        "it is no longer needed",
        "there is no saturation",
        "no work-item owns it",
        "the two have no element in common",
    ],
)
def test_plain_phrases_pass(text: str) -> None:
    assert found_in(text) == []


def test_python_texts_are_strings_and_comments() -> None:
    source = (
        '"""Doc. # it"s"""\n# a\n# b "\nx = f"{y} is " f"no multiple of {z}"  # c\ny = "\\"# d"\n'
    )
    texts = ['Doc. # it"s', "{} is no multiple of {}", '"# d', 'a b " c']
    assert sorted(python_texts(source)) == sorted(texts)


def bound(node: ast.AST, owner: str = "") -> Iterator[str]:
    """Yield each name that code binds, with its class if it is a field or a method."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield owner + name
            case ast.Name(id=name, ctx=ast.Store()):
                yield owner + name
            case ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case _:
                pass
        inside = f"{child.name}." if isinstance(child, ast.ClassDef) else owner
        yield from bound(child, "" if isinstance(child, ast.FunctionDef) else inside)


def names_ruled_out(source: str) -> set[str]:
    """Return the names whose first or last word, or the only one, says nothing of the value."""
    if not ANY_NAME_RULED_OUT.search(STRING_OR_COMMENT.sub("", source)):  # as a rule
        return set()
    names = set(bound(ast.parse(source)))
    words = {n: re.findall("[A-Z]?[a-z]+|[A-Z]+", n.rpartition(".")[2]) or [n] for n in names}
    return {n for n, w in words.items() if {w[0].lower(), w[-1].lower()} & NAMES_RULED_OUT}


@pytest.mark.long
def test_names_are_those_of_the_field() -> None:
    bad = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "pycute_xe").rglob("*.py"))
        for name in names_ruled_out(path.read_text(encoding="utf-8"))
    }
    kept = {hit for hit in bad if hit.partition(": ")[2] in NAMES_KEPT}
    assert not bad - kept, "\n" + "\n".join(sorted(bad - kept))
    assert {hit.partition(": ")[2] for hit in kept} == NAMES_KEPT, "take the others off NAMES_KEPT"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("found = 1", "found"),
        ("def f(held_row): pass", "held_row"),
        ("def tell_all(): pass", "tell_all"),
        ("class FoundRows: pass", "FoundRows"),
        ("class A:\n    who: int", "A.who"),
        ("class A:\n    def f(self):\n        self._said = 1", "_said"),
        ("[x for x, row_told in y]", "row_told"),
        ("with a as told: pass", "told"),
        ("import a as found", "found"),
    ],
)
def test_a_name_that_says_nothing_is_seen(source: str, name: str) -> None:
    assert names_ruled_out(source) == {name}


@pytest.mark.parametrize(
    "source", ["foundation = 1", "row = a.found", "f(said=1)", "row_found_at = 1", "whole = 2"]
)
def test_names_of_the_field_pass(source: str) -> None:
    assert names_ruled_out(source) == set()
