"""Text, HTML, drawings and reports of arrays, and pickles."""

import copy
import pickle
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same

import redpoll as rp
from redpoll import _core
from redpoll._flow import Drawing


@pytest.fixture
def matrix():
    return rp.asarray(sp.random_array((30, 50), density=0.1, rng=1, format="csr"))


def is_computed(array):
    return _core.kept_tensor(array) is not None


def test_text_computes_nothing(matrix):
    product = matrix @ matrix.T
    assert repr(product) == "<redpoll.Array shape=(30, 30) float64 fill=0.0 lazy>"
    assert "<svg" not in product._repr_html_() and "lazy" in product._repr_html_()
    assert not is_computed(product)
    assert repr(matrix) == "<redpoll.Array shape=(30, 50) float64 fill=0.0 (dense sparse-list) stored=150>"
    assert repr(matrix.at("i", "k")) == "<redpoll.Array shape=(30, 50) names=('i', 'k') float64 fill=0.0 lazy>"


def test_files_are_not_read_for_text(tmp_path):
    rp.asarray(np.arange(6.0)).write(tmp_path / "x.npy")
    array = rp.read(tmp_path / "x.npy")
    assert "shape=(6,) float64" in repr(array)
    same(array, np.arange(6.0))


def test_str_has_the_values():
    text = str(rp.asarray([[1.0, 0.0], [0.5, 2.0]]))
    assert text == "2 x 2 f64, fill 0.0, (dense dense)\n[[1.0, 0.0],\n [0.5, 2.0]]"
    sparse = (rp.eye(2) * 3).reformat("csr")
    assert str(sparse).splitlines()[1:] == ["  (0, 0)  3.0", "  (1, 1)  3.0"]
    assert is_computed(sparse)
    assert str(rp.sum(sparse)) == "6.0"


def test_html_has_the_pattern(matrix):
    root = ElementTree.fromstring(matrix._repr_html_())
    [picture] = root.iter("{http://www.w3.org/2000/svg}svg")
    assert picture.get("viewBox") == "0 0 40 30"
    assert "150 (0.1 of all)" in matrix._repr_html_()


@pytest.mark.parametrize(
    "array",
    [
        rp.asarray(1.0),
        rp.asarray([]),
        rp.asarray([0.0, 1.0, 0.0]),
        rp.random((20, 30, 40), density=0.01),
        rp.zeros((1 << 40, 1 << 40)) + 1.0,
        rp.random((1 << 31, 1 << 31), density=1e-18, format="csf"),
    ],
)
def test_html_of_any_shape_is_well_formed(array):
    array.compute()
    html = array._repr_html_()
    ElementTree.fromstring(html)
    assert len(html) < 20_000


def test_patterns_count_entries(matrix):
    tensor = matrix.compute_tensor()
    counts = np.reshape(tensor.pattern(30, 50), (30, 50))
    same(counts, (matrix.todense() != 0).astype("i8"))
    assert sum(tensor.pattern(7, 3)) == 150
    assert rp.asarray([0.0, 1.0, 0.0]).compute_tensor().pattern(1, 3) == [0, 1, 0]
    cube = rp.random((4, 3, 5), density=0.2, seed=3)
    same(np.reshape(cube.compute_tensor().pattern(12, 5), (4, 3, 5)), (cube.todense() != 0).astype("i8"))


def test_explanations_have_sections(matrix):
    explanation = rp.sum(matrix @ matrix.T).explain()
    assert [section.title for section in explanation.sections][:3] == ["logic", "nests", "physical plan"]
    assert explanation.sections[0].text in explanation and repr(explanation) == explanation
    assert explanation._repr_html_().count("<details") == len(explanation.sections)
    assert pickle.loads(pickle.dumps(explanation)).sections == explanation.sections


def test_profiles_have_measurements(matrix):
    product = matrix @ matrix.T
    profile = product.profile()
    [query] = [query for query in profile.queries if query.name == "result"]
    assert query.outputs[0].stored >= np.count_nonzero(product.todense())
    assert 0 < query.seconds <= profile.seconds
    assert "    result: " in repr(profile) and repr(profile) == str(profile) == profile.text
    assert "took" in profile.visualize().svg
    assert not is_computed(matrix @ matrix.T * 1.5)


def test_drawings_have_a_box_for_each_node(matrix, tmp_path):
    drawing = rp.sum((matrix @ matrix.T) * 2.0, axis=0).visualize()
    root = ElementTree.fromstring(drawing.svg)
    boxes = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert len(boxes) >= 3 and drawing._repr_svg_() == drawing.svg
    drawing.save(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text() == drawing.svg
    assert "3 nodes" in repr(rp.sum(matrix).visualize())


def test_boxes_and_labels_of_drawings_do_not_overlap():
    nodes = [("input", ["A", "f64 3 x 3"]), ("input", ["B"]), ("query", ["P", "loops i k j"]), ("query", ["R"])]
    nodes += [("result", ["R"])]
    edges = [(0, 2, ["(dense)"]), (1, 2, ["walk i", "walk j"]), (0, 3, ["(dense)"]), (2, 3, ["P"]), (1, 3, ["<&>"])]
    edges += [(3, 4, ["R"])]
    root = ElementTree.fromstring(Drawing(nodes, edges).svg)
    boxes = [
        tuple(float(box.get(side)) for side in ("x", "y", "width", "height"))
        for box in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == len(nodes)
    for k, (x, y, width, height) in enumerate(boxes):
        assert x >= 0 and x + width <= float(root.get("width")) and y + height <= float(root.get("height"))
        for other_x, other_y, other_width, other_height in boxes[:k]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height
    assert "&lt;&amp;&gt;" in Drawing(nodes, edges).svg


def test_drawings_of_no_queries():
    assert ElementTree.fromstring(Drawing([], []).svg).tag.endswith("svg")


def test_pickles_have_buffers_out_of_band():
    array = rp.asarray(np.arange(100_000.0)) * 2.0
    buffers = []
    text = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    assert len(text) < 1000 and sum(buffer.raw().nbytes for buffer in buffers) == 800_000
    same(pickle.loads(text, buffers=buffers), array)


def test_pickles_keep_names_and_types():
    array = rp.asarray(np.arange(6, dtype="i2").reshape(2, 3)).at("i", "j")
    restored = pickle.loads(pickle.dumps(array))
    assert restored.names == ("i", "j") and restored.dtype is rp.int16
    assert pickle.loads(pickle.dumps(rp.int16)) is rp.int16
    same(pickle.loads(pickle.dumps(rp.asarray(2.5))), 2.5)


def test_copies_change_apart():
    array = rp.asarray([1, 2, 3])
    shallow, deep = copy.copy(array), copy.deepcopy([array, array])
    array[0] = 7
    same(array, [7, 2, 3])
    same(shallow, [1, 2, 3])
    same(deep[0], [1, 2, 3])


def test_pickles_and_copies_keep_labels():
    array = rp.asarray([3.0, 4.0]).with_labels(["ann", "bob"])
    for other in (pickle.loads(pickle.dumps(array)), copy.copy(array), copy.deepcopy(array)):
        assert list(other.labels[0]) == ["ann", "bob"]
        same(other, array)


def test_patterns_of_large_arrays_are_not_counted():
    array = rp.asarray(np.ones((1 << 12, (1 << 12) + 1), dtype="i1"))
    assert array.compute_tensor().pattern(10, 10) is None
    assert "<svg" not in array._repr_html_() and "4096 × 4097" in array._repr_html_()
