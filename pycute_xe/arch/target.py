"""A target, the machine that a kernel is checked against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

from pycute_xe.arch.rules import Broken, Level
from pycute_xe.errors import CuteError, TargetError
from pycute_xe.facts import rows, rows_for
from pycute_xe.signatures import checked_fields, typed, typed_fields
from pycute_xe.typing import glance, shown

__all__ = [
    "SlmLimit",
    "Target",
    "get_target",
    "grf_bytes",
    "is_target",
    "message_target",
    "messages_only",
    "refuse_known_in_part",
    "spilled",
    "targets",
]


@typed_fields
@dataclass(frozen=True, slots=True)
class SlmLimit:
    """What one source says about the shared local memory of an Xe core, in bytes."""

    bytes: int
    level: Level
    source: str


@checked_fields
@dataclass(frozen=True, slots=True)
class Target:
    """A machine: register size and modes, hardware threads, execution size, shared local memory.

    ``threads`` pairs each register mode (registers a thread may use) with the hardware threads
    that one vector engine then keeps. ``vector_engines`` counts those of one Xe core, ``None``
    where no source says. Get one by name with `get_target`.

    >>> get_target("bmg").grf_modes
    (128, 256)
    """

    name: str
    product: str
    grf_bytes: int
    exec_size: int
    vector_engines: int | None
    threads: tuple[tuple[int, int], ...]
    slm: tuple[SlmLimit, ...]
    source: str

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The call that finds it; of one that has no row, its name."""
        call = "message_target" if messages_only(self) else "get_target"
        return f"{call}({self.name!r})" if _named(self.name) == self else glance(self)

    def __post_init__(self) -> None:
        """Refuse a target that no thread could run on."""
        if self.grf_bytes < 1 or self.exec_size < 1:
            condition = "registers have at least 1 byte, and instructions 1 lane"
            raise TargetError("Target", {"name": self.name}, condition, "correct the row")
        if not self.threads:
            condition = "no row says how many threads an engine keeps"
            fix = "add its name to rows of `threads` in atoms/arch.toml"
            raise TargetError("Target", {"name": self.name}, condition, fix)
        if not self.slm:
            condition = "no row says how much shared local memory a core has"
            fix = "add its name to rows of `slm` in atoms/arch.toml"
            raise TargetError("Target", {"name": self.name}, condition, fix)

    def __str__(self) -> str:
        """The name, as it is written in calls."""
        return self.name

    @property
    def grf_modes(self) -> tuple[int, ...]:
        """Numbers of registers that a thread may be given, ascending."""
        return tuple(mode for mode, _ in self.threads)

    @typed
    def grf_mode(self, registers: int) -> int:
        """Return the smallest mode that holds so many registers; `TargetError` if none does.

        >>> get_target("pvc").grf_mode(224)
        256
        """
        fitting = [mode for mode in self.grf_modes if mode >= registers]
        if not fitting:
            most = max(self.grf_modes)
            raise TargetError(
                "grf_mode",
                {"target": self, "registers": registers},
                f"a thread has at most {most} registers",
                "use smaller fragments, or more threads for the same tile",
            )
        return min(fitting)

    @typed
    def registers(self, nbytes: int) -> int:
        """Return how many registers so many bytes fill, the last one perhaps in part.

        >>> get_target("pvc").registers(65)
        2
        """
        return -(-nbytes // self.grf_bytes)

    @typed
    def grf_mode_of(self, fragments: int, payloads: int = 0) -> tuple[int, tuple[Broken, ...]]:
        """Return the mode in which a thread holds its fragments, and the rules that it breaks.

        A register for the header of the thread and one for each address payload come on top. The
        largest mode, where even that does not hold them: ``register-file`` if the fragments alone
        need more, else ``register-room``, or ``spills`` where compiled kernels of as many spilled:
        an error if all did, a warning if some did.

        >>> get_target("pvc").grf_mode_of(128), get_target("pvc").grf_mode_of(4608)[1][0].condition
        ((256, ()), 'fragments need 4608 registers, a thread has at most 256')
        """
        most = max(self.grf_modes)
        if fragments > most:
            broken = Broken(
                "register-file",
                "error",
                f"fragments need {fragments} registers, a thread has at most {most}",
                self.source,
                "use a smaller tile, or more subgroups for the same tile",
            )
            return most, (broken,)
        if fragments + payloads < most:
            mode = self.grf_mode(fragments + payloads + 1)
            return mode, spilled(fragments, mode)
        besides = f"{payloads} address payloads and the thread header take one each"
        broken = Broken(
            "register-room",
            "error",
            f"fragments take {fragments} of {most} registers; "
            f"{besides if payloads else 'the thread header takes one'}, so that some are spilled",
            "vISA manual, LSC_UNTYPED.md: a block-2D message reads its address payload from a "
            "register",
            "use a smaller tile, or operands that need no reorder",
        )
        return most, (broken,)

    @typed
    def threads_per_engine(self, grf_mode: int) -> int:
        """Return the hardware threads of a vector engine in a register mode.

        Raises `TargetError` for a mode that the target does not have.

        >>> get_target("pvc").threads_per_engine(256)
        4
        """
        count = dict(self.threads).get(grf_mode)
        if count is None:
            raise TargetError(
                "threads_per_engine",
                {"target": self, "grf_mode": grf_mode},
                f"the target has no mode of {grf_mode} registers",
                f"one of {', '.join(map(str, self.grf_modes))}",
            )
        return count

    @typed
    def threads_per_core(self, grf_mode: int) -> int:
        """Return the hardware threads of an Xe core in a register mode.

        Law: vector engines × threads of each. Raises `TargetError` where no source gives either.

        >>> get_target("bmg").threads_per_core(128)
        64
        """
        if self.vector_engines is None:
            raise TargetError(
                "threads_per_core",
                {"target": self},
                "no source gives the vector engines of its Xe core",
                "use threads_per_engine",
            )
        return self.vector_engines * self.threads_per_engine(grf_mode)

    @property
    def slm_bytes(self) -> int:
        """The largest shared local memory, in bytes, that a source allows an Xe core.

        >>> get_target("pvc").slm_bytes
        131072
        """
        return max(limit.bytes for limit in self.slm)

    @typed
    def slm_broken(self, nbytes: int) -> tuple[Broken, ...]:
        """Return the limits that so many bytes of shared local memory exceed, errors first.

        >>> [b.level for b in get_target("bmg").slm_broken(100_000)]
        ['warning']
        """
        over = [limit for limit in self.slm if nbytes > limit.bytes]
        return tuple(
            Broken(
                "slm-bytes",
                limit.level,
                f"shared local memory is {nbytes} bytes, must be at most {limit.bytes}",
                limit.source,
                f"use {limit.bytes} bytes or fewer",
            )
            for limit in sorted(over, key=lambda limit: limit.level == "warning")
        )


@typed
def get_target(target: str | Target) -> Target:
    """Return the target of a name; a `Target` is returned as it is.

    Names are those of `targets` and what else these are called, by products (``"B580"``,
    ``"Max1550"``) and compilers (``"intel_gpu_bmg_g21"``), in upper or lower case.
    Raises `TargetError` for an unknown name, with the nearest and the known ones, and with the
    reason for machines that are known only in part. Source: the rows ``alias`` of ``arch.toml``.

    >>> get_target("lnl").grf_bytes, get_target("B580").name, get_target("max1550").name
    (64, 'bmg', 'pvc')
    """
    if isinstance(target, Target):
        if messages_only(target):
            refuse_known_in_part("get_target", target.name)
        return target
    if type(target) is not str:
        raise TargetError(
            "get_target",
            {"target": target},
            "a target must be a name or a Target",
            f"one of {', '.join(_accepted())}",
        )
    machine = _named(target)
    if machine is None or messages_only(machine):
        refuse_known_in_part("get_target", target.strip().lower())
        raise _unknown(target, _accepted())
    return machine


def message_target(target: str | Target) -> Target:
    """Return the target that an LSC message is judged on: as `get_target`, and ``"dg2"`` too.

    For registers of 32 bytes no atom or kernel is laid out, but a message is judged and counted.

    >>> message_target("dg2").grf_bytes
    32
    """
    machine = (
        target if isinstance(target, Target) else _named(target) if type(target) is str else None
    )
    if machine is not None and messages_only(machine):
        return machine
    if machine is None and type(target) is str:
        refuse_known_in_part("message_target", target.strip().lower())
        raise _unknown(target, (*targets(), *sorted(_messages_only())))
    return get_target(target)


def messages_only(target: object) -> bool:
    """Tell whether LSC messages alone are known of a target, given as a value or by a name.

    >>> messages_only("dg2"), messages_only("bmg")
    (True, False)
    """
    if isinstance(target, str):
        target = _named(target)
    return isinstance(target, Target) and target.name in _messages_only()


def _named(text: str) -> Target | None:
    name = text.strip().lower()
    return _described().get(_aliases().get(name, name))


@typed
def is_target(value: object) -> bool:
    """Tell whether a value is a target or a name of one.

    >>> is_target("B580"), is_target("XE_LOAD_2D<16,8,16>")
    (True, False)
    """
    return isinstance(value, Target) or (isinstance(value, str) and _named(value) is not None)


def _accepted() -> tuple[str, ...]:
    """The names of rows that `get_target` takes."""
    return tuple(name for name in _described() if name not in _messages_only())


def _unknown(target: str, known: tuple[str, ...]) -> TargetError:
    """Say which targets there are; of a name of several, which these are."""
    from difflib import get_close_matches

    generation = [name for name in _generation(target) if name in known]
    if generation:
        *most, last = generation
        fix = f"use {', '.join(most)} or {last}" if most else f"use {last}"
        condition = "the name of a generation of GPUs, not of a target"
        return TargetError("get_target", {"target": target}, condition, fix)
    near = get_close_matches(target.lower(), (*_described(), *_aliases()), 3)
    hint = f"did you mean {', '.join(near)}? " if near else ""
    fix = f"{hint}one of {', '.join(known)}"
    return TargetError("get_target", {"target": target}, "unknown target", fix)


def _generation(name: str) -> tuple[str, ...]:
    """The targets of a generation; drivers name its cores, as xe2_hpg_core."""
    letters, known = _letters(name).removesuffix("core"), _generations()
    return known.get(letters) or known.get(letters.removesuffix("hpg"), ())


@cache
def _generations() -> dict[str, tuple[str, ...]]:
    """The targets of a generation, whose name ends the product of each: "…, Xe2"."""
    names: dict[str, tuple[str, ...]] = {}
    for target in _described().values():
        name = _letters(target.product.rpartition(", ")[2])
        names[name] = (*names.get(name, ()), target.name)
    return names


def _letters(name: str) -> str:
    """A name in lower case, without what spellings put between its letters."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def refuse_known_in_part(operation: str, target: str) -> None:
    """Raise `TargetError`, with the reason, for a machine whose limits are known only in part.

    >>> refuse_known_in_part("Dpas", "dg2")
    Traceback (most recent call last):
    pycute_xe.errors.TargetError: Dpas(target=dg2): 8 lanes ...
    """
    for row in rows("lsc", "refused"):
        if target in cast("tuple[str, ...]", row["names"]):
            condition = f"{row['condition']} [{row['source']}]"
            *most, last = targets()
            way_out = f"use {', '.join(most)} or {last}"
            raise TargetError(operation, {"target": target}, condition, way_out)


@cache
def targets() -> dict[str, Target]:
    """Return the targets on which atoms are judged and compared, by name.

    `get_target` knows one more, ``"cri"``, of which not all messages have rows.

    >>> sorted(targets())
    ['bmg', 'lnl', 'ptl', 'pvc']
    """
    listed = {str(row["name"]) for row in rows("arch", "target") if row.get("listed", True)}
    return {name: target for name, target in _described().items() if name in listed}


@cache
def _described() -> dict[str, Target]:
    """Every target that has a row."""
    return {target.name: target for target in map(_target, rows("arch", "target"))}


@cache
def _messages_only() -> frozenset[str]:
    return frozenset(str(r["name"]) for r in rows("arch", "target") if r.get("messages_only"))


@cache
def _aliases() -> dict[str, str]:
    """What else targets are called, in lower case, with the names of their rows."""
    names: dict[str, str] = {}
    for row in rows("arch", "alias"):
        for name in cast("tuple[str, ...]", row["names"]):
            if names.setdefault(name, str(row["target"])) != row["target"] or name in _described():
                condition = f"{name} names two targets"
                raise CuteError("get_target", {"alias": name}, condition, "correct the facts")
    return names


@cache
def spilled(registers: int, mode: int) -> tuple[Broken, ...]:
    """Return what is broken where kernels whose fragments take so many registers spilled.

    ``mode`` are the registers of a thread. An error where all that were compiled spilled, a
    warning where some did, of the rows of ``atoms/arch.toml``, which name the compiler.

    >>> [[b.level for b in spilled(count, 256)] for count in (224, 240, 244, 256)]
    [[], [], ['warning'], ['error']]
    """
    for row in rows("arch", "spilled"):
        low, high = cast("tuple[int, int]", row["registers"])
        count, compiled = cast("int", row["spilled"]), cast("int", row["compiled"])
        if row["mode"] == mode and low <= registers <= high and count:
            condition = (
                f"fragments take {registers} of {mode} registers; of {compiled} such kernels that "
                f"were compiled, {count} spilled"
            )
            level: Level = "error" if count == compiled else "warning"
            fix = "use a smaller tile, or more subgroups for the same tile"
            return (Broken("spills", level, condition, cast("str", row["source"]), fix),)
    return ()


@cache
def grf_bytes() -> int:
    """Return the register size in bytes, which all targets share that atoms are laid out for.

    Positions in registers are the same on every target because of it. Raises `CuteError` should
    the facts ever hold targets that differ.

    >>> grf_bytes()
    64
    """
    laid_out = _described().keys() - _messages_only()
    sizes = {_described()[name].grf_bytes for name in laid_out}
    if len(sizes) != 1:
        raise CuteError(
            "grf_bytes",
            {"sizes": sizes},
            "the targets have registers of different sizes",
            "name a target",
        )
    return sizes.pop()


def _target(row: object) -> Target:
    facts = cast("dict[str, object]", row)
    name = cast("str", facts["name"])
    threads = tuple(
        cast("tuple[int, int]", pair)
        for entry in rows_for("arch", "threads", name)
        for pair in cast("tuple[object, ...]", entry["modes"])
    )
    slm = tuple(
        SlmLimit(cast("int", r["bytes"]), cast("Level", r["level"]), cast("str", r["source"]))
        for r in rows_for("arch", "slm", name)
    )
    return Target(
        name=name,
        product=cast("str", facts["product"]),
        grf_bytes=cast("int", facts["grf_bytes"]),
        exec_size=cast("int", facts["exec_size"]),
        vector_engines=cast("int | None", facts.get("vector_engines")),
        threads=tuple(sorted(threads)),
        slm=slm,
        source=cast("str", facts["source"]),
    )
