"""The classes of axes, the stages, their tasks and the bytes of their blocks, as text."""

from __future__ import annotations

from axiomjit.base.errors import amount
from axiomjit.graph.nodes import origin
from axiomjit.scale.axis_classes import Classified
from axiomjit.scale.partitions import Values, number
from axiomjit.scale.refusals import Arguments, in_bytes, operation_of
from axiomjit.scale.stages import Stage, demands


def report_text(
    classified: Classified, stages: tuple[Stage, ...], arguments: Arguments, values: Values
) -> str:
    """The report of a call: the class of each axis of each operation, then the stages."""
    lines = ["axes"]
    for one in classified.classes:
        where = origin(one.operation)
        place = f"  {where}" if where else ""
        name = operation_of(one.operation)
        lines.append(f"  {one.argument} axis {one.axis}: {one.name} in {name}{place}")
    lines.append("stages")
    for k, stage in enumerate(stages, 1):
        made = ", ".join(
            operation_of(one.node) + (" of a block" if one.partial else "") for one in stage.targets
        )
        size = in_bytes(_bytes_of(stage, classified, values))
        tasks = amount(stage.tasks, "task")
        lines.append(f"  {k}: {made}: {tasks}, reading up to {size} per block")
    return "\n".join(lines)


def _bytes_of(stage: Stage, classified: Classified, values: Values) -> int | None:
    """The number of bytes of all blocks that the largest task of a stage reads."""
    spans, leaves = demands(classified, stage.targets, values)
    total = 0
    for key in leaves:
        size = key[0].dtype.itemsize
        for length, span in zip(key[0].shape, spans[key], strict=True):
            if span is None:
                size *= number(length, values)
            elif not span.place.partition.is_known:
                return None
            else:
                size *= max(span.place.partition.known) + span.high - span.low
        total += size
    return total
