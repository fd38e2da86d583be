"""A check of `make lint`: how many places of the package branch on the class of a statement.

Readers ask what a statement declares, or have a table `Meanings` from kinds to meanings without a
default. What asks for the class itself answers for the classes that there were when it was written
and passes a new one in silence. Counted is every place outside such a table that names a kind

- in `isinstance`, `issubclass`, or the cases of a `match`, which is one place;
- in a comparison: ``type(x) is Load``, ``kind in COUNTING``, ``statement == Fence()``;
- by its name: ``type(x).__name__ == "Load"``, a case ``"Load"`` of it, keys ``"Load"``;
- as a key of a dictionary, in what a loop runs over, or as what `singledispatch` registers;

and every place that asks for a kind by what it alone has: `hasattr` with a name of its fields, or a
boolean that no other kind sets, in what it declares or as an attribute of its class. A tuple, a set
or a union of kinds counts as the kinds that are in it, under any name and from any module.

The kinds are all classes that derive from `Statement`, but for `Loop` and `If`, which are the
structure of a body. The files that define them may name them.

The 187 published for 0a4a2d4d are its 186 calls of `isinstance` and 6 of `match` without the five
calls that name kinds by the tuples COUNTING and EVENTS; this check counts 215 there, for it adds
these five, nine calls that name kinds by aliases, and 14 comparisons, keys and `getattr`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).parent.parent / "pycute_xe"
LIMIT = 0
"""Places that may be left in the whole package."""

BASE = "pycute_xe.kernel.ir.statement.Statement"
STRUCTURE = frozenset({"Loop", "If"})
DEFINING = frozenset(
    f"kernel/ir/{name}.py" for name in ("statement", "statements", "named", "effects")
)
GATHERING = frozenset({"tuple", "list", "set", "frozenset", "get_args", "sorted", "reversed"})
"""Functions of a collection that have its members."""


class Branch(NamedTuple):
    """A place that branches on the class of a statement."""

    path: str
    line: int
    how: str
    kinds: tuple[str, ...]

    @property
    def room(self) -> str:
        """The package in which it is."""
        return self.path.split("/")[0]

    def __str__(self) -> str:
        """The place, and which kinds it asks for in which way."""
        return f"pycute_xe/{self.path}:{self.line}: {self.how} {', '.join(self.kinds)}".rstrip()


# ------------------------------------------------------------ names
# What a name stands for in a file: a class, a module, or an expression that is assigned to it.

Scope: TypeAlias = "dict[str, ast.expr]"


@dataclass
class Module:
    """A file: its imports, its classes, and what is assigned to names outside of functions."""

    name: str
    path: str
    text: str
    tree: ast.Module = field(init=False)
    imports: dict[str, str] = field(default_factory=dict[str, str])
    classes: dict[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])
    values: Scope = field(default_factory=dict[str, ast.expr])

    def __post_init__(self) -> None:
        """Read the names that the file binds."""
        self.tree = ast.parse(self.text)
        for node in _statements(self.tree.body):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.split(".")[0]
                    self.imports[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
        self.values = _assigned(self.tree.body)


def _statements(body: Sequence[ast.stmt], *, functions: bool = True) -> Iterator[ast.stmt]:
    """Yield statements and those in them, with or without what functions do."""
    for node in body:
        yield node
        if functions or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, name, ()), functions=functions)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from _statements(part.body, functions=functions)


def _assigned(body: Sequence[ast.stmt]) -> Scope:
    """Return what statements assign to names, those in functions apart."""
    out: Scope = {}
    for node in _statements(body, functions=False):
        if isinstance(node, ast.Assign):
            out |= {t.id: node.value for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            out |= {node.target.id: node.value} if isinstance(node.target, ast.Name) else {}
    return out


class Package:
    """All files, and the kinds of statements that they define."""

    def __init__(self, root: Path) -> None:
        """Read every file of a package."""
        self.modules: dict[str, Module] = {}
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root).as_posix()
            parts = inside.removesuffix(".py").removesuffix("__init__").strip("/")
            name = ".".join(["pycute_xe", *parts.split("/")] if parts else ["pycute_xe"])
            self.modules[name] = Module(name, inside, path.read_text(encoding="utf-8"))
        self.kinds = self._deriving()
        self.names = frozenset(full.split(".")[-1] for full in self.kinds)
        self.fields = self._fields()
        self.flags = self._flags()
        collections = (
            name
            for module in self.modules.values()
            for name, value in module.values.items()
            if self.asked(module, value, {})
        )
        words = {*self.names, *self.flags, *collections, "__name__", "__qualname__", "hasattr"}
        self.words = re.compile(rf"\b({'|'.join(sorted(words))}|getattr)\b")

    def _deriving(self) -> dict[str, ast.ClassDef]:
        """Return the classes that derive from `Statement` by their full names, structure apart."""
        every = {
            f"{m.name}.{c}": (m, node)
            for m in self.modules.values()
            for c, node in m.classes.items()
        }
        known = {BASE}
        while True:
            new = {
                name
                for name, (module, node) in every.items()
                if name not in known
                and any(self.full(module, base, {}) in known for base in node.bases)
            }
            if not new:
                break
            known |= new
        return {n: every[n][1] for n in sorted(known - {BASE}) if n.split(".")[-1] not in STRUCTURE}

    def _fields(self) -> frozenset[str]:
        """Return the fields that kinds have, and statements that have a body have not."""
        names = {f for node in self.kinds.values() for f in _own(node) if not f.startswith("_")}
        structure = self.modules[BASE.rsplit(".", 1)[0]].classes
        return frozenset(
            names - {f for name in STRUCTURE & set(structure) for f in _own(structure[name])}
        )

    def _flags(self) -> dict[str, str]:
        """Return the booleans that one kind alone sets, by name, with that kind.

        A kind sets a boolean of an effect where it names it, and one of its class by assigning it.
        """
        effects = self.modules.get("pycute_xe.kernel.ir.effects")
        declared = {
            target
            for node in (effects.classes.values() if effects else ())
            for target, annotation in _own(node).items()
            if isinstance(annotation, ast.Name) and annotation.id == "bool"
        }
        setting: dict[str, set[str]] = {}
        for full, node in self.kinds.items():
            name = full.split(".")[-1]
            for part in ast.walk(node):
                if isinstance(part, ast.keyword) and part.arg in declared:
                    setting.setdefault(part.arg, set()).add(name)
            for flag in _constants(node):
                setting.setdefault(flag, set()).add(name)
        return {flag: next(iter(kinds)) for flag, kinds in setting.items() if len(kinds) == 1}

    def full(self, module: Module, node: ast.expr, scope: Scope) -> str:
        """Return the full name of the class or module that an expression names; empty for none."""
        if isinstance(node, ast.Attribute):
            base = self.full(module, node.value, scope)
            return self._followed(f"{base}.{node.attr}") if base else ""
        if not isinstance(node, ast.Name) or node.id in scope:
            return ""
        if node.id in module.classes:
            return f"{module.name}.{node.id}"
        return self._followed(module.imports.get(node.id, ""))

    def _followed(self, name: str) -> str:
        """Return where a name that modules hand on is defined."""
        for _ in self.modules:
            home, _, last = name.rpartition(".")
            if name in self.modules or home not in self.modules:
                return name
            if last in self.modules[home].classes or last not in self.modules[home].imports:
                return name
            name = self.modules[home].imports[last]
        return name

    def asked(
        self, module: Module, node: ast.expr | None, scope: Scope, depth: int = 8
    ) -> set[str]:
        """Return the kinds that an expression names, through the names of collections of them."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            full = self.full(module, node, scope)
            if full in self.kinds:
                return {full.split(".")[-1]}
            return self._behind(module, node, full, scope, depth) if depth else set()
        parts = _parts(node)
        return set[str]().union(*(self.asked(module, part, scope, depth) for part in parts))

    def _behind(
        self, module: Module, node: ast.expr, full: str, scope: Scope, depth: int
    ) -> set[str]:
        """Return the kinds in what is assigned to a name, here or where it comes from."""
        if isinstance(node, ast.Name) and node.id in scope:
            return self.asked(module, scope[node.id], module.values, depth - 1)
        if isinstance(node, ast.Name) and not full and node.id in module.values:
            return self.asked(module, module.values[node.id], {}, depth - 1)
        home, _, last = full.rpartition(".")
        if (there := self.modules.get(home)) is None or last not in there.values:
            return set()
        return self.asked(there, there.values[last], {}, depth - 1)


def _parts(node: ast.expr | None) -> Sequence[ast.expr | None]:
    """Return the expressions of which a collection takes its members, or a union its types."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments) if name in GATHERING:
            return arguments
        case ast.Tuple(parts) | ast.List(parts) | ast.Set(parts) | ast.Dict(parts):
            return parts
        case ast.BinOp(left, ast.BitOr() | ast.Add() | ast.Sub() | ast.BitAnd(), right):
            return left, right
        case ast.IfExp(_, left, right):
            return left, right
        case ast.Subscript(inner, index):  # COPIES[1:], and Union[Load, Store]
            return inner, index
        case ast.Starred(inner) | ast.NamedExpr(_, inner):
            return (inner,)
        case ast.GeneratorExp(inner) | ast.ListComp(inner) | ast.SetComp(inner):
            return (inner,)
        case ast.BoolOp(_, parts):
            return parts
        case _:
            return ()


def _own(node: ast.ClassDef) -> dict[str, ast.expr]:
    """Return the fields of a class, with their annotations."""
    pairs = (
        (part.target, part.annotation) for part in node.body if isinstance(part, ast.AnnAssign)
    )
    return {target.id: annotation for target, annotation in pairs if isinstance(target, ast.Name)}


def _constants(node: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes and properties of a class that are a boolean for all its instances."""
    for part in node.body:
        match part:
            case ast.Assign([ast.Name(name)], ast.Constant(bool())):
                yield name
            case ast.AnnAssign(ast.Name(name), annotation, ast.Constant(bool())) if isinstance(
                annotation, ast.Subscript
            ):
                yield name  # ClassVar[bool], not a field
            case ast.FunctionDef(name, body=[*_, ast.Return(ast.Constant(bool()))]):
                yield name
            case _:
                pass


# ------------------------------------------------------------ branches


class Asking:
    """The places of a file that branch on the class of a statement."""

    def __init__(self, package: Package, module: Module) -> None:
        """Read a file of a package."""
        self.package, self.module, self.scope = package, module, dict[str, ast.expr]()
        home = any(name.startswith("pycute_xe.kernel") for name in module.imports.values())
        self.fields = package.fields if home else frozenset[str]()

    def branches(self) -> list[Branch]:
        """Return every place in the file, in order."""
        out: list[Branch] = []
        todo: list[tuple[ast.AST, Scope]] = [(self.module.tree, {})]
        while todo:
            node, scope = todo.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                scope = {**scope, **_assigned(node.body)}
            if (read := READERS.get(type(node))) is not None:
                self.scope = scope
                how, kinds = read(self, node)
                if kinds:
                    place: Any = node.iter if isinstance(node, ast.comprehension) else node
                    names = tuple(sorted(kinds))
                    out.append(Branch(self.module.path, place.lineno, how, names))
            todo += [(child, scope) for child in ast.iter_child_nodes(node)]
        return sorted(out)

    def asked(self, *parts: ast.expr | None) -> set[str]:
        """Return the kinds that expressions name."""
        every = (self.package.asked(self.module, part, self.scope) for part in parts)
        return set[str]().union(*every)

    def named(self, *parts: ast.expr) -> set[str]:
        """Return the kinds whose names are texts in expressions."""
        return set[str]().union(*map(_texts, parts)) & self.package.names

    def of_call(self, node: ast.Call) -> Asked:
        """Read a call of a function that asks for classes, by themselves or by what they have."""
        match node.func, node.args:
            case ast.Name("isinstance" | "issubclass" as how), [_, kinds]:
                return how, self.asked(kinds)
            case ast.Name("hasattr" | "getattr" as how), [_, ast.Constant(str(name)), *rest]:
                asks = name in self.fields and (how == "hasattr" or rest)
                return f"{how} {name}:", {"those that have it"} if asks else set()
            case ast.Attribute(attr="register"), kinds:
                return "register", self.asked(*kinds)
            case ast.Attribute(ast.Name("dict"), "fromkeys"), [kinds, *_]:
                return "keys", self.asked(kinds)
            case ast.Attribute(value, "startswith" | "endswith" as how), [part] if _by_name(value):
                return f"__name__.{how}", _texts(part)
            case _:
                return "", set()

    def of_match(self, node: ast.Match) -> Asked:
        """Read the cases of a match: classes, values, and texts where a name is matched."""
        patterns = [p for case in node.cases for p in ast.walk(case.pattern)]
        values = [p.value for p in patterns if isinstance(p, ast.MatchValue)]
        classes = [p.cls for p in patterns if isinstance(p, ast.MatchClass)]
        texts = self.named(*values) if _by_name(node.subject) else set[str]()
        return "match", self.asked(*classes, *values) | texts

    def of_compare(self, node: ast.Compare) -> Asked:
        """Read a comparison: with classes, their names, or a statement that has no parts."""
        sides = [node.left, *node.comparators]
        empty = [kind for side in sides for x in _members(side) for kind in _made_bare(x)]
        texts = self.named(*sides) if any(map(_by_name, sides)) else set[str]()
        return "comparison", self.asked(*sides, *empty) | texts

    def of_keys(self, node: ast.Dict) -> Asked:
        """Read the keys of a dictionary: classes, or texts that all are names of classes."""
        texts = [_texts(key) if key is not None else set[str]() for key in node.keys]
        by_name = bool(texts) and all(one and one <= self.package.names for one in texts)
        names = set[str]().union(*texts) if by_name else set[str]()
        return "keys", self.asked(*node.keys) | names

    def of_loop(self, node: ast.For | ast.comprehension) -> Asked:
        """Read what a loop runs over."""
        return "loop over", self.asked(node.iter)

    def of_function(self, node: ast.FunctionDef) -> Asked:
        """Read for which class a function is registered by its annotation."""
        registered = (
            isinstance(d, ast.Attribute) and d.attr == "register" for d in node.decorator_list
        )
        first = node.args.args[:1] if any(registered) else []
        return "register", self.asked(*(one.annotation for one in first))

    def of_attribute(self, node: ast.Attribute) -> Asked:
        """Read a boolean that one kind alone sets."""
        flag = self.package.flags.get(node.attr)
        asks = flag is not None and isinstance(node.ctx, ast.Load)
        return f"{node.attr} is set by one kind:", {flag} if flag is not None and asks else set()


Asked: TypeAlias = "tuple[str, set[str]]"
READERS: dict[type[ast.AST], Callable[[Asking, Any], Asked]] = {
    ast.Call: Asking.of_call,
    ast.Match: Asking.of_match,
    ast.Compare: Asking.of_compare,
    ast.Dict: Asking.of_keys,
    ast.For: Asking.of_loop,
    ast.comprehension: Asking.of_loop,
    ast.FunctionDef: Asking.of_function,
    ast.Attribute: Asking.of_attribute,
}


def _members(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]


def _made_bare(node: ast.expr) -> list[ast.expr]:
    """Return the class of a value that is made of no parts: all of its class are equal to it."""
    match node:
        case ast.Call(kind, [], []):
            return [kind]
        case _:
            return []


def _by_name(node: ast.expr) -> bool:
    """Whether an expression is made of the name of a class."""
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("__name__", "__qualname__")
        for part in ast.walk(node)
    )


def _texts(node: ast.expr) -> set[str]:
    """Return the texts in an expression."""
    constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def every(root: Path = ROOT) -> list[Branch]:
    """Return every place of a package, but for the files that define the kinds."""
    package = Package(root)
    modules = [m for m in package.modules.values() if m.path not in DEFINING]
    modules = [m for m in modules if package.words.search(m.text)]  # others name none
    return [branch for m in modules for branch in Asking(package, m).branches()]


def main(root: Path = ROOT, limit: int = LIMIT) -> int:
    """Print the count of each room; 1, and every place, where they are more than the limit."""
    found = every(root)
    if len(found) > limit:
        print(*found, sep="\n")
    rooms = Counter(one.room for one in found).most_common()
    counts = ", ".join(f"{room} {count}" for room, count in rooms)
    print(f"branches on the class of a statement: {len(found)} of {limit} at most ({counts})")
    return int(len(found) > limit)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
