"""The map of a TPU program: its model, its layout, and a renderer per format."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from tpulint.map.pictures.model import ProgramMap
from tpulint.output.context import RenderContext

Renderer = Callable[[ProgramMap, RenderContext], str]
# The module that holds `render_FORMAT`.
FORMATS = {"text": "text", "mermaid": "text", "svg": "svg", "html": "html"}


def load(name: str) -> Renderer:
    """Return the renderer of the format `name`, whose module is imported only now."""
    module = importlib.import_module(f"tpulint.map.pictures.{FORMATS[name]}")
    return cast(Renderer, getattr(module, f"render_{name}"))
