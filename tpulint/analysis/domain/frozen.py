"""Values that are equal by their fields, and that never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    def frozen(cls: type[T]) -> type[T]:
        """Make a frozen dataclass: mypy checks that no object of it is changed."""
        return cls
else:
    # Objects of classes that are frozen at run time, too, take three times as long to make.
    frozen = dataclass(unsafe_hash=True, slots=True)
