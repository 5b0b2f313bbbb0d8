"""TPU607: an input pipeline that the host of a remote TPU cannot run, and files it cannot reach.

The facts of files: tensorflow/python/saved_model/save.py and checkpoint/checkpoint.py place the
operations with the variables, which a remote TPU's host holds, unless `experimental_io_device` says
otherwise. Keras writes `.keras` and `.h5` files from Python, on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Argument, Computation, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence, made_at
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.structures import end_of, start_of
from tpulint.absint.domain.values import NONE, Const, Opaque, Text, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.keras_models import is_dataset
from tpulint.frontends.tensorflow.keras_models import steps as layer_calls
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.tables import LISTED_HERE, is_local_path
from tpulint.frontends.tensorflow.strategy import HOSTS, Strategy, scope_strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.entry_calls import may_use_tpu, run_config
from tpulint.queries.input_pipelines import calls_of, data_of, is_pythons, sources, steps
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# Functions of TensorFlow, with the argument that is saved and the one that names the place.
SAVES = {"save": ("obj", 0, "export_dir", 1), "save_model": ("model", 0, "filepath", 1)}
LOADS = {"load": "export_dir", "load_model": "filepath"}
READS = frozenset(["read", "restore", "load_weights", *LOADS])
# Methods of checkpoints, whose first argument is the path, and those of Keras' models.
OF_CHECKPOINTS = frozenset(["write", "save", "read", "restore"])
OF_MODELS = frozenset(["save", "save_weights", "load_weights"])
CALLBACKS = {
    "TensorBoard": "log_dir",
    "ModelCheckpoint": "filepath",
    "BackupAndRestore": "backup_dir",
}
SAVE_OR_LOAD = {*SAVES, *LOADS, *OF_CHECKPOINTS, *OF_MODELS}
OF_PYTHON = (".keras", ".h5", ".hdf5")
DEPTH = 3  # of structures that hold what is saved


def _check_files(program: Program, report: Report) -> None:
    """Check the places of models and checkpoints whose variables a TPUStrategy holds."""
    for call in program.named_any(SAVE_OR_LOAD):
        module = call.path.rpartition(".")[0]
        if call.last in LOADS and module.endswith(("saved_model", "keras.models")):
            loaded, under = call.argument(LOADS[call.last], 0), scope_strategy(call.context)
            if loaded is not None and under is not None and under.kind == "tpu":
                _check_saved(call, loaded.value, loaded, under, report)
        target = _target(program, call)
        if target is not None:
            held, path, named = target
            strategy = _strategy_of(program, held, DEPTH)
            _check_saved(call, path, named, strategy, report)
    for call in program.named.get("fit", ()):  # its callbacks write files, too
        several = call.value("callbacks")
        if call.receiver is None or not isinstance(several, Sequence):
            continue
        strategy = _strategy_of(program, call.receiver, 0)
        for callback in several.items:
            if not isinstance(callback, ExternalObject) or callback.last not in CALLBACKS:
                continue
            place = _argument(program, callback, CALLBACKS[callback.last], 0)
            for maker in program.by_result.get(id(callback), ()):
                if place is not None:
                    _check_saved(maker, place.value, place, strategy, report)


def _target(program: Program, call: ApiCall) -> tuple[Value, Value, Argument | None] | None:
    """Return what a call saves or restores, and the path, with the argument that names it."""
    module = call.path.rpartition(".")[0]
    if call.last in SAVES and module.endswith(("saved_model", "keras.models")):
        keyword, position, path_keyword, path_position = SAVES[call.last]
        held = call.argument(keyword, position)
        path = call.argument(path_keyword, path_position)
        return (held.value, path.value, path) if held and path else None
    receiver = call.receiver
    if isinstance(receiver, ExternalObject) and receiver.last == "CheckpointManager":
        folder = _argument(program, receiver, "directory", 1)
        held = _argument(program, receiver, "checkpoint", 0)
        return (held.value, folder.value, None) if call.last == "save" and folder and held else None
    if isinstance(receiver, ExternalObject) and receiver.last == "Checkpoint":
        path = call.argument("file_prefix" if call.last == "save" else "save_path", 0)
        return (receiver, path.value, path) if call.last in OF_CHECKPOINTS and path else None
    if call.last in OF_MODELS and isinstance(receiver, (ExternalObject, Instance)):
        path = call.argument("filepath", 0)
        return (receiver, path.value, path) if path else None
    return None


def _check_hub_layers(program: Program, report: Report) -> None:
    """Report the models of TensorFlow Hub that are unpacked here, and made for a TPUStrategy.

    They are read from Cloud Storage if the environment says so.
    """
    if any(module.has_word(naming.HUB_FORMAT) for module in program.modules):
        return
    for call in program.named_any(["KerasLayer", "load"]):
        if call.path not in ("tensorflow_hub.KerasLayer", "tensorflow_hub.load"):
            continue
        strategy = scope_strategy(call.context)
        is_told = call.argument("load_options") or call.argument("options")
        if strategy is None or strategy.kind != "tpu" or is_told:
            continue
        is_from_web = (start_of(call.value("handle", 0) or NONE) or "").startswith("http")
        if is_from_web and remoteness(strategy) is Certainty.DEFINITE:
            report(
                call.site.span,
                f"`{call.last}` unpacks the model on this machine, where the host of a remote TPU"
                " cannot read it: set `TFHUB_MODEL_LOAD_FORMAT=UNCOMPRESSED`, unless the"
                " environment does",
                certainty=Certainty.POSSIBLE,
            )


def _argument(
    program: Program, result: ExternalObject, keyword: str, position: int | None = None
) -> Argument | None:
    """Return an argument of the call that made an object."""
    call = next(iter(program.by_result.get(id(result), ())), None)
    return None if call is None else call.argument(keyword, position)


def _is_written_here(call: ApiCall, path: Value) -> bool:
    """Return whether this machine reads or writes the file, or may be told to."""
    if call.argument("options") is not None or call.is_starred:
        return True
    plain = [argument for argument in call.arguments if argument.keyword is None]
    if call.last == "save" and call.path.endswith("saved_model.save") and len(plain) > 3:
        return True
    if call.last in ("write", "save", "read", "restore") and "Checkpoint" in call.path:
        return len(plain) > 1
    if call.value("save_format") not in (None, Const("tf"), Const(None)):
        return True
    # Keras reads or writes these from Python. A checkpoint is named without the ends of its files,
    # so what is listed is no checkpoint.
    is_list = call.last in ("load_weights", "load_model")
    return any(
        end_of(option).endswith(OF_PYTHON)
        or (is_list and start_of(option) == LISTED_HERE and not end_of(option))
        for option in path.options
    )


def _strategy_of(program: Program, held: Value, depth: int) -> Strategy | None:
    """Return the TPUStrategy under whose scope something that is saved was made."""
    strategy = scope_strategy(held.made if isinstance(held, Variable) else made_at(held))
    # These hold what is saved, and no variable but a counter on this machine.
    holders = ("Checkpoint", "CheckpointManager")
    is_holder = isinstance(held, ExternalObject) and held.last in holders
    if strategy is not None and not is_holder:
        return strategy if strategy.kind == "tpu" else None
    parts: list[Value] = []
    if isinstance(held, ExternalObject):
        for call in program.by_result.get(id(held), ()):
            parts += [argument.value for argument in call.arguments]
    elif isinstance(held, Tensor):  # of a model that is put together
        parts = [step.layer for step in layer_calls(held) if step.layer is not None]
    elif isinstance(held, Sequence):
        parts = held.items
    elif isinstance(held, Mapping):
        parts = list(held.items.values())
    strategies = (_strategy_of(program, part, depth - 1) for part in parts if depth > 0)
    return next((strategy for strategy in strategies if strategy is not None), None)


PYTHON = "runs Python on this machine"
TABLE = "uses a table of this machine"
REMOTE = "unless the TPU is this machine's own: `local`, or a TPU VM"
MOUNT = "unless both machines mount this folder, or the TPU is this machine's own"
FILE = "reads a file of this machine"
CACHE = "keeps a file of this machine"
DOWNLOADS = "downloads data to this machine, unless TFDS_DATA_DIR or `try_gcs` says otherwise"
ROOTS = ("/", "~/", "./", "../")  # how a string starts that can only be a path
LISTS = "gets the names of files of this machine"
GENERATOR = "ImageDataGenerator"  # tensorflow/python/keras: a loop of Python's
# tensorflow/python/distribute/cluster_resolver/tpu/tpu_cluster_resolver.py: these names mean a TPU
# of this machine, a zone or a project one of the cloud's. TensorFlow 1 with `tf.contrib` runs on no
# TPU VM, so a cluster there is always another machine.
LOCAL = ("", "local")  # "" as `master=`
DEVICE = "/"  # `/device:TPU_SYSTEM:0`: a device, and no name of another machine
RESOLVER = "TPUClusterResolver"


@register
class HostOnlyInput(Rule):
    code = "TPU607"
    name = "host-only-input"
    severity = Severity.ERROR
    summary = "an input pipeline that a remote TPU host cannot run"

    def check(self, program: Program, report: Report) -> None:
        for feed in (*program.feeds, *program.unsure_feeds):
            certainty = remoteness(feed.owner)
            if certainty is None:
                continue
            _check_data(feed, certainty, report)
            calls = list(pipeline_calls(program, feed))
            read = [call for call in calls if call.last in tf_names.FILE_READERS and call.arguments]
            reads_given = any(start_of(call.arguments[0].value) is None for call in read)
            for call in calls:
                what = fault_on_the_host(call, feed, reads=bool(read), reads_given=reads_given)
                # Whether the host of a TPU can write to its own disk was not seen.
                is_sure = what not in (None, CACHE) and not call.context.is_guess
                if what is None and certainty is Certainty.DEFINITE and is_unplaced(call):
                    what = DOWNLOADS
                elif what is None or is_one_of_several(program, feed, call):
                    continue
                may_be_no_tpu = isinstance(feed.owner, Strategy) and feed.owner.kind == "unknown"
                report(
                    call.site.span,
                    f"`{call.last}` {what}, but the pipeline runs on the TPU's host, another"
                    " machine; use TensorFlow operations on Cloud Storage",
                    certainty=certainty if is_sure else Certainty.POSSIBLE,
                    trace=(
                        traces.host_step(feed.site, "the TPU takes its input from this pipeline"),
                        traces.host_step(call.site, what),
                    ),
                    doubt=f"if the strategy is a TPU's, {REMOTE}" if may_be_no_tpu else REMOTE,
                )
        for call in program.named.get("TPUEstimator", ()):
            if may_use_tpu(call):
                _check_model_dir(program, call, report)
        _check_files(program, report)
        _check_hub_layers(program, report)
        for computation in program.computations:
            if computation.kind == tf_names.MODEL_FN and may_use_tpu(computation.call):
                _check_initial(computation, report)


def _check_model_dir(program: Program, estimator: ApiCall, report: Report) -> None:
    """Check the model_dir: the host of the TPU writes the checkpoints, too."""
    certainty = remoteness(estimator.result)
    folder = estimator.argument("model_dir", 1)
    config = run_config(estimator)
    if folder is None and isinstance(config, ExternalObject):
        folder = _argument(program, config, "model_dir")
    if certainty is not None and folder is not None and is_local_place(folder.value):
        report(
            folder.site.span,
            "the host of a remote TPU writes the checkpoints, but cannot write to this folder:"
            " write to Cloud Storage",
            certainty=certainty,
        )


def _check_saved(
    call: ApiCall, path: Value, named: Argument | None, strategy: Strategy | None, report: Report
) -> None:
    """Check where a model or a checkpoint is saved: with its variables, on the TPU's host."""
    certainty = None if strategy is None else remoteness(strategy)
    if certainty is None or _is_written_here(call, path):
        return
    # Paths of other file systems than a disk's have a scheme.
    is_mounted = not is_local_place(path)
    if is_mounted and not (start_of(path) or "").startswith("/"):
        return
    if is_mounted and certainty is Certainty.POSSIBLE:
        return
    # What is put behind a name may end in `.h5`.
    is_open = isinstance(path, Text) and not path.ends and not is_local(path)
    if is_mounted or is_open or call.context.is_guess:
        certainty = Certainty.POSSIBLE
    mend = 'pass options with `experimental_io_device="/job:localhost"`'
    if call.last in CALLBACKS:
        mend = "name a gs:// path"
    verb = "reads" if call.last in READS else "writes"
    report(
        (call if named is None else named).site.span,
        f"`{call.last}` {verb} this on the host of a remote TPU, where the variables are, and that"
        f" machine cannot: {mend}",
        certainty=certainty,
        doubt=MOUNT if is_mounted else REMOTE,
    )


def is_local_place(path: Value) -> bool:
    """Return whether a file or folder of this machine is named where nothing else can be."""
    if isinstance(path, Const) and isinstance(path.value, str):
        is_bare = bool(path.value) and not {":", "/"} & set(path.value)
        return is_bare or is_local(path)
    # `f"best_{number}"`: no scheme has such a character.
    is_name = isinstance(path, Text) and "_" in path.starts and ":" not in path.starts
    return is_name or is_local(path)


def _check_initial(computation: Computation, report: Report) -> None:
    """Check the checkpoint from which a model_fn initializes its variables."""
    certainty = remoteness(computation.call.result)
    for call in computation.calls if certainty is not None else ():
        is_initial = call.last == "init_from_checkpoint"
        path = call.argument("ckpt_dir_or_file", 0) if is_initial else None
        if path is not None and is_local_place(path.value):
            # A library reads it: which folder that is, its caller says.
            start = start_of(path.value) or ""
            if not isinstance(path.value, Const):
                start = start.rpartition("/")[0]
            report(
                path.site.span,
                "the host of a remote TPU reads this checkpoint, but cannot read"
                f" {f'`{start}`' if start else 'this folder'}: copy it to Cloud Storage",
                certainty=definite_if(certainty is Certainty.DEFINITE, not call.context.is_guess),
                trace=traces.path_to(computation, call, "reads the checkpoint"),
            )


def _check_data(feed: Feed, certainty: Certainty, report: Report) -> None:
    """Check what Keras itself turns into a pipeline: by `from_generator`, in this process."""
    alternatives = feed.data.options
    if not isinstance(feed.owner, Strategy) or not all(map(is_pythons, alternatives)):
        return
    what = "a `Sequence`" if isinstance(alternatives[0], Instance) else "a generator"
    report(
        feed.site.span,
        f"`{feed.kind}` gets {what}, which runs in Python on this machine, but the pipeline runs on"
        " the TPU's host, another machine; use TensorFlow operations on Cloud Storage",
        certainty=Certainty.POSSIBLE if feed.context.is_guess else certainty,
        trace=(traces.host_step(feed.site, PYTHON),),
        doubt=REMOTE,
    )


def pipeline_calls(program: Program, feed: Feed) -> Iterator[ApiCall]:
    """Yield the calls that make the pipeline and those inside its functions, each once."""
    data = list(steps(data_of(program, feed)))
    calls = list(calls_of(program, feed))
    for site in dict.fromkeys(step.site for step in data):
        calls += program.piped_at.get(site, ())
    for step in data:  # a helper may read other files for others
        calls += program.by_result.get(id(step), []) or list(program.at.get(step.site, ()))
    yield from {id(call): call for call in calls}.values()


def is_one_of_several(program: Program, feed: Feed, call: ApiCall) -> bool:
    """Return whether the program chooses between this source and others, one of them a TPU's."""
    if not isinstance(feed.owner, Strategy) or call.last not in tf_names.PYTHON_IN_GRAPH:
        return False
    starts = [it for it in sources(data_of(program, feed)) if isinstance(it, ExternalObject)]
    others = [source for source in starts if source.last not in tf_names.PYTHON_IN_GRAPH]
    return any(source.site is call.site for source in starts) and any(map(is_dataset, others))


def fault_on_the_host(call: ApiCall, feed: Feed, *, reads: bool, reads_given: bool) -> str | None:
    """Return what the TPU's host cannot do.

    reads: the pipeline reads files by their names; reads_given: nothing is put before a name.
    """
    receiver = call.receiver
    is_generator = isinstance(receiver, ExternalObject) and receiver.last == GENERATOR
    if call.last in tf_names.PYTHON_IN_GRAPH or (is_generator and call.last[:4] == "flow"):
        return PYTHON
    is_table = isinstance(receiver, Variable) and receiver.sort == "table"
    if is_table and isinstance(feed.owner, Strategy):
        return TABLE
    if call.path == "tensorflow_datasets.load":
        return FILE if is_local(call.value("data_dir", 2) or NONE) else None
    if call.last == "cache" and receiver is not None and is_dataset(receiver):
        return CACHE if is_local(call.value("filename", 0) or NONE) else None
    if call.last in tf_names.FILE_READERS and call.arguments:
        path = call.arguments[0].value
        word = path.value if isinstance(path, Const) and isinstance(path.value, str) else ""
        # One word is a folder where a folder is asked for.
        if is_local(path) or (call.last.endswith("_from_directory") and word.isidentifier()):
            return FILE
    if reads and call.last == "from_tensor_slices" and call.arguments:
        names = call.arguments[0].value
        is_listed = is_local(names, LISTED_HERE)
        is_spelled = reads_given and any(is_local(names, root) for root in ROOTS)
        return LISTS if is_listed or is_spelled else None
    return None


def is_unplaced(call: ApiCall) -> bool:
    """Return whether `tfds.load` puts the data where TFDS_DATA_DIR says, or here."""
    if call.path not in ("tensorflow_datasets.load", "tensorflow_datasets.builder"):
        return False
    places = (("data_dir", 2), ("builder_kwargs",), ("try_gcs",))
    return not call.is_starred and all(call.argument(*place) is None for place in places)


def is_local(path: Value, scheme: str = "") -> bool:
    """Return whether a file of this machine is named here, or a list of which one is."""
    if isinstance(path, Sequence):
        return any(is_local(item, scheme) for item in path.items)
    starts = start_of(path)
    return starts is not None and starts.startswith(scheme) and is_local_path(starts)


def remoteness(owner: Value) -> Certainty | None:
    """Return the certainty that the TPU of `owner` is remote; None if it is local."""
    if isinstance(owner, Strategy):
        return _remoteness_of_resolvers(owner.resolver)
    if not isinstance(owner, ExternalObject):
        return Certainty.POSSIBLE
    config = owner.argument("config", 2)
    if not isinstance(config, ExternalObject):
        return Certainty.POSSIBLE
    # A RunConfig names its TPU by `cluster=` or by `master=`.
    cluster, master = config.argument("cluster"), config.argument("master")
    certainties: list[Certainty | None] = []
    is_old = False
    if cluster is not None and cluster != NONE:
        certainties.append(_remoteness_of_resolvers(cluster))
        is_old = ".contrib." in config.path
    if master is not None and master != NONE:
        certainties.append(_remoteness_of_name(master))
    if not certainties or None in certainties:
        return None  # then there is no other machine
    return definite_if(Certainty.DEFINITE in certainties or is_old)


def _remoteness_of_resolvers(resolver: Value) -> Certainty | None:
    """All that the resolver may be says the same, or it is not sure."""
    certainties = {_remoteness_of_resolver(it) for it in resolver.options if it != NONE}
    return certainties.pop() if len(certainties) == 1 else Certainty.POSSIBLE


def _remoteness_of_resolver(resolver: Value) -> Certainty | None:
    if not isinstance(resolver, ExternalObject) or RESOLVER not in resolver.path:
        return Certainty.POSSIBLE
    zone = resolver.argument("zone") or resolver.argument("project")
    hosts = resolver.attributes.get(HOSTS)
    children = hosts.children if isinstance(hosts, Opaque) else {}
    has_hosts = any(name.startswith("[") for name in children)  # an item: a TPU here has none
    if ".contrib." in resolver.path or (isinstance(zone, Const) and zone != NONE) or has_hosts:
        return Certainty.DEFINITE
    name = resolver.argument("tpu", 0)
    # tensorflow/python/tpu/client/client.py, `_get_tpu_name`: without a name, the environment's.
    return Certainty.POSSIBLE if name == Const("") else _remoteness_of_name(name)


def _remoteness_of_name(name: Value | None) -> Certainty | None:
    """Return the value of `tpu=` or `master=`."""
    if isinstance(name, Text):
        return definite_if(name.starts.startswith("grpc"))
    if isinstance(name, Const) and isinstance(name.value, str):
        is_local = name.value in LOCAL or name.value.startswith(DEVICE)
        return None if is_local else Certainty.DEFINITE
    return Certainty.POSSIBLE
