"""TACO: the program `taco` prints a kernel, the C compiler translates it with the flags of TACO,
and calls are timed here.

The program can also measure kernels (`-time`), but then it cannot compile the kernels that it
prints.
"""

import ctypes
import os
import re
import subprocess
import tempfile

import numpy as np

THREADS = 1

# Expression, format of the result (d for dense, s for compressed, one letter per mode), and formats
# of inputs that are not stored row-major. The formats are those of the papers of TACO: CSR, CSC
# where columns are read, and CSF.
EXPRESSIONS = {
    "spmv": ("y(i)=A(i,j)*x(j)", "d"),
    "spmm": ("Y(i,r)=A(i,j)*X(j,r)", "dd"),
    "spgemm": ("C(i,j)=A(i,k)*B(k,j)", "ds"),
    "residual": ("r(i)=b(i)-A(i,j)*x(j)", "d"),
    "mattransmul": ("y(j)=2*A(i,j)*x(i)+3*z(j)", "d", {"A": "ds:1,0"}),
    "addition": ("C(i,j)=A(i,j)+B(i,j)", "ds"),
    "plus3": ("D(i,j)=A(i,j)+B(i,j)+C(i,j)", "ds"),
    "fused": ("D(i,j)=(A(i,j)+B(i,j))*C(i,j)", "ds"),
    "sddmm": ("C(i,j)=S(i,j)*A(i,k)*B(j,k)", "ds"),
    "mttkrp": ("M(i,r)=X(i,j,k)*B(j,r)*C(k,r)", "dd"),
    "ttv": ("Y(i,j)=X(i,j,k)*x(k)", "ss"),
    "ttm": ("Y(i,j,r)=X(i,j,k)*B(k,r)", "ssd"),
    "tensor_plus": ("Z(i,j,k)=X(i,j,k)+Y(i,j,k)", "sss"),
    "innerprod": ("s=X(i,j,k)*Y(i,j,k)", ""),
}

# The fused kernels of these workloads are wrong: each entry clears the row of the result. Separate
# kernels for assembly and for computation are right.
SEPARATE = {"ttm"}

# The flags with which TACO compiles its kernels.
FLAGS = ["-O3", "-ffast-math", "-std=c99", "-shared", "-fPIC", "-w"]

# The interface of kernels, and the functions that they call.
PRELUDE = """
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#define TACO_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TACO_MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct {
  int32_t order, *dimensions, csize, *mode_ordering, *mode_types;
  uint8_t ***indices, *vals, *fill_value;
  int32_t vals_size;
} taco_tensor_t;
int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
"""


class Tensor(ctypes.Structure):
    """The type `taco_tensor_t`."""

    _fields_ = [
        ("order", ctypes.c_int32),
        ("dimensions", ctypes.POINTER(ctypes.c_int32)),
        ("csize", ctypes.c_int32),
        ("mode_ordering", ctypes.POINTER(ctypes.c_int32)),
        ("mode_types", ctypes.POINTER(ctypes.c_int32)),
        ("indices", ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))),
        ("vals", ctypes.c_void_p),
        ("fill_value", ctypes.c_void_p),
        ("vals_size", ctypes.c_int32),
    ]


def version():
    text = subprocess.run(["taco", "--version"], capture_output=True, text=True).stdout
    return "TACO " + (re.search(r"[0-9]+(\.[0-9]+)+", text) or ["(unknown version)"])[0]


def set_threads(threads):
    global THREADS
    THREADS = threads


class Levels:
    """The storage of a tensor: `indices` has the arrays `pos` and `crd` of each compressed level,
    and `None` for a dense level."""

    def __init__(self, shape, text):
        kinds, _, order = text.partition(":")
        self.shape, self.kinds = tuple(shape), kinds
        self.order = [int(mode) for mode in order.split(",")] if order else list(range(len(shape)))
        self.indices, self.values = [None] * len(kinds), None

    def store(self, tensor):
        """Stores an input."""
        if tensor.dense:
            self.values = np.ascontiguousarray(tensor.array, np.float64).reshape(-1)
            return self
        coords = [np.asarray(tensor.coords[mode], np.int64) for mode in self.order]
        sorting = np.lexsort(coords[::-1])
        coords = [column[sorting] for column in coords]
        positions, count = np.zeros(len(sorting), np.int64), 1
        for level, kind in enumerate(self.kinds):
            size = self.shape[self.order[level]]
            keys = positions * size + coords[level]
            if kind == "d":
                positions, count = keys, count * size
                continue
            first = np.ones(len(keys), bool)
            first[1:] = keys[1:] != keys[:-1]
            ends = np.cumsum(np.bincount(keys[first] // size, minlength=count))
            pos = np.concatenate([[0], ends]).astype(np.int32)
            self.indices[level] = (pos, (keys[first] % size).astype(np.int32))
            positions, count = np.cumsum(first) - 1, int(ends[-1])
        self.values = np.zeros(count)
        self.values[positions] = tensor.values[sorting]
        return self

    def read(self, tensor):
        """Copies the arrays of a result."""
        def copy(pointer, count, kind):
            buffer = (kind * count).from_address(pointer) if count else (kind * 0)()
            return np.array(buffer)

        count = 1
        for level, kind in enumerate(self.kinds):
            if kind == "d":
                count *= self.shape[self.order[level]]
                continue
            pos, crd = tensor.indices[level][0], tensor.indices[level][1]
            pos = copy(pos, count + 1, ctypes.c_int32)
            count = int(pos[-1])
            self.indices[level] = (pos, copy(crd, count, ctypes.c_int32))
        self.values = copy(tensor.vals, count, ctypes.c_double)
        return self

    def entries(self):
        """Returns the coordinates, with one row per mode, and the values."""
        from sums import Entries

        coords, count = [None] * len(self.kinds), 1
        for level, kind in enumerate(self.kinds):
            size = self.shape[self.order[level]]
            pos, crd = self.indices[level] or (np.arange(count + 1) * size, np.tile(np.arange(size), count))
            counts = np.diff(pos)
            coords = [column if column is None else np.repeat(column, counts) for column in coords]
            coords[self.order[level]] = crd
            count = len(crd)
        return Entries(np.array(coords, np.int64), self.values, self.shape)


def describe(levels):
    """Returns a tensor of the C interface, and the objects that the tensor points to."""
    rank = len(levels.kinds)
    integers = lambda values: (ctypes.c_int32 * max(rank, 1))(*values)
    dimensions, ordering = integers(levels.shape), integers(levels.order)
    types = integers(0 if kind == "d" else 1 for kind in levels.kinds)
    arrays = [(ctypes.c_void_p * 2)(*(array.ctypes.data for array in level or ())) for level in levels.indices]
    indices = (ctypes.POINTER(ctypes.c_void_p) * max(rank, 1))(*(ctypes.cast(a, ctypes.POINTER(ctypes.c_void_p)) for a in arrays))
    values = None if levels.values is None else levels.values.ctypes.data
    tensor = Tensor(rank, dimensions, 8, ordering, types, indices, values, None, 0)
    return tensor, (levels, dimensions, ordering, types, arrays, indices)


def print_kernels(name, expression, formats):
    """Returns the text of the kernels, and the names of their parameters, the result first."""
    kernels = ["-print-assembly", "-print-compute"] if name in SEPARATE else ["-print-evaluate"]
    arguments = [f"-f={tensor}:{text}" for tensor, text in formats.items() if text]
    process = subprocess.run(["taco", expression, *arguments, "-print-nocolor", *kernels], capture_output=True, text=True)
    signature = re.search(r"int \w+\(([^)]*)\)", process.stdout)
    if process.returncode != 0 or signature is None:
        raise RuntimeError((process.stderr or process.stdout).strip()[-300:])
    return process.stdout, re.findall(r"\*(\w+)", signature[1])


def driver(name, count, kinds):
    """Returns the text of the function `call`, which frees the previous result and computes a new
    one."""
    releases = ["free(result->vals);"]
    for level in (level for level, kind in enumerate(kinds) if kind == "s"):
        releases += [f"free(result->indices[{level}][0]);", f"free(result->indices[{level}][1]);"]
    parameters = ", ".join(f"tensors[{k}]" for k in range(count))
    functions = ["assemble", "compute"] if name in SEPARATE else ["evaluate"]
    calls = [f"{function}({parameters});" for function in functions]
    return "void call(taco_tensor_t **tensors) {\n  taco_tensor_t *result = tensors[0];\n  " + "\n  ".join(releases + calls) + "\n}\n"


class TacoRun:
    """A compiled kernel with its tensors; a call computes the result."""

    def __init__(self, name, inputs):
        expression, output, *stored = EXPRESSIONS[name]
        stored = stored[0] if stored else {}
        left = re.match(r"\w+", expression)[0]
        formats = {tensor.name: stored.get(tensor.name, default_format(tensor)) for tensor in inputs.values()}
        kernels, names = print_kernels(name, expression, {**formats, left: output})
        self.result = Levels(result_shape(expression, inputs), output)
        self.tensors = []
        for tensor in names:
            levels = self.result if tensor == left else Levels(inputs[tensor].shape, formats[tensor]).store(inputs[tensor])
            self.tensors.append(describe(levels))
        self.call = compile_library(PRELUDE + kernels + driver(name, len(names), output)).call
        self.call.restype = None
        self.pointers = (ctypes.POINTER(Tensor) * len(names))(*(ctypes.pointer(tensor) for tensor, _ in self.tensors))

    def __call__(self):
        self.call(self.pointers)
        return self

    def entries(self):
        return self.result.read(self.tensors[0][0]).entries()


def compile_library(text):
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "kernel.c"), os.path.join(folder, "kernel.so")
        with open(source, "w") as file:
            file.write(text)
        threads = ["-fopenmp"] if THREADS > 1 else []
        command = [os.environ.get("TACO_CC", "cc"), *FLAGS, *threads, "-o", library, source, "-lm"]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode != 0:
            raise RuntimeError(process.stderr.strip()[:300])
        return ctypes.CDLL(library)


def default_format(tensor):
    rank = len(tensor.shape)
    return "d" * rank if tensor.dense else ("ds" if rank == 2 else "s" * rank)


def result_shape(expression, inputs):
    left, right = expression.split("=")
    sizes = {}
    for name, indices in re.findall(r"(\w+)\(([^)]*)\)", right):
        sizes.update(zip(indices.split(","), inputs[name].shape))
    indices = re.search(r"\(([^)]*)\)", left)
    return tuple(sizes[i] for i in indices[1].split(",")) if indices else ()


def operation(name):
    return lambda inputs, _: TacoRun(name, inputs)


OPERATIONS = {name: operation(name) for name in EXPRESSIONS}
