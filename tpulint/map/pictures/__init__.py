"""The map of a TPU program: its model, the one layout of its pictures, and a renderer a format."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from tpulint.map.pictures.model import ProgramMap
from tpulint.output.context import RenderContext

Renderer = Callable[[ProgramMap, RenderContext], str]
FORMATS = ("text", "mermaid", "svg", "html")


def load(name: str) -> Renderer:
    """Return the renderer of the format `name`; its module is imported only now."""
    module = importlib.import_module(f"tpulint.map.pictures.{name}")
    return cast(Renderer, module.render)
