"""Conversion from and to PyData/Sparse, GraphBLAS, DLPack, networkx and files; shared memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import DTYPES, same

import redpoll as rp


@pytest.mark.parametrize("shape", [(4,), (4, 5), (3, 4, 2), (0, 3)])
@pytest.mark.parametrize("fill", [0.0, 2.5])
@pytest.mark.parametrize("format", ["coo", "gcxs", "dok"])
def test_sparse_arrays_keep_their_fills(shape, fill, format):
    sparse = pytest.importorskip("sparse", reason="sparse is not installed")
    source = sparse.random(shape, density=0.3, random_state=1, fill_value=fill)
    array = rp.asarray(source.asformat(format))
    same(array, source.todense())
    assert array.fill_value == fill and type(array) is rp.Array
    for target, cls in (("coo", sparse.COO), ("gcxs", sparse.GCXS)):
        back = array.to_sparse(target)
        assert isinstance(back, cls) and back.fill_value == fill and back.dtype == source.dtype
        np.testing.assert_array_equal(back.todense(), source.todense())


def test_sparse_arrays_beside_arrays():
    sparse = pytest.importorskip("sparse", reason="sparse is not installed")
    source = sparse.COO([[0, 1], [1, 0]], [2.0, 3.0], shape=(2, 2))
    x = rp.asarray([[1.0, 2.0], [3.0, 4.0]])
    same(x + source, source.todense() + np.asarray(x))
    same(x @ source, np.asarray(x) @ source.todense())
    unsorted = sparse.COO([[1, 0, 1]], [1.0, 2.0, 4.0], shape=(2,), sorted=True, has_duplicates=False)
    same(rp.asarray(unsorted), [2.0, 5.0])
    swapped = sparse.COO(source.coords, source.data.astype(np.dtype("f8").newbyteorder("S")), shape=(2, 2))
    same(rp.asarray(swapped), source.todense())
    columns = sparse.GCXS(source, compressed_axes=(1,))
    same(rp.asarray(columns), source.todense())
    with pytest.raises(TypeError, match="complex"):
        rp.asarray(source.astype("c16"))
    with pytest.raises(ValueError, match="'coo' and 'gcxs'"):
        x.to_sparse("csr")


def test_graphblas_both_ways():
    graphblas = pytest.importorskip("graphblas", reason="python-graphblas is not installed")
    matrix = graphblas.Matrix.from_coo([0, 2, 2], [1, 0, 3], [2.0, 3.0, 4.0], nrows=3, ncols=4)
    array = rp.asarray(matrix)
    expected = np.zeros((3, 4))
    expected[[0, 2, 2], [1, 0, 3]] = [2.0, 3.0, 4.0]
    same(array, expected)
    assert rp.to_graphblas(array).isequal(matrix, check_dtype=True)
    distances = rp.from_graphblas(matrix, fill_value=np.inf)
    assert distances.fill_value == np.inf
    vector = graphblas.Vector.from_coo([3, 1], [5, 7], size=6)
    same(rp.asarray(vector), [0, 7, 0, 5, 0, 0])
    assert rp.to_graphblas(rp.asarray(vector)).isequal(vector)
    with pytest.raises(ValueError, match="vectors and matrices"):
        rp.to_graphblas(rp.zeros((2, 2, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_both_ways(dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    array = rp.from_dlpack(values)
    same(array, values)
    same(np.from_dlpack(array), values)
    assert array.__dlpack_device__() == (1, 0)
    assert not np.from_dlpack(array).flags.writeable
    same(np.from_dlpack(rp.from_dlpack(values, copy=True), copy=True), values)
    with pytest.raises(ValueError, match="streams"):
        array.__dlpack__(stream=1)


@pytest.mark.parametrize("copy", [None, True])
def test_asarray_reads_objects_that_only_have_dlpack(copy):
    class Exporter:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **arguments):
            return self.values.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    same(rp.asarray(Exporter(values), copy=copy), values)
    same(rp.asarray(Exporter(values), dtype=rp.float64, copy=copy), values.astype(np.float64))
    with pytest.raises(TypeError, match="complex"):
        rp.asarray(Exporter(values.astype("c16")), copy=copy)


def test_networkx_keeps_nodes_and_weights():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([("b", "a", 2.5), ("a", "c", 1.0), ("c", "b", 4.0)])
    array = rp.from_networkx(graph)
    assert array.labels[0].to_tuple() == ("b", "a", "c")
    same(array, networkx.to_numpy_array(graph))
    turned = rp.from_networkx(graph, ["a", "b", "c"], dtype=rp.float32)
    assert turned[1, 0].item() == 2.5 and turned.dtype == rp.float32
    back = rp.to_networkx(array, create_using=networkx.DiGraph)
    assert dict(back.edges) == dict(graph.edges)
    mixed = networkx.Graph([((0, 1), "x"), ("x", 3)])
    assert rp.from_networkx(mixed).labels[0] == ((0, 1), "x", 3)
    assert set(rp.to_networkx(rp.from_networkx(mixed)).nodes) == {(0, 1), "x", 3}
    assert rp.from_networkx(networkx.Graph()).shape == (0, 0)
    with pytest.raises(ValueError, match="square"):
        rp.to_networkx(rp.zeros((2, 3)))


@pytest.mark.parametrize("extension", ["npz", "npy", "mtx", "rpt", "bsp.npz"])
def test_files(tmp_path, extension):
    matrix = sp.random_array((6, 5), density=0.4, rng=1, format="csr")
    path = tmp_path / f"matrix.{extension}"
    rp.asarray(matrix).write(path)
    same(rp.read(path), matrix.toarray())
    if extension == "npz":
        np.testing.assert_array_equal(sp.load_npz(path).toarray(), matrix.toarray())
        sp.save_npz(tmp_path / "scipy.npz", matrix)
        same(rp.read(tmp_path / "scipy.npz"), matrix.toarray())
    elif extension == "npy":
        np.testing.assert_array_equal(np.load(path), matrix.toarray())
    elif extension == "mtx":
        import scipy.io

        np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), matrix.toarray())
    if extension == "rpt":
        filled = rp.asarray(matrix) + 1.5
        filled.write(path)
        assert rp.read(path).fill_value == 1.5


def test_pyarrow_reads_files_of_redpoll(tmp_path):
    ipc = pytest.importorskip("pyarrow.ipc", reason="pyarrow is not installed")
    array = rp.asarray(sp.csr_array([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0]]))
    path = tmp_path / "a.rpt"
    array.write(path)
    with ipc.open_file(str(path)) as file:
        table = file.read_all()
    column = {name: table[name][0].values.to_numpy().tolist() for name in table.column_names}
    assert (column["1.ptr"], column["1.idx"], column["val"]) == ([0, 1, 3], [1, 0, 2], [2.0, 1.0, 4.0])


def test_read_options(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,day,film,stars\nann,1,Solaris,5\nbob,2,Alien,4\nann,3,Alien,2\n")
    ratings = rp.read(path, columns=["user", "film"], values="stars", vertices_per_mode=True, dtype=rp.float32)
    assert ratings.tolist() == [[5, 2], [0, 4]] and ratings.dtype == rp.float32
    with pytest.raises(ValueError, match="a column named `movie`"):
        rp.read(path, columns=["user", "movie"])
    path.write_text("user,film,stars\n0,1,2.5\n")
    with pytest.raises(ValueError, match="does not fit|integer"):
        rp.read(path, columns=["user", "film"], values="stars", dtype=rp.uint8)


def test_changes_of_coordinates_reach_no_array():
    """Kernels rely on validated coordinates, so arrays must not see a later change by the user."""
    matrix = sp.csr_array(np.eye(4))
    array = rp.asarray(matrix)
    matrix.indices[:] = 10**9
    matrix.indptr[:] = 10**9
    same(array, np.eye(4))
    same(array @ np.ones(4), np.ones(4))
    frozen = sp.csr_array(np.eye(4))
    writable = frozen.indices
    view = writable[:]
    view.flags.writeable = False
    hidden = rp._core.Tensor((4, 4), "float64", 0, "csr", [[], [frozen.indptr, view]], [frozen.data])
    writable[:] = 10**9
    same(np.asarray(rp.current_session().array(hidden)), np.eye(4))
    flags = np.array([True, False])
    array = rp.asarray(flags)
    flags.view("u1")[:] = 7
    same(array, [True, False])


def test_coordinates_of_results_are_shared_again():
    """Coordinates that belong to a tensor cannot change, so the conversion back copies nothing."""
    array = rp.asarray(sp.random_array((50, 70), density=0.1, rng=3, format="csr"))
    matrix = array.to_scipy()
    again = rp.asarray(matrix).to_scipy()
    assert np.shares_memory(again.indices, matrix.indices) and np.shares_memory(again.indptr, matrix.indptr)
    assert not np.shares_memory(rp.asarray(matrix.copy()).to_scipy().indices, matrix.indices)
    stored = np.frombuffer(bytes(again.indices), again.indices.dtype)
    assert not stored.flags.writeable
