"""User-defined functions as operators: tracing, properties, reductions and semirings."""

import math

import numpy as np
import pytest
from conftest import same
from hypothesis import given
from hypothesis import strategies as st

import redpoll as rp
from redpoll import FunctionError

VALUES = np.array([-3.5, -1.0, -0.25, 0.0, 0.5, 1.0, 2.75, 9.0])


def huber(x, d):
    """Return the Huber loss. This function has an early return."""
    if abs(x) <= d:
        return 0.5 * x * x
    return d * (abs(x) - 0.5 * d)


def soft(x, t):
    return np.maximum(abs(x) - t, 0.0) * np.sign(x)


def buckets(x, y):
    level = 0.0
    if x > 2 and y > 0:
        level = 3.0
    elif x > 0 or not y < 0:
        level = x * y
    else:
        level -= 1
    return level + 1


def collatz(n, limit):
    steps = 0
    while n > 1 and steps < limit:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def newton(x, y):
    root = x * x + 1.0
    for _ in range(6):
        root = 0.5 * (root + (abs(y) + 1.0) / root)
    return root


def chained(x, y):
    low, high = min(x, y), max(x, y)
    return (low, high)[1] if -1 <= x < y <= 3 else low - math.floor(high)


def helper(x):
    return x * x + 1


def nested(x, y):
    return helper(x) * helper(x) + helper(y)


def loop_in_branch(x, y):
    result = x
    if x > 0:
        count = 0.0
        while result < 100.0:
            result = result * 2 + abs(y) + 1.0
            count += 1
        result = result + count
    return result


def mathematical(x, y):
    return math.sqrt(abs(x)) + np.exp(-y) + rp.hypot(x, y) + math.copysign(1.0, y) + np.logaddexp(x, y)


FUNCTIONS = [huber, soft, buckets, newton, chained, nested, loop_in_branch]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_compute_what_python_computes(function):
    x, y = np.repeat(VALUES, len(VALUES)), np.tile(VALUES, len(VALUES))
    operator = rp.op(function)
    expected = [float(function(float(a), float(b))) for a, b in zip(x, y, strict=True)]
    same(operator(rp.asarray(x), rp.asarray(y)), expected, exact=False)
    # An operator also accepts numbers of Python.
    assert operator(1.5, 2.0) == function(1.5, 2.0)


def test_functions_of_math_and_numpy():
    expected = np.sqrt(np.abs(VALUES)) + np.exp(-0.5) + np.hypot(VALUES, 0.5) + 1.0 + np.logaddexp(VALUES, 0.5)
    same(rp.map(mathematical, VALUES, 0.5), expected, exact=False)


def test_map_takes_names_ufuncs_and_numbers():
    x = np.array([1.0, 4.0], dtype="float32")
    for function in ("+", np.add, rp.add, lambda a, b: a + b, rp.op(lambda a, b: a + b)):
        same(rp.map(function, x, 0.5), x + np.float32(0.5))
    assert rp.map(lambda a: a + 1, 2).item() == 3


def pairs(x):
    total, i = 0.0, 0
    while i < x:
        j = 0
        while j < i:
            total += i * j
            j += 1
        i += 1
    return total


def test_loops_within_loops():
    text = rp.op(pairs).text("int64")
    assert text.count("(lit f64 0.0)") == 1, "counters are integers"
    same(rp.op(pairs)(rp.asarray([3, 5, 0])), [pairs(3), pairs(5), pairs(0)])
    assert "f64" not in rp.op(sums).text("float32"), "a float takes the dtype of the other floats"
    # The fill value of the result would be `sums(0)`, whose loop does not end.
    with pytest.raises(TypeError, match="did not end"):
        rp.op(sums)(rp.zeros(3))


def sums(x):
    total = 0.0
    while total < 10:
        total = total + x
    return total


def test_functions_of_numpy_and_of_python():
    x = rp.asarray([1.5, -2.5])
    assert rp.map(lambda x: np.where(x > 0, x, 0), x).tolist() == [1.5, 0.0]
    assert rp.map(lambda x: np.fmax(x, 1), x).tolist() == [1.5, 1.0]
    assert rp.map(lambda x: divmod(x, 2)[1], x).tolist() == [1.5, 1.5]
    assert rp.map(lambda x: sum([x, max(x, 1), round(x)]), x).tolist() == [5.0, -3.5]
    with pytest.raises(FunctionError, match="digits"):
        rp.map(lambda x: round(x, 1), x)


def test_loops_with_several_variables():
    n = np.arange(1, 40)
    expected = np.array([collatz(int(k), 500) for k in n])
    same(rp.op(collatz)(rp.asarray(n), 500), expected)


def test_a_struct_of_variables_that_are_used_after_the_loop():
    def both(n, m):
        a, b, rounds = n, m, 0
        while b != 0:
            a, b = b, a % b
            rounds += 1
        return 100 * a + rounds

    n, m = np.array([12, 7, 100]), np.array([18, 21, 75])
    same(rp.op(both)(rp.asarray(n), rp.asarray(m)), [both(int(a), int(b)) for a, b in zip(n, m, strict=True)])


def test_shared_values_are_bound_once():
    text = rp.op(nested).text("float64", "float64")
    assert text.count("(* x x)") == 1 and "let" in text
    # A loop stays in its branch, so it does not run for values that take the other branch.
    assert rp.op(loop_in_branch).text("float64", "float64").index("if") < rp.op(loop_in_branch).text(
        "float64", "float64"
    ).index("while")


def test_dtypes_follow_the_arguments():
    double = rp.op(lambda x: 2 * x)
    assert [double(rp.asarray(VALUES.astype(t))).dtype.name for t in ("int8", "float32", "uint64")] == [
        "int8", "float32", "uint64",
    ]  # fmt: skip
    half = rp.op(lambda x: x * 0.5)
    assert [half(rp.asarray(VALUES.astype(t))).dtype.name for t in ("int8", "float32")] == ["float64", "float32"]
    assert rp.op(lambda x: x > 1)(rp.asarray([0, 2])).tolist() == [False, True]
    assert rp.op(huber)(rp.asarray(VALUES.astype("float32")), 1.5).dtype is rp.float32


def test_sparse_operands_keep_their_fill_value(rng):
    a = rp.random((50, 50), density=0.1, distribution="normal", seed=2)
    shrunk = rp.op(soft)(a, 0.5)
    assert shrunk.fill_value == 0.0
    x = np.asarray(a)
    same(shrunk, np.maximum(abs(x) - 0.5, 0.0) * np.sign(x), exact=False)
    assert shrunk.compute_tensor().stored <= a.compute_tensor().stored


def test_numbers_are_part_of_the_fill_value():
    shifted = rp.op(lambda x, c: x + c)(rp.eye(50), 3.0)
    assert shifted.fill_value == 3.0
    assert shifted.compute_tensor().stored == 50


def test_constants_are_parameters_after_the_star():
    @rp.op
    def power(x, *, exponent=2, name="plain"):
        result = x if name == "plain" else -x
        for _ in range(exponent - 1):
            result = result * x
        return result

    x = rp.asarray([2.0, 3.0])
    assert power(x).tolist() == [4.0, 9.0]
    assert power(x, exponent=3).tolist() == [8.0, 27.0]
    assert power(x, exponent=1, name="other").tolist() == [-2.0, -3.0]
    with pytest.raises(FunctionError, match="hashable"):
        power(x, name=["plain"])


def test_two_functions_of_one_name_in_one_plan():
    def made(constant):
        return rp.op(lambda x: x + constant)

    x = rp.asarray([1.0, 2.0])
    assert (made(1.0)(x) * made(2.0)(x)).tolist() == [6.0, 12.0]


def test_operators_call_operators():
    inner = rp.op(huber)
    outer = rp.op(lambda x: inner(x, 1.0) + 1.0)
    same(outer(rp.asarray(VALUES)), [huber(v, 1.0) + 1.0 for v in VALUES], exact=False)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=20))
def test_reductions(values):
    larger = rp.op(commutative=True, associative=True, idempotent=True)(lambda x, y: x if x > y else y)
    assert rp.reduce(np.array(values), larger, initial=-1000).item() == max(values)
    gcd = rp.op(commutative=True, associative=True, identity=0)(python_gcd)
    assert rp.reduce(np.array(values), gcd).item() == math.gcd(*values)


def python_gcd(x, y):
    a, b = abs(x), abs(y)
    while b != 0:
        a, b = b, a % b
    return a


def test_folds_without_laws_keep_the_order():
    assert rp.reduce(rp.asarray([1, 2, 3]), lambda x, y: 10 * x + y, initial=0).item() == 123
    rows = rp.reduce(rp.asarray([[1, 2], [3, 4]]), lambda x, y: 10 * x + y, axis=1, initial=0)
    assert rows.tolist() == [12, 34]
    assert rp.reduce(rp.asarray([3, 1, 2]), "min").item() == 1
    assert rp.reduce(rp.asarray([3, 1, 2]), np.maximum).item() == 3
    with pytest.raises(ValueError, match="no declared identity"):
        rp.reduce(rp.asarray([1]), lambda x, y: x + y)


def test_scans():
    capped = rp.op(associative=True, identity=0)(lambda x, y: min(x + y, 5))
    assert rp.scan(rp.asarray([1, 2, 3, 4]), capped).tolist() == [1, 3, 5, 5]
    assert rp.scan(rp.asarray([1, 3, 2]), "max", axis=0).tolist() == [1, 3, 3]


def test_semirings_of_functions(rng):
    a, b = rng.random((5, 4)), rng.random((4, 6))
    smaller = rp.op(commutative=True, associative=True, idempotent=True, identity=math.inf)(
        lambda x, y: x if x < y else y
    )
    expected = (a[:, :, None] + b[None]).min(axis=1)
    same(rp.einsum("ij,jk->ik", a, b, sum=smaller, product=lambda x, y: x + y), expected, exact=False)
    same(rp.einsum("ij,jk->ik", a, b, sum=np.minimum, product=rp.add), expected, exact=False)


@pytest.mark.parametrize(
    "spec", ["...ij,...jk->...ik", "...j,jk", "i...->...", "ij...,j...->...i", "...,...->...", "ij,jk->ik", "ii->i"]
)
def test_ellipses(spec, rng):
    count = spec.split("->")[0].count(",") + 1
    shapes = {"i...->...": [(2, 3, 4)], "...j,jk": [(5, 2, 3), (3, 4)], "ij...,j...->...i": [(2, 3, 4), (3, 1)],
              "...,...->...": [(2, 3), (3,)], "ij,jk->ik": [(2, 3), (3, 4)], "ii->i": [(3, 3)]}.get(
        spec, [(5, 1, 2, 3), (4, 3, 2)])  # fmt: skip
    arrays = [rng.random(shape) for shape in shapes[:count]]
    same(rp.einsum(spec, *arrays), np.einsum(spec, *arrays), exact=False)


def test_named_modes(rng):
    a, b = rng.random((2, 3)), rng.random((3, 4))
    same(rp.einsum("user film, film tag -> tag user", a, b), np.einsum("ij,jk->ki", a, b), exact=False)
    same(rp.einsum("... film, film tag -> ... tag", a, b), a @ b, exact=False)


def test_lambdas_on_one_line():
    pair = (lambda x: x + 1, lambda x: x * 3 if x > 0 else x, lambda x: x - 1)
    x = rp.asarray([2.0])
    assert [rp.map(function, x).item() for function in pair] == [3.0, 6.0, 1.0]


def test_special_cases_and_iteration_spaces():
    @rp.op(
        iteration="x & ~y",
        cases={"all": lambda x, y: 0.0},
    )
    def without(x, y):
        return x

    x, y = rp.asarray([1.0, 2.0, 0.0]), rp.asarray([0.0, 5.0, 0.0])
    assert "(iteration (intersection x (complement y)))" in without.text("float64", "float64")
    assert without(x, y).shape == (3,)
    scaled = rp.op(special={"y": (0.0, lambda x: x)}, annihilator={"x": 0.0}, distributes_over=["+", np.maximum])(
        lambda x, y: x * (1.0 + y)
    )
    assert "(special (y (lit f64 0.0)) x)" in scaled.text("float64", "float64")
    assert "(distributes-over + max)" in scaled.text("float64", "float64")
    assert scaled(x, y).tolist() == [1.0, 12.0, 0.0]


def breaks(x):
    while x > 0:
        break
    return x


def endless(x):
    y = x
    while True:
        y = y + 1
    return y


def unbound(x):
    if x > 0:
        y = x
    return y


def silent(x):
    if x > 0:
        return x


def imports(x):
    import math as m

    return m.sqrt(x)


def deep(x):
    return deep(x - 1) if x > 0 else x


def textual(x):
    return "a" if x > 0 else "b"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (breaks, "`break`"), (endless, "does not end"), (unbound, "`y` has no value"), (silent, "without `return`"),
        (imports, "`Import`"), (deep, "calls within each other"), (textual, "found str"),
    ],
)  # fmt: skip
def test_errors_have_the_line_of_the_function(function, message):
    with pytest.raises(FunctionError, match=message) as error:
        rp.map(function, rp.asarray([1.0]))
    first = function.__code__.co_firstlineno
    line = int(str(error.value).split(f"{__file__}:")[1].split(":")[0])
    assert first <= line <= first + 5


def test_properties_that_do_not_fit():
    with pytest.raises(FunctionError, match="no parameter `z`"):
        rp.op(identity={"z": 0})(lambda x, y: x + y)(rp.asarray([1]), 2)
    with pytest.raises(FunctionError, match="set"):
        rp.op(iteration="x +")(lambda x, y: x + y)(rp.asarray([1]), 2)
    with pytest.raises(FunctionError, match="`distributes_over` expects operators"):
        rp.op(distributes_over=textual)(lambda x, y: x + y)(rp.asarray([1]), 2)
    with pytest.raises(FunctionError, match=r"a value for each parameter \(x, y\), found 1"):
        rp.op(iteration="x", fills=[0])(lambda x, y: x + y)(rp.asarray([1]), 2)
    with pytest.raises(TypeError):
        rp.op(comutative=True)
