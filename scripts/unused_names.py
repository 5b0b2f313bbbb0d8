"""Names that are used where vulture does not look: by another tool, or by their text alone.

`make lint` gives this file to vulture, which takes what is named here for used. Names of whole
families (`pytest_*`) and of decorated functions are in pyproject.toml.
"""

from __future__ import annotations

from typing import Any

used: Any = None

# Other tools and programs call them: flake8 by an entry point, users by the documentation.
used.Plugin
used.write_chrome_trace

# A process that tpulint starts calls it.
used.serve_until_end

# The table of commands has them by their names.
used.new_rule
used.print_completion
used.print_help
used.print_version
used.show_config
used.show_rule

# Plug-ins use them, and the tests.
used.page_tests
used.uses_runtime

# Python calls or reads them.
used.__class__
used.__delitem__
used.create_module
used.close_connection
used.commenters
used.do_CONNECT
used.do_DELETE
used.do_GET
used.do_HEAD
used.do_PATCH
used.do_POST
used.do_PUT
used.log_message
used.num_tickets
used.protocol_version
used.timeout
used.wbufsize
used.whitespace_split

# TensorFlow, or what is built on it, calls them, or gives arguments by these names.
used.EnterGradientColocation
used.ExitGradientColocation
used.RequiresUniqueFunctionRetracing
used.SimdMeshImpl
used._EnterOutsideCompilationScope
used._ExitOutsideCompilationScope
used._outside_compilation_cluster
used._set_device
used._split_generators
used.context_def
used.dropout
used.experimental_connect_to_cluster
used.export_scope
used.get_replicated_var_handle
used.grad_state
used.host_id
used.initialize_tpu_system
used.layouts
used.shuffle
used.to_control_flow_context_def
used.training

# TensorFlow reads them.
used._cloud_tpu_client
used._n_operations
used._tpu
used._tpu_topology
used.enabled
used.place_pruned_graph
used.task_id
used.test_num_shards

# Patches name by text what these modules hold, so they have to be loaded.
used.basic_session_run_hooks
used.tpu_embedding
used.tpu_embedding_v3
used.constant_op
used.control_flow_util
used.dataset_ops
used.failure_handling_util
used.functional_ops
used.gen_tpu_ops
used.multi_device_iterator_ops
used.old_function
used.polymorphic_function
used.tpu_embedding_v2
used.tpu_functional
used.tpu_replicated_variable
