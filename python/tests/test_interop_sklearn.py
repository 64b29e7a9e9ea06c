"""The transformers: scikit-learn's checks of estimators, scikit-learn's results, and a pipeline."""

import numpy as np
import pytest
import scipy.sparse as sp

import redpoll as rp

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import decomposition, feature_extraction  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from redpoll.sklearn import TfidfTransformer, TruncatedSVD  # noqa: E402


@parametrize_with_checks([TfidfTransformer(), TruncatedSVD(n_components=1)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def counts(documents=200, terms=120, seed=0):
    """Return the counts of terms in documents, and the subject of each document: 0 or 1."""
    rng = np.random.default_rng(seed)
    subjects = rng.integers(0, 2, documents)
    rates = np.full((2, terms), 0.05)
    rates[0, :30], rates[1, 30:60] = 0.3, 0.3
    return sp.csr_matrix(rng.poisson(rates[subjects]).astype("f8")), subjects


OPTIONS = [
    {}, {"norm": "l1"}, {"norm": None}, {"use_idf": False}, {"smooth_idf": False}, {"sublinear_tf": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_tfidf_equals_that_of_scikit_learn(options, dtype):
    samples = counts()[0].astype(dtype)
    # One document has no terms.
    samples = sp.csr_matrix(sp.vstack([samples, sp.csr_matrix((1, 120), dtype=dtype)]))
    expected = feature_extraction.text.TfidfTransformer(**options).fit_transform(samples)
    result = TfidfTransformer(**options).fit_transform(samples)
    assert isinstance(result, sp.csr_matrix) and result.dtype == expected.dtype
    np.testing.assert_allclose(result.toarray(), expected.toarray(), rtol=1e-5 if dtype == "f4" else 1e-12)
    lazy = TfidfTransformer(**options).fit(samples).transform(rp.asarray(samples))
    assert isinstance(lazy, rp.Array)
    np.testing.assert_allclose(lazy.todense(), expected.toarray(), rtol=1e-5 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array, rp.asarray, lambda m: m.toarray()])
def test_truncated_svd_equals_that_of_scikit_learn(make):
    samples, _ = counts()
    expected = decomposition.TruncatedSVD(5, algorithm="arpack").fit(samples)
    result = TruncatedSVD(5, n_iter=20, random_state=0)
    reduced = result.fit_transform(make(samples))
    np.testing.assert_allclose(result.singular_values_, expected.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(result.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=1e-3)
    # Singular vectors are equal up to their sign.
    np.testing.assert_allclose(np.abs(np.sum(result.components_ * expected.components_, axis=1)), 1.0, rtol=1e-4)
    np.testing.assert_allclose(result.transform(make(samples)), reduced)
    assert np.linalg.norm(result.inverse_transform(reduced) - samples) < np.linalg.norm(samples.toarray())
    assert list(result.get_feature_names_out()) == [f"truncatedsvd{k}" for k in range(5)]


def test_pipeline():
    """A pipeline of weights, reduction and classifier works for documents that it has not seen."""
    samples, subjects = counts()
    model = make_pipeline(TfidfTransformer(), TruncatedSVD(10, random_state=0), LogisticRegression())
    model.fit(samples[:150], subjects[:150])
    assert model.score(samples[150:], subjects[150:]) > 0.95
    reference = make_pipeline(
        feature_extraction.text.TfidfTransformer(), decomposition.TruncatedSVD(10, random_state=0), LogisticRegression()
    )
    reference.fit(samples[:150], subjects[:150])
    assert np.mean(model.predict(samples) == reference.predict(samples)) > 0.98
    assert model.set_params(truncatedsvd__n_components=3).fit(samples, subjects).score(samples, subjects) > 0.9


def test_matrices_for_other_estimators():
    """Estimators that need matrices of SciPy accept the result of `to_scipy`."""
    samples, subjects = counts()
    weights = (rp.asarray(samples) * 0.5).to_scipy()
    assert LogisticRegression(max_iter=200).fit(weights, subjects).score(weights, subjects) > 0.9
