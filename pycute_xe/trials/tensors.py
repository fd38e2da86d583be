"""`verify` of tensors under the layouts of other projects, element by element."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from pycute_xe.clock import stopwatch
from pycute_xe.comparing.feeding import feeds
from pycute_xe.comparing.tensor_feeding import TensorFeed
from pycute_xe.dialects import Distributed, DotOperand, DpasEncoding, LinearLayout
from pycute_xe.kernel import Counterexample
from pycute_xe.verifying.verdict import Proof, Tried, Verdict

__all__ = ["verify_tensor"]

_NOT_RUN = "each element is looked up; a layout has no instructions to run"


def verify_tensor(tensor: Distributed, wanted: tuple[Any, Any] | None = None) -> Verdict:
    """Prove that each element has an owner and, if asked, that the values feed an MMA.

    >>> from pycute_xe.dialects import layout_of
    >>> text = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    >>> bool(verify_tensor(layout_of(text, (8, 16)), ("XE_DPAS_TT<8,f32,bf16>", "A")))
    True
    """
    elapsed = stopwatch()
    proofs = [_owned(tensor), *_whole(tensor)]
    if wanted is not None:
        proofs.append(_fed(tensor, feeds(tensor, *wanted)))
    shown = next((proof.counterexample for proof in proofs if proof.counterexample), None)
    scope, seconds = "for all elements", elapsed()
    return Verdict(str(tensor), scope, tuple(proofs), shown, seconds, Tried((), _NOT_RUN))


def _owned(tensor: Distributed) -> Proof:
    elapsed = stopwatch()
    missing = prod(tensor.shape) - len(tensor.by_element)
    most = max(map(len, tensor.by_element.values()))
    words = "each element has an owner"
    words += "" if most == 1 else f", up to {most} of them, which own the same"
    example = None
    if missing:
        lost = next(e for e in product(*map(range, tensor.shape)) if e not in tensor.by_element)
        sizes = {f"dim{i}": extent for i, extent in enumerate(tensor.shape)}
        text = f"{list(lost)} has no owner"
        example = Counterexample("owners", text, sizes, operand="tensor", element=lost)
    answer = "disproved" if missing else "proved"
    return Proof("owners", answer, words, (), elapsed(), example)


def _whole(tensor: Distributed) -> list[Proof]:
    """Prove of layouts of DPAS that the tensor has each instruction's operands whole."""
    if not isinstance(tensor.encoding, (DotOperand, DpasEncoding)):
        return []
    elapsed, words = stopwatch(), "the tensor holds the operands of each instruction whole"
    if not tensor.cut:
        return [Proof("instructions", "proved", words, (), elapsed())]
    sizes = {f"dim{i}": extent for i, extent in enumerate(tensor.shape)}
    example = Counterexample("instructions", tensor.cut, sizes, operand="tensor")
    return [Proof("instructions", "disproved", words, (), elapsed(), example)]


def _fed(tensor: Distributed, feed: TensorFeed) -> Proof:
    elapsed = stopwatch()
    words = f"each subgroup's values are {feed.operand} of {feed.mma}, in order"
    if feed.kind == "free":
        return Proof("feeds", "proved", words, (), elapsed())
    sizes = {f"dim{i}": extent for i, extent in enumerate(tensor.shape)}
    example = Counterexample("feeds", feed.reason, sizes, operand=feed.operand)
    if feed.wanted is not None:
        example = _differing(tensor, feed, feed.wanted, sizes)
    return Proof("feeds", "disproved", words, (), elapsed(), example)


def _differing(
    tensor: Distributed, feed: TensorFeed, wanted: LinearLayout, sizes: dict[str, int]
) -> Counterexample:
    """The first place that owns another element than DPAS reads from it."""
    for value, lane in product(range(wanted.size("register")), range(wanted.size("lane"))):
        there = wanted(register=value, lane=lane)
        own = tensor.element(0, lane, value) if value < tensor.values else None
        if own != there:
            text = f"{feed.reason}; value {value} of lane {lane} is {own}, and DPAS reads {there}"
            return Counterexample(
                "feeds",
                text,
                sizes,
                operand=feed.operand,
                lane=lane,
                value=value,
                element=there,
                found=own,
            )
    return Counterexample("feeds", feed.reason, sizes, operand=feed.operand)
