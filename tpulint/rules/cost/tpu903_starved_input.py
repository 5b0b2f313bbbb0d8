"""TPU903: an input pipeline that makes less than a TPU takes, for a reason that its steps show.

The facts: tensorflow/core/grappler/optimizers/data/map_parallelization.cc (a `map` without
`num_parallel_calls` is run in parallel if its function is stateless, by default after TensorFlow
2.4), python/data/ops/readers.py (a reader takes one file after the other). A `prefetch` that is
missing is no fault here: distribute/input_lib.py prefetches what a strategy distributes, and a
TPUEstimator feeds from a thread of its own (tpu_estimator.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall, Tensor
from tpulint.absint.domain.objects import ExternalObject, Sequence
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, External, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge import names, tf_names
from tpulint.hardware import dense_bytes, readable_bytes
from tpulint.queries.certainty import definite_if
from tpulint.queries.entry_calls import applied_by, constant_int
from tpulint.queries.input_pipelines import BATCHES, NESTS, data_of, is_pythons, most_elements, ways
from tpulint.queries.launches import is_training_feed
from tpulint.rules.base import Program, Report, Rule, Severity, register

LAST_WITHOUT_PARALLEL_MAPS = "2.4"
# What takes a thread long enough to matter: these read a whole image, record or file.
HEAVY = tf_names.words("""
    decode_jpeg decode_png decode_image decode_and_crop_jpeg decode_bmp decode_webp decode_wav
    parse_single_example parse_example parse_single_sequence_example parse_sequence_example
    decode_csv read_file resize resize_images resize_with_pad resize_bilinear resize_bicubic
    resize_image_with_pad random_hue random_saturation random_jpeg_quality adjust_hue
    non_max_suppression stft mfccs_from_log_mel_spectrograms
""")
PYTHON = tf_names.PYTHON_IN_GRAPH - {"from_generator"}
FLOWS = frozenset(["flow", "flow_from_directory", "flow_from_dataframe"])
WORKERS = frozenset(["workers", "use_multiprocessing"])
# The readers, with the position of `num_parallel_reads`.
READERS = {"TFRecordDataset": 3, "TextLineDataset": 3, "FixedLengthRecordDataset": 6}
LISTS_FILES = frozenset(["glob", "Glob", "iglob", "list_files", "listdir", "matching_files"])
SHUFFLES = frozenset(["shuffle", "shuffle_and_repeat"])
KEEPS = frozenset(["cache", "snapshot", "save"])
SPLITS = NESTS | {"unbatch", "rebatch", "group_by_window", "bucket_by_sequence_length", "window"}
# Fewer than these are done before a step is over.
FEW_FILES = 4
FEW_EXAMPLES = 64
FEW_SHUFFLED = 10_000
LARGE = 1 << 30


class Pipeline(NamedTuple):
    """One way of examples to a TPU, its last step first; `is_sure`: a TPU takes them, this way."""

    program: Program
    feed: Feed
    way: list[ExternalObject]
    is_sure: bool


class Slow(NamedTuple):
    """What slows a pipeline, and where; `is_sure`: the numbers in `message` are constants."""

    site: Site
    message: str
    is_sure: bool
    does: str
    doubt: str


@register
class StarvedInput(Rule):
    code = "TPU903"
    name = "starved-input"
    severity = Severity.PERFORMANCE
    summary = "an input pipeline that cannot keep a TPU busy"

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            is_sure = is_training_feed(program, feed)
            if is_sure is None:
                continue
            all_ways = ways(data_of(program, feed))
            slow = list(given_by_python(program, feed))
            for way in all_ways:
                slow += slow_steps(Pipeline(program, feed, way, is_sure and len(all_ways) == 1))
            for step in slow:
                report(
                    step.site.span,
                    step.message,
                    certainty=definite_if(step.is_sure),
                    trace=(
                        traces.host_step(feed.site, "trains on what this pipeline gives"),
                        traces.host_step(step.site, step.does),
                    ),
                    doubt=step.doubt,
                )


def given_by_python(program: Program, feed: Feed) -> Iterator[Slow]:
    """Yield what Keras gets that is no dataset: what Python makes, and large arrays."""
    if feed.kind != "fit":
        return
    data = feed.data
    are_flows = all(isinstance(it, ExternalObject) and it.last in FLOWS for it in data.options)
    if are_flows or all(map(is_pythons, data.options)):
        # Keras can run several of either; who asks for that has thought of it.
        if any(
            argument.star or argument.keyword in WORKERS
            for call in program.at.get(feed.site, ())
            for argument in call.arguments
        ):
            return
        yield Slow(
            feed.site,
            "`fit` gets its batches from Python, one after the other on one thread, and the TPU"
            " waits: write the examples to TFRecord files once, and read them with tf.data",
            False,
            "takes each batch from Python",
            "if Python takes longer for a batch than the TPU",
        )
    elif isinstance(data, Tensor) and data.shape and None not in data.shape:
        size = dense_bytes([size or 0 for size in data.shape], data.dtype or "float32")
        if size >= LARGE:
            yield Slow(
                feed.site,
                f"`fit` gets an array of {readable_bytes(size)}, which is copied to a tensor on the"
                " TPU's host before the first step: write it to TFRecord files, and read them with"
                " tf.data",
                False,
                "takes the whole array",
                "if it has this type, and the host is not this machine",
            )


def slow_steps(pipeline: Pipeline) -> Iterator[Slow]:
    """Yield the steps that slow a pipeline. What is read once and kept is not among them."""
    way = pipeline.way
    end_of_cache = max([0, *(index for index, step in enumerate(way) if step.last in KEEPS)])
    yield from serial_maps(pipeline, way[:end_of_cache] if end_of_cache else way)
    if not end_of_cache:
        yield from generators(pipeline)
        yield from serial_reads(pipeline)
    yield from shuffled_batches(pipeline)
    yield from cached_augmentations(pipeline)


def batch_behind(pipeline: Pipeline, index: int) -> int | None:
    """Return the size of the batches that are made of what a step gives; None if not known."""
    for step in reversed(pipeline.way[:index]):
        if step.last in SPLITS:
            return None
        batch = batch_made_by(step)
        if batch is not None:
            return constant_int(batch.argument("batch_size", 0))
    return None


def batch_made_by(step: ExternalObject) -> ExternalObject | None:
    """Return what makes batches: the step, or `map_and_batch` that `apply` is given."""
    inner = applied_by(step)
    return inner if isinstance(inner, ExternalObject) and inner.last in BATCHES else None


def of_a_step(size: int | None) -> str:
    """Return the number of examples of a step in words."""
    return "each example" if size is None else f"each of {size:,} examples of a step"


def serial_maps(pipeline: Pipeline, steps: list[ExternalObject]) -> Iterator[Slow]:
    """Yield each `map` that does much on one thread: what TensorFlow does not run in parallel."""
    program = pipeline.program
    for index, step in enumerate(steps):
        if step.last != "map" or not _is_serial(program, step, "num_parallel_calls", 1):
            continue
        inside = program.piped_at.get(step.site, [])
        heavy = next((call for call in inside if call.last in HEAVY | PYTHON), None)
        target = program.targets.of(step.site.module.filename)
        is_old = target.stated and not target.mask & ~names.until(LAST_WITHOUT_PARALLEL_MAPS)
        hinders = next((call for call in inside if is_stateful(call)), None)
        if heavy is None or (hinders is None and not is_old):
            continue
        size = batch_behind(pipeline, index)
        why = ""
        if hinders is not None and hinders is not heavy and not is_old:
            why = f", because `{hinders.last}` is stateful"
        tuned = "tf.data.experimental.AUTOTUNE" if is_old else "tf.data.AUTOTUNE"
        yield Slow(
            step.site,
            f"`map` runs `{heavy.last}` on one thread{why}, for {of_a_step(size)}, and the TPU"
            f" waits: pass `num_parallel_calls={tuned}`",
            pipeline.is_sure
            and size is not None
            and size >= FEW_EXAMPLES
            and all(_is_run_by(call, step) for call in (heavy, hinders or heavy)),
            "works on one thread",
            "if that takes longer than a step of the TPU",
        )


def is_stateful(call: ApiCall) -> bool:
    """Return whether a call makes its function stateful: it draws numbers, or runs Python."""
    if call.last in PYTHON:
        return True
    if not tf_names.is_tensorflow(call.path) or call.last.startswith("stateless_"):
        return False
    return call.last.startswith("random_") or ".random." in call.path


def _is_run_by(call: ApiCall, step: ExternalObject) -> bool:
    """Return whether each element makes the call: nothing decides about it on the way."""
    return call.context.conditions <= step.context.conditions and not call.context.is_guess


def _is_serial(program: Program, step: ExternalObject, setting: str, position: int) -> bool:
    """Return whether a step certainly has no such setting, or one that is as good as none."""
    if any(call.is_starred for call in program.by_result.get(id(step), ())):
        return False
    return step.argument(setting, position) in (None, NONE)


def generators(pipeline: Pipeline) -> Iterator[Slow]:
    """Yield the Python generator that makes each example; one that names files is quick."""
    source, *others = reversed(pipeline.way)
    if source.last != "from_generator" or any(step.last in SPLITS for step in others):
        return
    maps = [pipeline.program.piped_at.get(it.site, ()) for it in others if it.last == "map"]
    if any(call.last in tf_names.FILE_READERS for inside in maps for call in inside):
        return
    size = batch_behind(pipeline, len(pipeline.way) - 1)
    yield Slow(
        source.site,
        f"Python makes {of_a_step(size)} on one thread, and the TPU waits: write the examples to"
        " TFRecord files once, and read them with tf.data",
        pipeline.is_sure and size is not None and size >= FEW_EXAMPLES,
        "runs Python for each element",
        "if Python takes longer for a batch than the TPU",
    )


def serial_reads(pipeline: Pipeline) -> Iterator[Slow]:
    """Yield the reader that takes one of many files after the other."""
    program, source = pipeline.program, pipeline.way[-1]
    if source.last in READERS:
        if not _is_serial(program, source, "num_parallel_reads", READERS[source.last]):
            return
        reader, name = source, source.last
        number = files_in(program, source.argument("filenames", 0))
        advice = "pass `num_parallel_reads=16`"
    else:
        flat = [step for step in pipeline.way if step.last == "flat_map"]
        function = flat[0].argument("map_func", 0) if len(flat) == 1 else None
        if not isinstance(function, External) or function.last not in READERS:
            return
        reader, name = flat[0], function.last
        tensors = source.argument("tensors", 0)
        number = files_in(program, source) or files_in(program, tensors)
        advice = "call `interleave` with `cycle_length=16` and `num_parallel_calls=16` instead"
    if number is None or (number and number < FEW_FILES):
        return
    amount = f"{number:,} files" if number else "the files"
    yield Slow(
        reader.site,
        f"`{name}` reads {amount} one after the other, and the TPU waits for a single stream of"
        f" the storage: {advice}",
        pipeline.is_sure and number >= FEW_FILES,
        "reads one file at a time",
        "if there are several files, and they are not on a fast disk",
    )


def files_in(program: Program, files: Value | None) -> int | None:
    """Return how many files are named: 0 where a pattern says which, None where nothing does."""
    if isinstance(files, Sequence) and not files.open:
        return len(files.items)
    if isinstance(files, ExternalObject) and files.last in LISTS_FILES:
        return 0
    calls = program.by_result.get(id(files), ()) if files is not None else ()
    return 0 if any(call.last in LISTS_FILES for call in calls) else None


def shuffled_batches(pipeline: Pipeline) -> Iterator[Slow]:
    """Yield the `shuffle` that holds whole batches, where single examples are not shuffled."""
    way = pipeline.way
    index = next((n for n, step in enumerate(way) if step.last in SPLITS or batch_made_by(step)), 0)
    batch = batch_made_by(way[index])
    late = [step for step in way[:index] if step.last == "shuffle"]
    if batch is None or not late or any(is_shuffle(step) for step in way[index:]):
        return
    size = constant_int(batch.argument("batch_size", 0))
    number = constant_int(late[0].argument("buffer_size", 0))
    if size == 1 or number == 1:
        return
    held = size * number if size and number else None
    most = most_elements(way[index])
    if held and size and most * size < held:
        held = int(most * size)
    first = "a buffer of batches" if held is None else f"{held:,} examples"
    yield Slow(
        late[-1].site,
        f"`shuffle` after `{batch.last}` holds whole batches: the first step waits for {first}, and"
        f" the examples of a batch stay together; move it before `{batch.last}`",
        pipeline.is_sure and held is not None and held >= FEW_SHUFFLED,
        "holds whole batches",
        "if the batches are not mixed before",
    )


def is_shuffle(step: ExternalObject) -> bool:
    """Return whether a step shuffles examples, or may; one that is not seen may."""
    applied = applied_by(step)
    is_named = "shuffle" in {name for name, _ in step.arguments}
    return is_named or not isinstance(applied, ExternalObject) or applied.last in SHUFFLES


def cached_augmentations(pipeline: Pipeline) -> Iterator[Slow]:
    """Yield the `cache` that keeps what was drawn for the first epoch."""
    way = pipeline.way
    caches = [index for index, step in enumerate(way) if step.last == "cache"]
    epochs = epochs_of(pipeline)
    if not caches or epochs == 1:
        return
    for step in way[caches[-1] + 1 :]:
        inside = pipeline.program.piped_at.get(step.site, ()) if step.last == "map" else ()
        drawn = next((call for call in inside if augments(call)), None)
        if drawn is None:
            continue
        number = "each epoch" if epochs is None else f"each of {epochs:,} epochs"
        yield Slow(
            way[caches[-1]].site,
            f"`cache` keeps what `{drawn.last}` drew in the first epoch, and {number} trains on"
            " the same examples: move it before that `map`",
            pipeline.is_sure and epochs is not None and _is_run_by(drawn, step),
            "keeps what was drawn at random",
            "if it trains for several epochs",
        )


def augments(call: ApiCall) -> bool:
    """Return whether a call changes an image at random; noise alone may be the data itself."""
    return tf_names.is_tensorflow(call.path) and (
        ".image.random_" in call.path or call.last in ("random_crop", "random_flip")
    )


def epochs_of(pipeline: Pipeline) -> int | None:
    """Return how often `fit` goes over the data; None where that is not seen."""
    for call in pipeline.program.at.get(pipeline.feed.site, ()):
        if call.last == "fit" and not call.is_starred:
            epochs = call.argument("epochs", 3)
            return 1 if epochs is None else constant_int(epochs.value)
    return None
