"""The only package that touches TensorFlow's private modules, one idea a file.

One file, `modules`, imports them all.

Differences between the supported releases (2.12 to the newest) are handled here.
"""

from __future__ import annotations

from tpulint.runtime.tensorflow_internals.cancelling import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.contexts import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.cores import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.devices import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.emulated_calls import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.emulated_embeddings import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.emulated_hosts import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.emulated_pipelines import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.emulated_placement import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.emulated_system import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.feeds import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.function_definitions import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.functions import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.gradients import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.graphs import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.logical_cores import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.old_functions import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.operations import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.patching import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.pods import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.processes import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.remote_sessions import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.running import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.sessions import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.threads import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.tokens import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.tpu import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.tpu_memory import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.tracebacks import *  # noqa: F403
from tpulint.runtime.tensorflow_internals.wrapped_functions import *  # noqa: F403
