"""`explain` for tensors under the layouts of other projects."""

from __future__ import annotations

from pycute_xe.dialects import Distributed, DotOperand, DpasEncoding
from pycute_xe.errors import CuteError
from pycute_xe.explaining.explanation import AtomExplanation, Script, section

__all__ = ["explain_tensor"]

_RULE = (
    "Each bit of a value's number, of its lane and of its subgroup adds a step in the tensor, "
    "without carries: its basis."
)
_WORDS = {"register": "value", "lane": "lane", "warp": "subgroup"}
_SHOWN = 6


def explain_tensor(tensor: Distributed) -> AtomExplanation:
    """Return who owns what of a tensor, and by which fields of its encoding.

    >>> from pycute_xe.dialects import layout_of
    >>> text = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>"
    >>> told = explain_tensor(layout_of(text, (4, 32)))
    >>> [line for heading, line in told.lines() if heading == "CuTe"]
    ['CuTe      (lane, value, subgroup) → coordinate: (16,(2,4),1):(2@1,(1@1,1@0),0)']
    """
    script = Script()
    section(script, "encoding", [str(tensor.encoding)])
    section(script, "owners", [str(tensor), *_instruction(tensor)])
    section(script, "bases", _bases(tensor))
    section(script, "CuTe", _cute(tensor))
    section(script, "first", _first(tensor))
    section(script, "copies", _copies(tensor))
    title = f"{type(tensor.encoding).__name__} of {'x'.join(map(str, tensor.shape))}"
    return AtomExplanation(title, _RULE, tuple(script.steps), tensor)


def _instruction(tensor: Distributed) -> list[str]:
    encoding = tensor.encoding
    if isinstance(encoding, DotOperand) and isinstance(encoding.parent, DpasEncoding):
        part, dpas = encoding.part, encoding.parent
    elif isinstance(encoding, DpasEncoding):
        part, dpas = "C", encoding
    else:
        return []
    (m, k), (_, n) = dpas.instruction("A"), dpas.instruction("B")
    one, cluster = (f"{r}x{c}" for r, c in (dpas.instruction(part), dpas.tile(part)))
    product = f"D[{m},{n}] = A[{m},{k}] B[{k},{n}] + C"
    return [f"{part} of {product}: {one} in an instruction, {cluster} in a cluster"]


def _bases(tensor: Distributed) -> list[str]:
    try:
        linear = tensor.linear
    except CuteError as error:
        return [f"none: {error.condition}"]
    lines = list[str]()
    for place, word in _WORDS.items():
        steps = ", ".join(str(list(vector)) for vector in linear.basis(place))
        lines.append(f"{word}: {steps or 'one alone'}")
    return lines


def _cute(tensor: Distributed) -> list[str]:
    try:
        ownership = tensor.ownership
    except CuteError:
        return [f"XOR strides: {tensor.linear.as_f2()}"]
    return [f"(lane, value, subgroup) → coordinate: {ownership}"]


def _first(tensor: Distributed) -> list[str]:
    lines = list[str]()
    for lane in dict.fromkeys((0, 1, tensor.lanes - 1)):
        if lane < tensor.lanes:
            count = min(tensor.values, _SHOWN)
            elements = [str(list(tensor.element(0, lane, value))) for value in range(count)]
            more = ", …" if tensor.values > count else ""
            lines.append(f"lane {lane} of subgroup 0: {', '.join(elements)}{more}")
    return lines


def _copies(tensor: Distributed) -> list[str]:
    counts = {len(owners) for owners in tensor.by_element.values()}
    if counts == {1}:
        return ["each element has one owner"]
    lines = [f"each element has {' or '.join(map(str, sorted(counts)))} owners"]
    bits = [
        f"bit {bit} of the {word}"
        for place, word in _WORDS.items()
        for bit in tensor.linear.spare(place)
    ]
    lines.append(f"copies: {', '.join(bits)}")
    return lines + ([f"the tensor is too small: {tensor.cut}"] if tensor.cut else [])
