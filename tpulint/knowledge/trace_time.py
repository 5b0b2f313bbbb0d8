"""Python that runs once, while device code is traced: names of the standard library and NumPy.

Hand-written. Functions that NumPy has under `numpy.random` only are not told apart further.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# time, datetime: what reads a clock.
CLOCKS = _words(
    """
    time.time time.time_ns time.monotonic time.perf_counter time.process_time
    datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today
    """
)
# random, numpy.random: what draws numbers, by its last name.
DRAWS = _words(
    """
    random uniform randint randrange choice gauss normalvariate betavariate triangular
    rand randn normal random_sample standard_normal beta binomial poisson permutation
    """
)
DRAWING_MODULES = ("random.", "numpy.random.")
# Functions that return a number that they are given.
NUMBERS = _words(
    "builtins.int builtins.float builtins.round builtins.abs builtins.min builtins.max"
)

# Functions that show their arguments to a human.
SHOWS = _words("print info warning error debug warn")
# Functions that open a file, and the modes in which it is written.
OPENS = _words("open GFile FastGFile Open")
WRITE_MODES = ("w", "a", "x")
# Methods of lists that keep what they are given.
KEEPS = _words("append insert appendleft add")

# Arguments of operations that are fixed on purpose.
FIXED = _words("seed name op_seed shape dtype")

NAMES = (
    SHOWS | OPENS | KEEPS | DRAWS | frozenset(each.rpartition(".")[2] for each in CLOCKS | NUMBERS)
)

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
