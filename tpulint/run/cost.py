"""The cost of a step on a TPU: the memory of a core, and the FLOPs without and with padding.

They are bounds from the graph that was compiled. Nothing here predicts a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.hardware import (
    SUBLANES,
    Device,
    dense_bytes,
    least_bytes,
    padded_bytes,
    readable_bytes,
    rounded_up,
    row_major,
)

if TYPE_CHECKING:
    from tpulint.runtime.schedule.work import Product, SizedTensor, StepWork

MOST = 8
CHANGES = 3
UNKNOWN = (
    "Not known without XLA's compiler for TPUs: the layouts that it chooses, what it fuses, what\n"
    "it computes twice to save memory, and what else it keeps there."
)


class Sizes(NamedTuple):
    """Bytes of tensors: of the elements, in the best layout, and with the last dimension minor."""

    dense: int
    best: int
    row_major: int


class MemoryRow(NamedTuple):
    """What a core holds; only what is `resident` for a whole step counts to the minimum."""

    what: str
    number: int
    sizes: Sizes
    resident: bool


class LargeTensor(NamedTuple):
    """A tensor of a step, or `number` alike that one line makes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    number: int
    sizes: Sizes
    place: str


class ProductLine(NamedTuple):
    """The matrix products or convolutions of one kind and size of one line.

    `padded_flops` has the dimensions rounded up to the matrix unit, `intensity` is the FLOPs for
    each byte of operands and result.
    """

    name: str
    type: str
    number: int
    rows: int
    depth: int
    columns: int
    flops: int
    padded_flops: int
    intensity: float
    place: str


class StepCost(NamedTuple):
    """The cost of one step of a computation on one core of the device."""

    place: str
    device: str
    minimum: int
    capacity: int
    memory: tuple[MemoryRow, ...]
    tensors: tuple[LargeTensor, ...]
    changes: tuple[str, ...]
    flops: int
    padded_flops: int
    intensity: float
    ridge: float
    products: tuple[ProductLine, ...]
    unknown_shapes: int
    measured_loops: int
    uncounted_loops: int

    @property
    def fits(self) -> bool:
        """Return whether the minimum is in the memory; what else is needed may not be."""
        return self.minimum <= self.capacity


def cost_of(work: StepWork, device: Device, shown: Callable[[str], str]) -> StepCost:
    """Return the cost of `work` on one core; `shown` gives places as the report writes them."""
    products = product_lines(work.products, device, shown)
    kinds = {product.name for product in work.products}
    # The gradient of a variable may be used up where it is made.
    updates = {tensor.shape for tensor in work.gradients}
    results = [
        tensor for tensor in work.tensors if tensor.name in kinds and tensor.shape not in updates
    ]
    largest = max(results, key=lambda tensor: least_bytes(tensor.shape, tensor.dtype), default=None)
    memory = [
        memory_row("variables", work.variables, resident=True),
        memory_row("optimizer slots", work.slots, resident=True),
        memory_row("inputs", work.inputs, resident=True),
        memory_row("largest product", [largest] if largest else [], resident=True),
        memory_row("gradients of variables", work.gradients, resident=False),
        memory_row("tensors kept for gradients", work.kept, resident=False),
    ]
    tensors = large_tensors(work.tensors, shown)
    flops = sum(line.flops for line in products)
    moved = sum(row.sizes.best for row in memory[:3])
    return StepCost(
        shown(work.place or "") or "built by a library",
        device.name,
        sum(row.sizes.best for row in memory if row.resident),
        device.memory,
        tuple(row for row in memory if row.number),
        tensors[:MOST],
        changes(work, memory, tensors)[:CHANGES],
        flops,
        sum(line.padded_flops for line in products),
        flops / moved if moved else 0.0,
        device.flops_per_byte,
        products[:MOST],
        work.unknown_shapes,
        work.measured_loops,
        work.uncounted_loops,
    )


def sizes_of(tensor: SizedTensor) -> Sizes:
    shape, dtype = tensor.shape, tensor.dtype
    in_order = padded_bytes(shape, dtype, row_major(shape, dtype))
    return Sizes(dense_bytes(shape, dtype), least_bytes(shape, dtype), in_order)


def memory_row(what: str, tensors: Sequence[SizedTensor], *, resident: bool) -> MemoryRow:
    columns = list(zip(*map(sizes_of, tensors), strict=True)) or [(0,)] * 3
    return MemoryRow(what, len(tensors), Sizes(*map(sum, columns)), resident)


def large_tensors(
    tensors: Sequence[SizedTensor], shown: Callable[[str], str]
) -> tuple[LargeTensor, ...]:
    """Return the tensors, alike ones of a line together, the largest in row-major layout first."""
    groups: dict[tuple[object, ...], list[SizedTensor]] = {}
    for tensor in tensors:
        groups.setdefault((tensor.place, tensor.dtype, tensor.shape), []).append(tensor)
    large = []
    for group in groups.values():
        first = group[0]
        place = shown(first.place or "")
        row = LargeTensor(first.name, first.dtype, first.shape, len(group), sizes_of(first), place)
        large.append(row)
    return tuple(sorted(large, key=lambda tensor: -tensor.sizes.row_major))


def padded_flops(product: Product, device: Device) -> int:
    """Return the FLOPs with the dimensions rounded up: one operand fills the matrix unit.

    The other one goes through it in rows of eight. Which is which, the compiler chooses.
    """
    if not product.on_matrix_unit:
        return product.flops
    unit = device.matrix_unit
    rows, columns = (
        rounded_up(rows, SUBLANES) * rounded_up(columns, unit)
        for rows, columns in ((product.rows, product.columns), (product.columns, product.rows))
    )
    return 2 * product.times * product.batch * rounded_up(product.depth, unit) * min(rows, columns)


def product_lines(
    products: Sequence[Product], device: Device, shown: Callable[[str], str]
) -> tuple[ProductLine, ...]:
    """Return the products, alike ones of a line together, the most padded FLOPs first."""
    groups: dict[tuple[object, ...], list[Product]] = {}
    for product in products:
        key = (product.place, product.type, product.rows, product.depth, product.columns)
        groups.setdefault(key, []).append(product)
    lines = []
    for group in groups.values():
        first = group[0]
        number = sum(product.times * product.batch for product in group)
        flops = sum(product.flops for product in group)
        padded = sum(padded_flops(product, device) for product in group)
        intensity = flops / max(sum(product.times * product.bytes for product in group), 1)
        sizes = (first.rows, first.depth, first.columns)
        costs = (flops, padded, intensity)
        place = shown(first.place or "")
        lines.append(ProductLine(first.name, first.type, number, *sizes, *costs, place))
    return tuple(sorted(lines, key=lambda line: -line.padded_flops))


def changes(
    work: StepWork, memory: Sequence[MemoryRow], tensors: Sequence[LargeTensor]
) -> tuple[str, ...]:
    """Return what would save most memory, with the bytes, the greatest saving first."""
    _, slots, inputs, _, gradients, kept = (row.sizes.best for row in memory)
    wide = sum(
        least_bytes(tensor.shape, tensor.dtype) // 2
        for tensor in work.kept
        if tensor.dtype == "float32"
    )
    split = "split the variables over more cores (half of them, their slots and gradients)"
    savings = [
        ((inputs + kept) // 2, "half the batch of each core"),
        (wide, "compute in bfloat16 (the tensors that the gradients take)"),
        (slots, "an optimizer without slots, or with factored ones"),
        (0 if kept else gradients, split),
    ]
    for tensor in tensors[:1]:
        place = f", at {tensor.place}" if tensor.place else ""
        what = f"give {written_shape(tensor)} a last dimension of a multiple of 128{place}"
        savings.append((tensor.sizes.row_major - tensor.sizes.best, what))
    savings.sort(key=lambda saving: -saving[0])
    return tuple(f"{what}: saves up to {readable_bytes(size)}" for size, what in savings if size)


def written_shape(tensor: LargeTensor) -> str:
    return f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def cost_lines(cost: StepCost, device: Device) -> Iterator[str]:
    speed = f"{written_flops(device.flops)}/s, {device.bandwidth / 1e9:,.0f} GB/s"
    core = f"{device.name} ({readable_bytes(device.memory)}, {speed})"
    yield f"Cost of a step of {cost.place}, on a core of a {core}"
    yield from memory_lines(cost)
    yield from tensor_lines(cost)
    yield from compute_lines(cost, device)
    tensors = ("tensor of unknown size is", "tensors of unknown size are")
    measured = ("loop that depends on data counts", "loops that depend on data count")
    loops = (
        "loop of an unknown number of rounds counts",
        "loops of unknown numbers of rounds count",
    )
    for number, (single, several), how in (
        (cost.unknown_shapes, tensors, "left out"),
        (cost.measured_loops, measured, "as often as it ran, on average"),
        (cost.uncounted_loops, loops, "once"),
    ):
        if number:
            yield f"  {number:,} {single if number == 1 else several} {how}."


def memory_lines(cost: StepCost) -> Iterator[str]:
    """Yield the memory: what is needed at least, and what would help where that is too much."""
    state = "Memory:" if cost.fits else "DOES NOT FIT: needs"
    yield f"  {state} at least {readable_bytes(cost.minimum)} of {readable_bytes(cost.capacity)}"
    rows: list[tuple[str, ...]] = [("", "size", "best layout", "row-major")]
    for row in cost.memory:
        what = f"{row.what} ({row.number:,}){'' if row.resident else ' *'}"
        rows.append((what, *map(readable_bytes, row.sizes)))
    yield from indented(rows)
    if not all(row.resident for row in cost.memory):
        yield "    * not in the minimum: not all of them need be there at the same time"
    everything = sum(row.sizes.best for row in cost.memory)
    if cost.changes and everything > cost.capacity:
        total = f"With all of these it would be {readable_bytes(everything)}. "
        yield f"  {total if cost.fits else ''}What helps most:"
        yield from (f"    {number}. {change}" for number, change in enumerate(cost.changes, 1))


def tensor_lines(cost: StepCost) -> Iterator[str]:
    if not cost.tensors:
        return
    yield "  Largest tensors"
    rows: list[tuple[str, ...]] = [("", "size", "best layout", "row-major", "made at")]
    for tensor in cost.tensors:
        times = f" x {tensor.number}" if tensor.number > 1 else ""
        what = f"{written_shape(tensor)}{times}"
        rows.append((what, *map(readable_bytes, tensor.sizes), made_at(tensor)))
    yield from indented(rows)


def compute_lines(cost: StepCost, device: Device) -> Iterator[str]:
    """Yield the FLOPs, and whether memory limits the step."""
    if not cost.products:
        yield "  Compute: no matrix product or convolution"
        return
    # A part of it is work, however small.
    share = min(1 - cost.flops / cost.padded_flops, 0.994)
    intensity = f"{cost.intensity:,.{0 if cost.intensity >= 10 else 1}f} FLOPs for each byte"
    flops, padded = written_flops(cost.flops), written_flops(cost.padded_flops)
    side = device.matrix_unit
    yield f"  Compute: {flops} in matrix products and convolutions, {padded} with padding"
    yield f"    to the matrix unit ({side} x {side}): {share:.0%} is padding"
    limit = f"below {cost.ridge:,.0f} memory is the limit"
    yield f"    At most {intensity} of variables and inputs; {limit}"
    rows: list[tuple[str, ...]] = [("", "FLOPs", "with padding", "FLOPs/byte", "made at")]
    for line in cost.products:
        times = f", {line.number:,} times" if line.number > 1 else ""
        what = f"{line.type} {line.rows} x {line.depth} x {line.columns}{times}"
        cells = (written_flops(line.flops), written_flops(line.padded_flops))
        rows.append((what, *cells, f"{line.intensity:,.1f}", made_at(line)))
    yield from indented(rows)


def made_at(line: LargeTensor | ProductLine) -> str:
    """Return the place, and the last parts of the operation's name."""
    return f"{line.place or '?'} ({'/'.join(line.name.split('/')[-2:])})"


def indented(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    return (f"     {line}" for line in table(rows))


def table(rows: Sequence[tuple[str, ...] | str]) -> list[str]:
    """Return the rows with numbers at the right of their columns; a row of one text stays."""
    wide = [row for row in rows if not isinstance(row, str)]
    widths = [max(map(len, column)) for column in zip(*wide, strict=True)]
    at_left = [column == 0 or name == "made at" for column, name in enumerate(wide[0])]
    lines = []
    for row in rows:
        if isinstance(row, str):
            lines.append(row)
            continue
        cells = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(row, widths, at_left, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def written_flops(flops: float) -> str:
    """Return FLOPs in powers of 1000."""
    for unit in ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs"):
        if flops < 1000:
            return f"{flops:.4g} {unit}"
        flops /= 1000
    return f"{flops:,.4g} TFLOPs"
