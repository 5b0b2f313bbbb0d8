"""What feeds a TPU: `input_fn` of a TPUEstimator, datasets of a TPUStrategy, `fit`, pipelines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tpulint.absint.domain import objects, values
from tpulint.absint.domain.context import CALLED, DATA, NO_KNOWN_CALLER, ConditionKey, Scope
from tpulint.absint.domain.events import ApiCall, Argument, Arguments, Tensor
from tpulint.absint.domain.objects import Class, Env, ExternalObject, Function, Mapping, Sequence
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.structures import end_of, start_of
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Const, Opaque, Text, Value, join
from tpulint.absint.interpreter import calls, operators, transfer
from tpulint.absint.interpreter.interpreter import Interpreter
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow import hooks, keras_models, shapes
from tpulint.frontends.tensorflow.arity import signature_of
from tpulint.frontends.tensorflow.branch_tests import NO_TPU, is_kept_from_tpu, is_without_tpu
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.tables import LISTED_HERE
from tpulint.frontends.tensorflow.models.strategies import methods
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, arity, model, observe
from tpulint.frontends.tensorflow.strategy import Strategy

SPECS = {"TrainSpec": "train", "EvalSpec": "evaluate"}
FROM_FUNCTION = tf_names.words("""
    distribute_datasets_from_function experimental_distribute_datasets_from_function
    make_input_fn_iterator
""")
# The arguments that TPUEstimator gives to an input_fn that asks for them.
GIVEN = ("params", "config", "mode", "input_context")
DISTRIBUTED = "tensorflow.distribute.DistributedDataset"
ESTIMATOR = "tf.estimator.tpu.TPUEstimator"


# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py: an input_fn runs on the host, once
# per host or per core.
@observe(*(f"{ESTIMATOR}.{name}" for name in ("train", "evaluate", "predict")))
def _note_estimate(call: Call) -> None:
    if isinstance(call.receiver, ExternalObject):
        _estimate(call, call.receiver, call.name, call.get("input_fn", 0))


# tensorflow_estimator/python/estimator/training.py
@observe("?.train_and_evaluate")
def _train_and_evaluate(call: Call) -> None:
    for estimator in (call.get("estimator", 0) or UNKNOWN).options:
        # A program may make another Estimator where there is no TPU.
        if isinstance(estimator, ExternalObject) and estimator.last == "TPUEstimator":
            for specification in call.values[1:]:
                if isinstance(specification, ExternalObject) and specification.last in SPECS:
                    input_fn = specification.argument("input_fn", 0)
                    _estimate(call, estimator, SPECS[specification.last], input_fn)


def _estimate(call: Call, estimator: ExternalObject, kind: str, input_fn: Value | None) -> None:
    """TPUEstimator calls its input_fn on the host of the TPU."""
    use_tpu = estimator.argument("use_tpu", 4)
    if (
        input_fn is None
        or use_tpu in NO_TPU
        or estimator.attributes.get("use_tpu") in NO_TPU
        or call.frame.context.excludes(estimator.context)
        or is_without_tpu(call.frame.context, use_tpu)
        or (kind == "evaluate" and estimator.argument("eval_on_tpu", 9) == Const(False))
    ):
        return
    params: list[Value] = []
    for option in estimator.attributes.get("params", NONE).options:
        own = Mapping({}) if option == NONE else option
        params.append(_with_batch_size(own) if isinstance(own, Mapping) else Opaque("params"))
    _read(call, kind, estimator, input_fn, join(params))


def _with_batch_size(params: Mapping) -> Mapping:
    """Return the `params` of an input_fn: the user's own, and the size of a batch."""
    items = {"context": Opaque("context"), "batch_size": Opaque("batch_size"), **params.items}
    return Mapping(items, True, params.site)


# tensorflow/python/distribute/distribute_lib.py. Of another strategy the dataset is handed on as it
# is.
@methods(*sorted(tf_names.DISTRIBUTES))
def _distribute(call: Call, strategy: Strategy) -> Value:
    data = call.values[0] if call.values else UNKNOWN
    if strategy.kind == "tpu":
        data = call.force(data)
    elif strategy is call.receiver or not call.names_a_tpu():
        return data
    _note(call, Feed("distribute", call.site, call.frame.context, strategy, data))
    return _distributed(call, data)


def _distributed(call: Call, data: Value) -> ExternalObject:
    """Return the dataset whose elements are values of all replicas, made of `data`."""
    source, element = data if keras_models.is_dataset(data) else None, batch_of(call, data)
    context = call.frame.context
    return ExternalObject(DISTRIBUTED, call.site, context, source=source, element=element)


def batch_of(call: Call, data: Value) -> Value:
    """Return an element of a dataset that `call` distributes: a value of each replica."""
    of_one = Tensor(None, call.site, "structure", of_all=call.record)
    return shapes.element_of(data, of_one) or of_one


# keras/src/trainers/data_adapters: of arrays `fit` makes a dataset of their rows.
def batch_of_fit(call: Call, data: Value, *, is_validation: bool) -> Value:
    """Return the batch that a step of `fit` is given: of a dataset, or of arrays."""
    if data is UNKNOWN or keras_models.is_dataset(data):
        return batch_of(call, data)
    is_plain = is_validation or call.name.startswith("predict")
    others = [] if is_plain else [call.get("y", 1), call.get("sample_weight")]
    arrays = [data, *(other for other in others if other is not None)]
    if is_validation and isinstance(data, Sequence) and not data.open:
        arrays = data.items
    return shapes.batch_of_rows(arrays, Tensor(None, call.site, "structure", of_all=call.record))


# tensorflow/python/distribute/distribute_lib.py, `InputContext`
@model("?.get_per_replica_batch_size")
def _share_of_batch(call: Call) -> Value:
    global_size = call.get("global_batch_size", 0)
    size = global_size.value if isinstance(global_size, Const) else None
    return values.Scaled(tf_names.REPLICAS, size, -1)


@methods(*sorted(FROM_FUNCTION))
def _distribute_from_function(call: Call, strategy: Strategy) -> Value | None:
    if not call.values:
        return None
    if strategy.kind == "tpu":
        return _distributed(call, _read(call, "distribute", strategy, call.values[0], NONE))
    if strategy is not call.receiver and call.names_a_tpu():
        return _distributed(call, UNKNOWN)
    return call.values[0] if "dataset" in call.name else UNKNOWN


# Any object may be a model: whether one was made under a TPUStrategy's scope decides.
@observe(*(f"keras.layers.Layer.{name}" for name in keras_models.FITS))
def _note_fit(call: Call) -> None:
    owner = call.receiver
    if not isinstance(owner, (ExternalObject, objects.Instance)) or owner.context is None:
        return
    strategy = keras_models.strategy_of_model(owner)
    is_estimator = isinstance(owner, ExternalObject) and owner.last == "TPUEstimator"
    if strategy is None or strategy.kind != "tpu" or is_estimator:
        return
    for keyword in keras_models.FITS[call.name]:
        pipeline = call.get(keyword, 0 if keyword == "x" else None)
        if pipeline is not None:
            data = call.force(pipeline)
            kind = "evaluate" if keyword == "validation_data" else call.name
            _note(call, Feed(kind, call.site, call.frame.context, strategy, data))


@model(*(f"?.{name}" for name in keras_models.PRETRAINED))
def _pretrained(call: Call) -> Value | None:
    pretrained = ExternalObject(call.path, call.site, call.frame.context)
    return pretrained if keras_models.is_pretrained(call.path) else None


def read_uncalled_input_fns(interpreter: Interpreter, modules: Iterable[Module]) -> None:
    """Read input functions that nothing calls, beside model_fns for a TPU: their users call them.

    Some are made by functions that are called so, too.
    """
    for module in modules:
        if not module.facts.names_any(frozenset(["TPUEstimatorSpec"])) or is_kept_from_tpu(module):
            continue
        for value in list(interpreter.module_env(module).names.values()):
            members = value.names.values() if isinstance(value, Class) else (value,)
            for function in members:
                if isinstance(function, Function) and function.module is module:
                    is_callable = function is value or "staticmethod" in function.hints
                    if is_callable and naming.INPUT_FN.is_in(function.name):
                        _read_uncalled(interpreter, function)


def _read_uncalled(interpreter: Interpreter, function: Function) -> None:
    if id(function.code) in interpreter.called:
        return
    site = Site(function.module, function.code.place)
    context = interpreter.new_run().inside(Scope(NO_KNOWN_CALLER, site))
    context = context.when(ConditionKey(CALLED, site), True)
    frame = interpreter.frame(function.module, Env({}), context)
    with interpreter.guarded(f"{function.module.filename}: {function.name}"):
        input_function: Value = function
        if not _takes_params(function):
            opaque = calls.opaque_arguments(function, None)
            input_function = calls.call_function(frame, function, opaque, site)
        estimator = ExternalObject("tensorflow.estimator.tpu.TPUEstimator", site, frame.context)
        record = ApiCall(estimator.path, site, frame.context, (), None, estimator)
        params = _with_batch_size(Mapping({}))
        for option in input_function.options:
            inner = objects.function_of(option)
            is_unread = inner is not None and id(inner.code) not in interpreter.called
            if inner is not None and is_unread and _takes_params(inner):
                _read(Call(frame, record), "train", estimator, option, params)


def _takes_params(function: Function) -> bool:
    return "params" in {parameter.name for parameter in function.code.parameters.named}


def _note(call: Call, feed: Feed) -> None:
    if not call.frame.context.is_unrecorded:
        program = call.frame.session.program
        is_unsure = isinstance(feed.owner, Strategy) and feed.owner.kind == "unknown"
        (program.unsure_feeds if is_unsure else program.feeds).append(feed)


def _read(call: Call, kind: str, owner: Value, input_fn: Value, params: Value) -> Value:
    """Call the input function as TensorFlow does: on the host, outside every computation."""
    function = call.force(input_fn)
    feed = Feed(kind, call.site, call.frame.context, owner, UNKNOWN, function)
    _note(call, feed)
    results = []
    functions = function.options
    if not isinstance(owner, Strategy):
        # A TPUEstimator passes `params` (TPU608). A program that chooses by a flag has a function
        # for another Estimator, too.
        signatures = [(option, signature_of(option)) for option in functions]
        taking = [option for option, taken in signatures if taken and "params" in taken.parameters]
        functions = tuple(taking) or functions
    for option in functions:
        if not isinstance(option, (ExternalObject, values.External)):
            args = _arguments(call, option, params)
            results.append(call.run_inside(Scope(DATA, call.site, feed), option, args))
    feed.data = call.force(join(results)) if results else UNKNOWN
    return feed.data


def _arguments(call: Call, input_fn: Value, params: Value) -> Arguments:
    signature = signature_of(input_fn)
    names = [name for name in GIVEN if signature is not None and name in signature.parameters]
    values = {"params": params} if params != NONE else {}
    return tuple(Argument(name, "", values.get(name, Opaque(name)), call.site) for name in names)


# Datasets of other packages


# tensorflow_datasets/core/load.py, dataset_builder.py
@model("tensorflow_datasets.load", "?.as_dataset")
def _load_dataset(call: Call) -> Value | None:
    """Model `tfds.load(name, split=...)`: a dataset, or one per split, perhaps with its info."""
    is_load = call.name == "load"
    split = call.get("split", 1 if is_load else 0)
    loaded: Value
    if call.get("batch_size", 3 if is_load else 1) == Const(-1):
        loaded = Opaque("data")  # all of it in one batch: tensors, and no dataset
    elif isinstance(split, Sequence) and not split.open:
        loaded = Sequence("list", [call.new_object() for _ in split.items], site=call.site)
    elif split is None or split == NONE:
        names = ("train", "test", "validation")
        splits: dict[object, Value] = {name: call.new_object() for name in names}
        loaded = Mapping(splits, True, call.site, made=call.frame.context)
    else:
        loaded = call.new_object()
    if is_load and call.get("with_info") == Const(True):
        return Sequence("tuple", [loaded, Opaque("info")], site=call.site)
    return loaded


@model("?.astype", *(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full")))
@model(*(f"numpy.random.{name}" for name in ("rand", "randn", "random", "normal", "randint")))
@model(*(f"numpy.random.{name}" for name in ("uniform", "random_sample", "standard_normal")))
def _array(call: Call) -> Value | None:
    """Return an array that is made on the host, with the arguments that say its shape."""
    if call.frame.context.on_device or isinstance(call.receiver, Tensor):
        return None
    if call.name != "astype":
        return call.new_object()
    dtype = call.get("dtype", 0)
    is_refused = shapes.dtype_of_array(dtype) in ("float64", "string")
    return shapes.in_dtype(call.receiver, dtype, call.site) or (
        call.new_object() if is_refused else None
    )


# Steps of an input pipeline: `tf.data.Dataset`, each with the step before it

DATASET = "tf.data.Dataset"
TRANSFORMERS = ("tf.data.experimental", "tf.contrib.data")  # modules of steps for `apply`


@model("?.batch", "?.padded_batch")
def _batch_unseen(call: Call) -> Value | None:
    """Take what is not seen for a dataset: nothing else has batches with a `drop_remainder`.

    Nor has anything else `batch` where an input function makes its dataset.
    """
    if call.receiver is not UNKNOWN:
        return None
    around = [scope for scope in call.frame.context.scopes if scope.kind == DATA]
    is_input = bool(around) and around[-1].payload is not None
    if call.get("drop_remainder") is None and not is_input:
        return None
    return _plain_step(call, ExternalObject(tf_names.UNSEEN_DATASET, call.site, call.frame.context))


# tensorflow/python/data/ops/group_by_window_op.py: the second function makes the elements, of a
# dataset of those with one key.
@model(*(f"{home}.group_by_window" for home in (DATASET, *TRANSFORMERS)))
def _group_by_window(call: Call) -> Value:
    step = call.new_object()
    if isinstance(call.receiver, (ExternalObject, values.Choice)):
        step = _step(call, call.receiver)
    scope = Scope(DATA, call.site)
    element = Tensor(None, call.site, "structure")
    for function in (call.get("key_func", 0) or UNKNOWN).options:
        if isinstance(function, CALLABLE):
            call.run_inside(scope, function, [element] * arity(function))
    reduce = call.get("reduce_func", 1)
    if reduce is not None and all(isinstance(option, CALLABLE) for option in reduce.options):
        window = ExternalObject(f"{tf_names.UNSEEN_DATASET}.window", call.site, call.frame.context)
        step.inner = call.run_inside(scope, reduce, [element, window])
    return step


# tensorflow/python/data/ops/dataset_ops.py: the function takes the dataset, not its elements.
@model(f"{DATASET}.apply")
def _apply(call: Call) -> Value:
    assert call.receiver is not None
    if call.values and isinstance(call.values[0], CALLABLE):
        return call.call_with(call.values[0], call.receiver)
    return _mapped_step(call)


# tensorflow/python/data/ops/dataset_ops.py: their functions are traced for the host. Those of
# tensorflow/python/data/experimental/ops are transformations for `apply`, each with a function.
TRANSFORMATIONS = ("map_and_batch", "map_and_batch_with_legacy_function", "parallel_interleave")


@model(*(f"{DATASET}.{name}" for name in sorted(tf_names.PIPELINE - {"apply", "group_by_window"})))
@model(*(f"{home}.{name}" for home in TRANSFORMERS for name in TRANSFORMATIONS))
def _mapped_step(call: Call) -> Value:
    step = call.new_object() if call.receiver is None else _step(call, call.receiver)
    step.inner = _elements_made(call)
    return step


# tensorflow/python/distribute/input_lib.py
@model(f"{DATASET}.get_next")
def _next_of_distributed(call: Call) -> Value | None:
    iterated = call.receiver
    return iterated.element if isinstance(iterated, ExternalObject) else None


@model(*(f"{DATASET}.{name}" for name in sorted(tf_names.DATASET_METHODS - tf_names.PIPELINE)))
def _other_step(call: Call) -> Value:
    assert call.receiver is not None
    return _plain_step(call, call.receiver)


def _plain_step(call: Call, dataset: Value) -> ExternalObject:
    step = _step(call, dataset)
    taken = [value for value in call.values if not isinstance(value, CALLABLE)]
    transfer.touch(call.frame, taken, call.site, call.name, Certainty.DEFINITE, "unknown")
    return step


def _step(call: Call, receiver: Value) -> ExternalObject:
    first = receiver.options[0]
    assert isinstance(first, ExternalObject)
    return call.new_object(f"{first.path}.{call.name}", receiver)


def _elements_made(call: Call) -> Value | None:
    """Call the given functions. They run on the host, outside every computation."""
    scope = Scope(DATA, call.site)
    results = []
    for value in call.values:
        functions = value.options
        if all(isinstance(option, CALLABLE) for option in functions):
            is_text = isinstance(call.receiver, ExternalObject) and _gives_text(call.receiver)
            element = Tensor(None, call.site, "tensor" if is_text else "structure")
            element.dtype = "string" if is_text else None
            args = _components(call, element, arity(functions[0]))
            results.append(call.run_inside(scope, value, args))
    return join(results) if results else None


def _components(call: Call, element: Tensor, count: int) -> list[Value]:
    """Return what a dataset's function takes: the components of an element, or the element."""
    seen = None if call.receiver is None else shapes.element_of(call.receiver, element)
    if isinstance(seen, Sequence) and count == len(seen.items) > 1 and not seen.open:
        return list(seen.items)
    if seen is not None and count == 1 and not isinstance(seen, Sequence):
        return [seen]
    return [element] * count


# tensorflow/python/data/ops/readers.py
READERS = tf_names.words("TextLineDataset TFRecordDataset FixedLengthRecordDataset list_files")


def _gives_text(data: Value) -> bool:
    """Return whether the elements are strings: lines or records of files, or their paths."""
    while isinstance(data, ExternalObject) and data.source is not None:
        if data.last not in tf_names.HAND_ON:
            return False
        data = data.source
    return isinstance(data, ExternalObject) and data.last in READERS


# tensorflow/python/ops/parsing_ops.py
@model("tf.io.parse_single_example", "tf.io.parse_example")
@model("tf.compat.v1.parse_single_example", "tf.compat.v1.parse_example")
def _parse(call: Call) -> Value | None:
    """Return the features of an example, each with its dtype and shape if they are written."""
    features = call.get("features", 1)
    if not isinstance(features, Mapping) or features.open or call.frame.context.on_device:
        return None
    parsed = call.operation("structure")
    items: dict[object, Value] = {}
    for key, value in features.items.items():
        items[key] = replace(parsed)
        if isinstance(value, ExternalObject) and value.last == "FixedLenFeature":
            dtype, shape = shapes.dtype_of(value.argument("dtype", 1)), None
            if call.name == "parse_single_example":
                shape = shapes.shape_of(value.argument("shape", 0))
            items[key] = replace(parsed, sort="tensor", dtype=dtype, shape=shape)
    return Mapping(items, site=call.site, made=call.frame.context)


# TPU607 asks how a path begins, so its first part is enough.
@model("os.path.join")
def _join_path(call: Call) -> Value:
    """os.path.join: how the path begins, where the first part says so."""
    if any(start_of(value) == LISTED_HERE for value in call.values[1:]):
        return Text(LISTED_HERE, end_of(call.values[-1]))
    starts = start_of(call.values[0]) if call.arguments else None
    if starts is None:
        return UNKNOWN
    whole = isinstance(call.values[0], Const)
    return Text(f"{starts}/" if whole and len(call.values) > 1 else starts, end_of(call.values[-1]))


_WILDCARDS = re.compile(r".*[*?\]]", re.DOTALL)  # of a pattern, and what is before them


# Python's own functions see the files of this machine only.
@model("glob.glob", "glob.iglob", "os.listdir")
def _list_files(call: Call) -> Value:
    """`glob.glob(pattern)`: paths that exist here, which end as the pattern does."""
    pattern = call.get("pathname", 0) if call.path.startswith("glob.") else None
    ends = _WILDCARDS.sub("", end_of(pattern)) if pattern is not None else ""
    return Sequence("list", [Text(LISTED_HERE, ends)], True, call.site, call.frame.context)


# tensorflow/python/lib/io/file_io.py: paths, as the pattern or each of several patterns begins.
@model("tf.io.gfile.glob", "tf.compat.v1.gfile.Glob")
def _list_stored_files(call: Call) -> Value:
    patterns = call.values[0] if call.values else UNKNOWN
    listed: list[Value] = []
    for pattern in patterns.items if isinstance(patterns, Sequence) else [patterns]:
        starts, ends = start_of(pattern), _WILDCARDS.sub("", end_of(pattern))
        listed.append(Text(starts.partition("*")[0], ends) if starts else UNKNOWN)
    return Sequence("list", listed, True, call.site, call.frame.context)


@model("builtins.str.format")
def _format(call: Call) -> Value | None:
    """`"text {}".format(unknown)`: what comes before the first field, and after the last."""
    template = start_of(call.receiver) if isinstance(call.receiver, Const) else None
    if template is None or "{{" in template or "}}" in template:
        return None
    return operators.put_together(
        [Const(template.partition("{")[0]), UNKNOWN, Const(template.rpartition("}")[2])]
    )


# pandas: a column of strings as a list, and what a lambda makes of each item.
@model("?.apply", "?.map", *(f"?.{name}" for name in sorted(hooks.COLUMN_LISTS)))
def _column(call: Call) -> Value | None:
    function = call.values[0] if call.values else None
    if isinstance(call.receiver, Text) and function is None:
        return call.receiver
    is_unseen = call.receiver is UNKNOWN or isinstance(call.receiver, (Bound, Opaque))
    if not is_unseen or not isinstance(function, Function) or not function.code.is_lambda:
        return None
    text = calls.call(call.frame, function, calls.opaque_arguments(function, None), call.site)
    return Text(start_of(text) or "", end_of(text)) if start_of(text) else None
