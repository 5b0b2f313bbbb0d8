"""Python that needs a value while device code is traced: methods, functions of NumPy's."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Arguments of operations that are fixed on purpose.
FIXED = _words("seed name op_seed shape dtype")

# They need the value of a tensor. `Tensor.__getattr__` and `SymbolicTensor` have no such methods.
METHODS = _words("numpy item tolist")
# Autograph makes operations of these where it converts (autograph/operators/py_builtins.py).
CONVERTED = _words("float int")
# NumPy's functions that make an array of their first argument: `Tensor.__array__` refuses.
NUMPY_FUNCTIONS = _words(
    """
    array asarray asanyarray ascontiguousarray copy exp exp2 expm1 log log2 log10 log1p sqrt cbrt
    square abs absolute fabs sign floor ceil rint round around trunc sin cos tan arcsin arccos
    arctan arctan2 sinh cosh tanh sum prod mean std var median percentile quantile cumsum cumprod
    max min amax amin argmax argmin maximum minimum add subtract multiply divide power mod dot
    matmul clip where nonzero unique sort argsort any all isnan isinf isfinite reshape ravel
    transpose squeeze expand_dims tile repeat pad flip roll diff histogram bincount array_equal
    allclose isclose
    """
)
