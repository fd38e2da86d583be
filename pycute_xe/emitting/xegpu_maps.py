"""Floor 9: the scalar functions of epilogues as MLIR's elementwise operations on tiles of f32."""

from __future__ import annotations

from pycute_xe.emitting.xegpu_tiles import unsaid
from pycute_xe.emitting.xegpu_values import Values
from pycute_xe.kernel import Element, Expression, Slot
from pycute_xe.kernel.spec.expression import Apply, Const
from pycute_xe.numeric import Numeric

__all__ = ["computed", "widened"]

UNARY = {
    **{name: name for name in ("exp", "exp2", "log", "sqrt", "rsqrt", "tanh")},
    "abs": "absf",
}
BINARY = {"add": "addf", "mul": "mulf", "div": "divf", "max": "maximumf", "min": "minimumf"}
_DEALT = "{layout_result_0 = #c}"


def computed(out: Values, value: Expression, held: dict[str, str], vector: str) -> str:
    """Compute a tile element by element; ``held`` are fragments by name."""
    match value:
        case Slot(name):
            return held[name]
        case Const(number):
            return out.filled(number, vector, "f32", "#c")
        case Element(operand, ()):
            one = widened(out, f"%{operand}", out.kernel.operand(operand).value_type)
            return out.made(f"vector.broadcast {one} {_DEALT} : f32 to {vector}", "all")
        case Apply("relu", (inner,)):
            return computed(out, Apply("max", (inner, Const(0.0))), held, vector)
        case Apply(name, (inner,)) if name in UNARY:
            read = computed(out, inner, held, vector)
            return out.made(f"math.{UNARY[name]} {read} {_DEALT} : {vector}")
        case Apply(name, (one, other)) if name in BINARY:
            values = ", ".join(computed(out, x, held, vector) for x in (one, other))
            return out.made(f"arith.{BINARY[name]} {values} {_DEALT} : {vector}")
        case _:
            raise unsaid(value, f"{value} has no operation here", "compute it on the host")


def widened(out: Values, value: str, numeric: Numeric, vector: str = "") -> str:
    """Return a float as f32: one number, or a tile whose type in f32 is ``vector``."""
    if numeric.name == "f32":
        return value
    if numeric.kind != "float":
        raise unsaid(numeric, "maps are said of floats", "convert first")
    kind, told = out.type_of(numeric), f" {_DEALT}" if vector else ""
    before, after = (vector.replace("xf32>", f"x{kind}>"), vector) if vector else (kind, "f32")
    return out.made(f"arith.extf {value}{told} : {before} to {after}", "wide")
