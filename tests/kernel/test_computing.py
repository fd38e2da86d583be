"""The value of specifications, against NumPy written out by hand."""

from __future__ import annotations

from math import exp, inf

import ml_dtypes
import numpy as np
import pytest

from pycute_xe.errors import InputError
from pycute_xe.kernel import Claim, Index, Operand, Specification, apply, rounded_to, total
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.kernel.spec.expression import Const, Element, Expression, Where

M, N, K, J = map(Index, ("m", "n", "k", "j"))
A, B = Element("A", (M, K)), Element("B", (K, N))
PRODUCT = total("k", "K", A * B)


def value(
    expression: Expression,
    given: dict[str, np.ndarray],
    modes: tuple[str, ...] = ("M", "N"),
    **sizes: int,
) -> np.ndarray:
    names = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N"), "bias": ("N",), "alpha": ()}
    names |= {"Q": ("M", "K"), "S": ("J", "K"), "V": ("J", "N"), "rows": ("M",)}
    operands = [Operand(name, "f32", names[name]) for name in given]
    out = Operand("D", "f32", modes, role="out")
    indices = tuple(mode.lower() for mode in modes)
    claim = Specification((Claim("D", indices, expression),))
    return compute(claim, (*operands, out), given, sizes)["D"]


@pytest.fixture
def ab() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {"A": rng.standard_normal((5, 7)), "B": rng.standard_normal((7, 3))}


def test_products_and_what_follows_them(ab: dict[str, np.ndarray]) -> None:
    a, b = ab["A"], ab["B"]
    np.testing.assert_allclose(value(PRODUCT, ab), a @ b, rtol=1e-12)
    bias, c = np.arange(3.0), np.ones((5, 3))
    scaled = Element("alpha") * PRODUCT + 2 * Element("C", (M, N)) + Element("bias", (N,))
    found = value(apply("relu", scaled), {**ab, "alpha": np.asarray(0.5), "C": c, "bias": bias})
    np.testing.assert_allclose(found, np.maximum(0.5 * (a @ b) + 2 + bias, 0), rtol=1e-12)


@pytest.mark.parametrize("body", [Const(2.0), Element("A", (M, K))])
@pytest.mark.parametrize(("how", "nothing"), [("sum", 0.0), ("max", -inf)])
def test_fewer_elements_than_none_are_none(body: Expression, how: str, nothing: float) -> None:
    """Three columns less five, of sums and maxima: of what depends on the column, and does not."""
    short = total("k", Index("K") - 5, body, how=how)
    found = value(short, {"A": np.ones((2, 3))}, ("M",))
    assert found.tolist() == [nothing, nothing]


def test_only_roundings_that_are_named_round(ab: dict[str, np.ndarray]) -> None:
    found = value(rounded_to("bf16", PRODUCT), ab)
    exact = (ab["A"] @ ab["B"]).astype(np.float32).astype(ml_dtypes.bfloat16)
    assert found.dtype == np.float64
    assert np.array_equal(found, exact.astype(np.float64))


def test_integers_are_exact_and_wrap_at_the_accumulator() -> None:
    big = np.full((1, 4), 2**31 - 1, np.int64)
    found = value(total("k", "K", A * B), {"A": big, "B": big.T})
    assert found.dtype == np.int64
    assert int(found[0, 0]) == 4 * (2**31 - 1) ** 2 - 2**64
    kept = total("k", "K", A * B, accumulator="s32")
    given = {"A": np.array([[2**16, 1]]), "B": np.array([[2**15], [5]])}
    assert int(value(kept, given)[0, 0]) == 5 - 2**31
    small = {"A": np.array([[100, 100]], np.int8), "B": np.array([[100], [100]], np.int8)}
    assert int(value(PRODUCT, small)[0, 0]) == 20000
    assert int(value(rounded_to("s8", PRODUCT), small)[0, 0]) == 127


def test_softmax_times_a_matrix() -> None:
    rng = np.random.default_rng(2)
    given = {"Q": rng.standard_normal((4, 6)), "S": rng.standard_normal((5, 6))}
    given |= {"V": rng.standard_normal((5, 3))}

    def score(j: str) -> Expression:
        at = f"k{j}"
        return total(at, "K", Element("Q", (M, Index(at))) * Element("S", (Index(j), Index(at))))

    top = total("i", "J", score("i"), how="max")
    weights = total("j", "J", apply("exp", score("j") - top) * Element("V", (J, N)))
    below = total("h", "J", apply("exp", score("h") - total("g", "J", score("g"), how="max")))
    found = value(weights / below, given)
    scores = given["Q"] @ given["S"].T
    for i, row in enumerate(scores):
        part = [exp(x - max(row)) for x in row]
        wanted = sum(p * v for p, v in zip(part, given["V"], strict=True)) / sum(part)
        np.testing.assert_allclose(found[i], wanted, rtol=1e-12)


def test_a_sum_up_to_an_index_and_a_guarded_element() -> None:
    a = np.arange(12.0).reshape(3, 4)
    triangle = total("k", M + 1, A)
    found = value(triangle, {"A": a}, ("M",))
    assert found.tolist() == [0.0, 4 + 5, 8 + 9 + 10]
    before = Element("A", (M - 1, K))
    shifted = total("k", "K", Where(M, Index(None, 1), Const(0), before))
    assert value(shifted, {"A": a}, ("M",)).tolist() == [0.0, 6.0, 22.0]
    with pytest.raises(InputError, match="is read, there are 3"):
        value(total("k", "K", Element("A", (M + 1, K))), {"A": a}, ("M",))


def test_indices_that_are_looked_up_or_divided() -> None:
    a = np.arange(12.0).reshape(6, 2)
    rows = np.array([5, 0, 3, 3, 1, 2])
    picked = total("k", "K", Element("A", (Index.element("rows", M), K)))
    found = value(picked, {"A": a, "rows": rows}, ("M",))
    assert found.tolist() == a[rows].sum(axis=1).tolist()
    halves = total("k", "K", Element("A", (M // 2, K)))
    assert value(halves, {"A": a}, ("M",)).tolist() == [1.0, 1.0, 5.0, 5.0, 9.0, 9.0]
    repeated = total("k", "K", Element("A", (M, Index(None, 0))))
    assert value(repeated, {"A": a}, ("M",)).tolist() == (2 * a[:, 0]).tolist()


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_sums_and_maxima_of_nothing(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    given = {"A": np.ones((m, k)), "B": np.ones((k, n))}
    assert np.array_equal(value(PRODUCT, given), np.full((m, n), float(k)))
    top = value(total("k", "K", A, how="max"), {"A": given["A"]}, ("M",))
    assert top.tolist() == [1.0 if k else -inf] * m


def test_shapes_are_checked(ab: dict[str, np.ndarray]) -> None:
    with pytest.raises(InputError, match="A has 7 columns, B has 3 rows"):
        value(PRODUCT, {"A": ab["A"], "B": ab["B"].T})
