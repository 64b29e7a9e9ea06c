"""TACO's command line: reads files, compiles a kernel, and measures its time."""

import os
import re
import subprocess
import tempfile

import numpy as np

from inputs import Unsupported

# Expression and format of the result: d for dense, s for compressed, one letter per mode.
EXPRESSIONS = {
    "spmv": ("y(i)=A(i,j)*x(j)", "y:d"),
    "spmm": ("Y(i,r)=A(i,j)*X(j,r)", "Y:dd"),
    "spgemm": ("C(i,j)=A(i,k)*B(k,j)", "C:ds"),
    "residual": ("y(i)=b(i)-A(i,j)*x(j)", "y:d"),
    "mattransmul": ("y(j)=2*A(i,j)*x(i)+3*z(j)", "y:d"),
    "addition": ("C(i,j)=A(i,j)+B(i,j)", "C:ds"),
    "plus3": ("D(i,j)=A(i,j)+B(i,j)+C(i,j)", "D:ds"),
    "fused": ("D(i,j)=(A(i,j)+B(i,j))*C(i,j)", "D:ds"),
    "sddmm": ("C(i,j)=S(i,j)*A(i,k)*B(j,k)", "C:ds"),
    "mttkrp": ("M(i,r)=X(i,j,k)*B(j,r)*C(k,r)", "M:dd"),
    "ttv": ("Y(i,j)=X(i,j,k)*x(k)", "Y:ss"),
    "ttm": ("Y(i,j,r)=X(i,j,k)*B(k,r)", "Y:ssd"),
    "tensor_plus": ("Z(i,j,k)=X(i,j,k)+Y(i,j,k)", "Z:sss"),
    "innerprod": ("s=X(i,j,k)*Y(i,j,k)", "s:"),
}


def version():
    text = subprocess.run(["taco", "--version"], capture_output=True, text=True).stdout
    return "TACO " + (re.search(r"[0-9]+(\.[0-9]+)+", text) or ["(unknown version)"])[0]


def write_input(tensor, folder):
    """Writes an input as a FROSTT file. The last coordinate is always written, even for a zero, because it determines the shape."""
    if tensor.dense:
        coords, values = np.indices(tensor.shape).reshape(len(tensor.shape), -1), tensor.array.reshape(-1)
    else:
        coords, values = tensor.coords, tensor.values
    last = np.array(tensor.shape) - 1
    if not tensor.dense and not (len(values) and (coords[:, -1] == last).all()):
        coords, values = np.column_stack([coords, last]), np.append(values, 0)
    path = os.path.join(folder, tensor.name + ".tns")
    np.savetxt(path, np.column_stack([coords.T + 1, values]), fmt=["%d"] * len(tensor.shape) + ["%.17g"])
    return path


def formats(tensor):
    rank = len(tensor.shape)
    return "d" * rank if tensor.dense else ("ds" if rank == 2 else "s" * rank)


class TacoRun:
    """A task of TACO. TACO measures the time itself, because each call also reads and compiles."""

    def __init__(self, inputs, expression, output):
        self.folder = tempfile.TemporaryDirectory()
        self.output = output.split(":")[0]
        self.shape = result_shape(expression, inputs)
        self.command = ["taco", expression, f"-f={output}"] if output[-1] != ":" else ["taco", expression]
        for tensor in inputs.values():
            self.command += [f"-f={tensor.name}:{formats(tensor)}", f"-i={tensor.name}:{write_input(tensor, self.folder.name)}"]
        self.command += [f"-o={self.output}:{self.result_path()}", "-time=1"]

    def result_path(self):
        return os.path.join(self.folder.name, "result.tns")

    def __call__(self):
        process = subprocess.run(self.command, capture_output=True, text=True)
        if process.returncode != 0:
            raise RuntimeError((process.stderr or process.stdout).strip()[-300:])
        # "Assemble:" and "Compute:" are in milliseconds.
        times = re.findall(r"(?:Assemble|Compute):\s*([0-9.eE+-]+)", process.stdout)
        if not times:
            raise Unsupported("TACO printed no times")
        self.seconds = sum(map(float, times)) / 1e3
        return self

    def entries(self):
        from sums import Entries

        table = np.loadtxt(self.result_path(), ndmin=2)
        rank = len(self.shape)
        return Entries(table[:, :rank].T.astype(np.int64) - 1, table[:, rank], self.shape)


def result_shape(expression, inputs):
    left, right = expression.split("=")
    sizes = {}
    for name, indices in re.findall(r"(\w+)\(([^)]*)\)", right):
        sizes.update(zip(indices.split(","), inputs[name].shape))
    indices = re.search(r"\(([^)]*)\)", left)
    return tuple(sizes[i] for i in indices[1].split(",")) if indices else ()


def operation(expression, output):
    return lambda inputs, _: TacoRun(inputs, expression, output)


OPERATIONS = {name: operation(*row) for name, row in EXPRESSIONS.items()}
