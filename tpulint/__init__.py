"""tpulint finds faults between the two programs of a TPU program: device and host."""

__version__ = "0.1.0"


# `%load_ext tpulint` looks for these here; the package itself imports nothing.


def load_ipython_extension(shell: object) -> None:
    """Check the cells of a session before they run."""
    from importlib import import_module

    import_module("tpulint.cli.ipython").load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Check them no more."""
    from importlib import import_module

    import_module("tpulint.cli.ipython").unload(shell)
