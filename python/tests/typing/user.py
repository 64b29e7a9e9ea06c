"""Typical code of users, which a type checker must accept; see `test_stubs.py`."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import redpoll as rp


def similarity(a: rp.Array, k: int) -> tuple[rp.Array, rp.Array]:
    unit = a / rp.sqrt(rp.sum(rp.square(a), axis=1, keepdims=True))
    values, neighbours = rp.top_k(unit @ unit.T - rp.eye(a.shape[0]), k)
    return values, neighbours


def triangles(edges: rp.Array) -> int:
    corners = edges.at("i", "j") * edges.at("j", "k") * edges.at("i", "k")
    return int(rp.sum(corners)) // 6


def shortest(distances: rp.Array) -> rp.Array:
    return rp.einsum("ij,jk->ik", distances, distances, sum="min", product="+")


a = rp.asarray([[1.0, 0.0], [0.5, 2.0]], dtype=rp.float32)
b = rp.where(a > 0.5, rp.maximum(a, 1.0), -a)
assert_type(b, rp.Array)
assert_type(a + 1, rp.Array)
assert_type(2.0 * a, rp.Array)
assert_type(a == b, rp.Array)
assert_type(a[0, 1:], rp.Array)
assert_type(rp.tanh(a), rp.Array)
assert_type(rp.sum(a, axis=(0, 1)), rp.Array)
assert_type(a.mean(axis=0), rp.Array)
assert_type(rp.unique_counts(a).counts, rp.Array)
assert_type(a.dtype, rp.DType)
assert_type(rp.isdtype(a.dtype, "real floating"), bool)
assert_type(a.shape, tuple[int, ...])
assert_type(rp.linalg.solve(a, b), rp.Array)
assert_type(rp.linalg.svd(a, full_matrices=False).S, rp.Array)
assert_type(rp.linalg.cg(a, b, M=rp.linalg.jacobi(a), callback=np.sum), tuple[rp.Array, int])
assert_type(rp.linalg.cg(rp.linalg.LinearOperator((2, 2), lambda x: x), b), tuple[rp.Array, int])
assert_type(rp.linalg.eigsh(a, k=1), tuple[rp.Array, rp.Array])
assert_type(rp.linalg.eigsh(a, k=1, return_eigenvectors=False), rp.Array)
assert_type(float(rp.sum(a)), float)
assert_type([row.tolist() for row in a][0] is None, bool)
total, largest = rp.compute(rp.sum(a), rp.max(a))
assert_type(total, rp.Array)
text: str = a.explain().sections[0].text
seconds: float = a.profile().seconds
a.visualize().save("plan.svg")
dense = np.asarray(a) + a.todense()
with rp.use_session(rp.Session(floats="strict", threads=1)) as session:
    assert_type(session, rp.Session)
