"""Transformers of scikit-learn that compute products with redpoll.

The transformers have the names, attributes and results of classes of scikit-learn, and most of
their parameters. The transformers replace these classes in pipelines::

    from redpoll.sklearn import TfidfTransformer, TruncatedSVD

    model = make_pipeline(CountVectorizer(), TfidfTransformer(), TruncatedSVD(100), LogisticRegression())

The transformers read matrices of SciPy, and arrays of redpoll, PyData/Sparse and NumPy.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

import redpoll as rp

__all__ = ["TfidfTransformer", "TruncatedSVD"]


def _validated(estimator: Any, X: Any, *, reset: bool, **options: Any) -> Any:  # noqa: N803
    """Return samples as a matrix of SciPy or NumPy that scikit-learn has checked."""
    if isinstance(X, rp.Array):
        X = X.to_scipy() if X.fill_value == 0 else np.asarray(X)  # noqa: N806
    elif type(X).__module__.startswith("sparse"):
        X = X.tocsr() if X.ndim == 2 and X.fill_value == 0 else X.todense()  # noqa: N806
    return validate_data(
        estimator, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=reset, **options
    )


class TfidfTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Weigh counts of terms by the rarity of the terms: tf-idf.

    Args:
        norm: the norm that becomes 1 for each row: `l1`, `l2`, or `None` for no scaling.
        use_idf: whether terms are weighted by their inverse document frequency.
        smooth_idf: whether an additional document, which has every term, is counted.
        sublinear_tf: whether `1 + log(count)` replaces a count.

    Attributes:
        idf_: the weight of each term, if `use_idf`.
        n_features_in_: the number of terms.

    Examples:
        >>> from redpoll.sklearn import TfidfTransformer
        >>> TfidfTransformer(norm="l1").fit_transform([[1, 0], [1, 2]]).toarray().round(2)
        array([[1.  , 0.  ],
               [0.26, 0.74]])
    """

    _parameter_constraints = {
        "norm": [StrOptions({"l1", "l2"}), None],
        "use_idf": ["boolean"],
        "smooth_idf": ["boolean"],
        "sublinear_tf": ["boolean"],
    }

    def __init__(
        self, *, norm: str | None = "l2", use_idf: bool = True, smooth_idf: bool = True, sublinear_tf: bool = False
    ) -> None:
        self.norm, self.use_idf, self.smooth_idf, self.sublinear_tf = norm, use_idf, smooth_idf, sublinear_tf

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn the weights of the terms from a matrix of counts, a row for each document."""
        counts = sp.csr_array(_validated(self, X, reset=True))
        if self.use_idf:
            frequencies = np.asarray(rp.count_nonzero(rp.asarray(counts), axis=0)).astype(counts.dtype)
            documents = counts.shape[0] + int(self.smooth_idf)
            with np.errstate(divide="ignore"):
                self.idf_ = np.log(documents / (frequencies + float(self.smooth_idf))) + 1.0
            self.idf_ = self.idf_.astype(counts.dtype)
        return self

    def transform(self, X: Any, copy: bool = True) -> Any:  # noqa: N803
        """Return weighted counts as an array of redpoll if `X` is one, else as a `csr_matrix`."""
        check_is_fitted(self)
        counts = sp.csr_matrix(_validated(self, X, reset=False))
        weights = rp.asarray(counts)
        if self.sublinear_tf:
            # The condition keeps zeros at 0, so the result stays sparse.
            weights = rp.where(weights != 0, rp.log(weights) + 1.0, 0.0).astype(counts.dtype.name)
        if self.use_idf:
            weights = weights * self.idf_
        if self.norm is not None:
            powers = rp.abs(weights) if self.norm == "l1" else weights * weights
            sums = rp.sum(powers, axis=1, keepdims=True)
            sums = sums if self.norm == "l1" else rp.sqrt(sums)
            weights = weights / rp.where(sums == 0, 1.0, sums)
        weights = weights.astype(counts.dtype.name)
        return weights if isinstance(X, rp.Array) else weights.refill(0).to_scipy("csr", matrix=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TruncatedSVD(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project samples onto singular vectors, without centering: latent semantic analysis.

    The singular vectors come from random projections and power iterations (N. Halko, P. G.
    Martinsson and J. A. Tropp, *Finding structure with randomness*, SIAM Review 53, 2011,
    algorithms 4.4 and 5.1). Redpoll computes all products with the samples, and LAPACK computes the
    small factorizations.

    Args:
        n_components: the number of singular vectors.
        n_iter: the number of power iterations.
        n_oversamples: the number of random vectors beyond `n_components`.
        random_state: the seed, or the generator, of the random vectors.

    Attributes:
        components_: the right singular vectors, one in each row.
        singular_values_: the singular values, in descending order.
        explained_variance_: the variance of each feature of the reduced samples.
        explained_variance_ratio_: `explained_variance_` relative to the variance of the samples.

    Examples:
        >>> from redpoll.sklearn import TruncatedSVD
        >>> svd = TruncatedSVD(1, random_state=0).fit([[3.0, 0.0], [0.0, 1.0]])
        >>> svd.singular_values_.round(6)
        array([3.])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components: int = 2, *, n_iter: int = 5, n_oversamples: int = 10, random_state: Any = None
    ) -> None:
        self.n_components, self.n_iter, self.n_oversamples = n_components, n_iter, n_oversamples
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Compute the singular vectors of samples, which are the rows of `X`."""
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Compute the singular vectors of samples, and return the reduced samples."""
        samples = _validated(self, X, reset=True, ensure_min_features=2)
        rows, columns = samples.shape
        if self.n_components > columns:
            raise ValueError(f"n_components({self.n_components}) must be <= n_features({columns}).")
        a = rp.asarray(samples)
        count = min(self.n_components + self.n_oversamples, rows, columns)
        random = check_random_state(self.random_state)
        basis = _orthonormal(a @ random.normal(size=(columns, count)).astype(samples.dtype))
        for _ in range(self.n_iter):
            basis = _orthonormal(a @ _orthonormal(a.T @ basis))
        _, values, vectors = scipy.linalg.svd(np.asarray(a.T @ basis).T, full_matrices=False)
        # Signs are chosen such that the element with the largest absolute value of each vector is
        # positive.
        places = np.argmax(np.abs(vectors), axis=1)
        vectors = vectors * np.sign(vectors[np.arange(len(vectors)), places])[:, None]
        self.components_ = vectors[: self.n_components]
        self.singular_values_ = values[: self.n_components]
        reduced = np.asarray(a @ self.components_.T)
        self.explained_variance_ = reduced.var(axis=0)
        total = rp.sum(rp.mean(a * a, axis=0) - rp.mean(a, axis=0) ** 2)
        self.explained_variance_ratio_ = self.explained_variance_ / float(total)
        return reduced

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the reduced samples as an array of NumPy."""
        check_is_fitted(self)
        samples = _validated(self, X, reset=False)
        return np.array(rp.asarray(samples) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Map reduced samples back to samples with all features."""
        check_is_fitted(self)
        return np.asarray(X) @ self.components_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _orthonormal(product: rp.Array) -> np.ndarray:
    """Return an orthonormal basis of the columns of a product."""
    return scipy.linalg.qr(np.array(product), mode="economic", overwrite_a=True)[0]
