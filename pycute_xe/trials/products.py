"""`verify` of MMAs: the values that layouts give to work-items are those that are multiplied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import CopyAtom, MmaAtom, TiledMma, make_tiled_mma, workgroup_mma
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.bulk import table
from pycute_xe.clock import stopwatch
from pycute_xe.comparing.feeding import Feed, feeds
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.executing import run
from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.kernel.ir.effects import RegisterMove
from pycute_xe.kernel.kinds.gemms import gemm
from pycute_xe.trials.product_kernels import (
    Factors,
    Missing,
    factors_of,
    multiplication,
    owned_places,
)
from pycute_xe.trials.verifier import REPORT, verify_kernel
from pycute_xe.verifying.prover import prove
from pycute_xe.verifying.verdict import Answer, Proof, Run, Tried, Verdict

__all__ = ["verify_feed", "verify_mma"]


def verify_feed(
    copy: CopyAtom | LegacyCopyAtom | str,
    mma: MmaAtom | Dpas | str,
    operand: Operand,
    budget: float,
) -> Verdict:
    """Prove what `feeds` says: a GEMM with the copy, reordered only where it says so, is right."""
    elapsed = stopwatch()
    feed = feeds(copy, mma, operand)
    copy, mma = feed.copy, feed.mma
    verb = "takes" if operand == "D" else "feeds"
    words = f"{copy} {verb} {operand} of {mma}: {feed.kind}"
    name, scope = f"{copy} for {operand} of {mma}", "for all M, N, K >= 1"
    if feed.kind == "impossible":
        proof = Proof("feeds", "disproved", f"{words}, {feed.reason}", (), 0.0)
        tried = Tried((), "no kernel is made of them")
        return Verdict(name, scope, (proof,), None, elapsed(), tried)
    try:
        kernel = _product_of(feed)
    except CuteError as error:
        proof = Proof("feeds", "undecided", words, (), 0.0, reason=error.condition)
        tried = Tried((), error.condition)
        return Verdict(name, scope, (proof,), None, elapsed(), tried)
    verdict = verify_kernel(kernel, budget=budget)
    rows, columns = feed.mma.operand_shape(operand)
    moves = (s.touched.move for s in kernel.statements())
    moved = any(
        move is not None
        and f"r{operand}" in (move.source[-2:], move.destination[-2:])
        and _exchanges_elements(move, rows * columns)
        for move in moves
    )
    right = moved == (feed.kind != "free")
    how = "its registers are reordered" if moved else "none of its registers is reordered"
    answer: Answer = "proved" if right else "disproved"
    proofs = (Proof("feeds", answer, f"{words}; {how}", (), 0.0), *verdict.proofs)
    return replace(verdict, kernel=name, proofs=proofs, seconds=elapsed())


def _exchanges_elements(move: RegisterMove, elements: int) -> bool:
    """Whether elements change their places inside tiles of one instruction.

    Whole tiles that are exchanged do not count: an instruction reads them anywhere.
    """
    if move.slots is None or move.how:
        return False
    to = table(move.slots)
    return bool(to.size % elements) or bool((np.diff(to.reshape(-1, elements), axis=1) != 1).any())


def _product_of(feed: Feed) -> Kernel:
    """Return a GEMM of one subgroup, of which one operand is moved by the copy of a feed."""
    op = feed.mma.op
    if feed.operand == "C":
        wrong = "no GEMM here loads C by a copy of its own"
        raise KernelError("verify", {"operand": "C"}, wrong, "ask about D, which lies as C does")
    rows, columns = feed.copy.shape
    wanted, bits = feed.mma.operand_type(feed.operand).bits, feed.copy.value_type.bits
    columns = columns * bits // wanted
    if isinstance(feed.copy, CopyAtom) and feed.order == "col":
        rows, columns = columns, rows
    m, n, k = op.M, op.exec_size, op.K
    tiles = {"A": (rows, n, columns), "B": (m, columns, rows), "D": (rows, columns, k)}
    tile = tiles[feed.operand]
    whole = tuple(-(-size // unit) * unit for size, unit in zip(tile, (m, n, k), strict=True))
    mma = workgroup_mma(op, (whole[0], whole[1], whole[2]), ((1, 1, 1), (1, 1, 1)))
    match feed.operand:
        case "A":
            return gemm(mma, a=feed.order, copy_a=feed.copy, stages=0)
        case "B":
            return gemm(mma, b=feed.order, copy_b=feed.copy, stages=0)
        case "D":
            return gemm(mma, copy_d=feed.copy, stages=0)


def verify_mma(mma: MmaAtom | TiledMma, budget: float) -> Verdict:
    """Prove that the layouts of an MMA say who holds what its instructions multiply."""
    elapsed = stopwatch()
    tiled = mma if isinstance(mma, TiledMma) else make_tiled_mma(mma)
    proofs = [_owners(tiled, operand) for operand in "ABC"]
    tried = Tried((), "its layouts do not partition the operands")
    if all(proofs):
        product, tried = _product(tiled, budget)
        proofs.append(product)
    shown = next((p.counterexample for p in proofs if p.counterexample), None)
    scope = "for all values of all work-items"
    return Verdict(str(mma), scope, tuple(proofs), shown, elapsed(), tried)


def _owners(mma: TiledMma, operand: str) -> Proof:
    """Each element of an operand's tile has as many owners as every other: of C, one."""
    elapsed = stopwatch()
    places, shape = owned_places(mma, operand), mma.operand_tile(operand)
    threads, values = places.shape[:2]
    share = threads * values / (shape[0] * shape[1])
    many = 1 if operand == "C" and mma.atom_layout_mnk.shape[2] == 1 else max(1, round(share))
    names = {"A": "m, k", "B": "n, k", "C": "m, n"}[operand]
    owners = "one owner" if many == 1 else f"{many} owners"
    words = f"each of {shape[0]}x{shape[1]} elements ({names}) has {owners}"
    counts = np.zeros(shape, np.int64)
    inside = ((places >= 0) & (places < shape)).all(axis=2)
    np.add.at(counts, tuple(places[inside].T), 1)
    example = None
    if not inside.all():
        t, v = np.argwhere(~inside)[0].tolist()
        at = tuple(places[t, v].tolist())
        message = f"value {v} of work-item {t} is said to be {at}, outside {shape[0]}x{shape[1]}"
        example = _example(f"{operand} owners", message, operand, t, v, None)
    elif (counts != many).any():
        at = tuple(np.argwhere(counts != many)[0].tolist())
        message = f"{operand}{list(at)} has {counts[at]} owners, and must have {many}"
        holders = np.argwhere((places == at).all(axis=2))
        t, v = holders[0].tolist() if holders.size else (0, 0)
        example = _example(f"{operand} owners", message, operand, t, v, at)
    answer = "proved" if example is None else "disproved"
    return Proof(f"{operand} owners", answer, words, (), elapsed(), example)


def _product(mma: TiledMma, budget: float) -> tuple[Proof, Tried]:
    """What is multiplied and added is what the layouts pair, by a program of registers."""
    words = "D is the sum of products that the layouts of A, B and C pair, permutations undone"
    if not mma.atom.faithful and mma.atom.readable:
        names: tuple[Operand, ...] = ("A", "B")
        units = (f"{name} in elements of {mma.atom.unit_bits(name)} bits" for name in names)
        words = f"{words}, with the registers of {' and of '.join(units)}"
    pairs: list[Factors] = []
    for subgroup in range(mma.num_subgroups):
        factors = factors_of(mma, subgroup)
        if isinstance(factors, Missing):
            example = _missing(factors)
            return Proof("product", "disproved", words, (), 0.0, example), Tried(
                (), example.message
            )
        pairs.append(factors)
    wrong, tried = _seen_wrong(mma, pairs)
    if wrong is not None:
        return Proof("product", "disproved", words, (), 0.0, wrong), Tried((), wrong.message)
    one = pairs[0]
    if any((p.a != one.a).any() or (p.b != one.b).any() for p in pairs):
        reason = "subgroups pair register elements differently, and multiply them alike"
        return Proof("product", "undecided", words, (), 0.0, reason=reason), tried
    try:
        verdict = prove(multiplication(mma, one), budget=budget)
    except CuteError as error:
        return Proof("product", "undecided", words, (), 0.0, reason=error.condition), tried
    worst = next((p for p in verdict.proofs if not p), verdict.proofs[-1])
    proof = replace(worst, property="product", statement=words, seconds=verdict.seconds)
    if proof.answer != "proved" and not proof.reason:
        reason = f"a proof says that it is not, the machine that it is: {REPORT}"
        proof = replace(proof, answer="undecided", counterexample=None, reason=reason)
    return replace(proof, assumptions=verdict.assumptions), tried


def _seen_wrong(mma: TiledMma, pairs: list[Factors]) -> tuple[Counterexample | None, Tried]:
    """Multiply numbers on the machine; return the first value that is another sum than is said."""
    kernel = multiplication(mma)
    rng = np.random.default_rng(0)
    given = {
        operand.name: rng.integers(0, 3 if operand.value_type.bits > 2 else 2, shape)
        for operand in kernel.inputs
        for shape in [tuple(mode.offset for mode in operand.modes)]
    }
    types = {operand.name: operand.value_type for operand in kernel.inputs}
    out = run(kernel, *given.values(), executor="reference", dtype=types).astype(np.float64)
    registers = {name: x.reshape(mma.num_subgroups, -1) for name, x in given.items()}
    sums = [
        (registers["A"][s][p.a] * registers["B"][s][p.b]).sum(axis=1) for s, p in enumerate(pairs)
    ]
    differ = np.argwhere(out.reshape(mma.num_subgroups, -1) != np.stack(sums))
    ran = Tried((Run(tuple(zip("MNK", mma.tile_mnk, strict=True)), "small integers", 1, 1),))
    if not differ.size:
        return None, ran
    subgroup, slot = differ[0].tolist()
    return _shown(mma, subgroup * SUBGROUP + slot % SUBGROUP, slot // SUBGROUP), ran


def _missing(fault: Missing) -> Counterexample:
    rows = {"A": "m, k", "B": "n, k"}[fault.operand]
    message = (
        f"C{list(fault.wanted)} of subgroup {fault.subgroup} needs {fault.operand} at ({rows}) = "
        f"{fault.element}, which the subgroup does not hold"
    )
    place = Counterexample("product", message, {}, fault.operand, element=fault.element)
    return replace(place, subgroup=fault.subgroup)


def _shown(mma: TiledMma, t: int, v: int) -> Counterexample:
    """Return what is wrong of a value of C."""
    at = tuple(owned_places(mma, "C")[t, v].tolist())
    message = f"value {v} of work-item {t} is said to be C{list(at)}, and its sum has other factors"
    if mma.atom.notes:
        message = f"{message}: {'; '.join(mma.atom.notes)}"
    return _example("product", message, "C", t, v, at)


def _example(
    name: str, message: str, operand: str, t: int, v: int, at: tuple[int, ...] | None
) -> Counterexample:
    subgroup, lane = divmod(t, SUBGROUP)
    place = Counterexample(name, message, {}, operand, subgroup=subgroup, lane=lane, value=v)
    return replace(place, element=at)
