"""Programs in Notation text."""

import pytest

import redpoll as rp

DOUBLE = "(program (input A (shape n)) (input k f64 2.0) (output y (shape n) f64 0.0) (for i (= (y i) (* k (A i)))))"


def test_inputs_are_keywords():
    program = rp.Program(DOUBLE)
    assert program.inputs == ("A", "k")
    assert program(A=[1.0, 2.0])["y"].tolist() == [2.0, 4.0]
    assert program(A=rp.asarray([1.0, 2.0]) + 1, k=3.0)["y"].tolist() == [6.0, 9.0]


def test_programs_without_arrays():
    program = rp.Program("(program (input k i64 2) (output y i64) (+= y (* k 3)))")
    assert program()["y"].item() == 6


def test_errors_of_programs():
    with pytest.raises(ValueError, match="line 2, column 24"):
        rp.Program("(program\n  (input A (shape 0 1) f99))")
    program = rp.Program(DOUBLE)
    with pytest.raises(TypeError, match="no input `B`"):
        program(B=[1.0])
    with pytest.raises(TypeError, match="needs the input `A`"):
        program()
    with pytest.raises(ValueError, match="modes"):
        program(A=[[1.0]])
    unknown = rp.Program("(program (input A (shape n)) (output y f64)\n  (for i (+= y (B i))))")
    with pytest.raises(ValueError, match="line 2"):
        unknown(A=[1.0])
