"""Smaller programs that fail in the same way: each change is kept if the failure stays."""

import numpy as np

from tests.generator.draw import values_of
from tests.generator.programs import Array, At, Number, Program

ROUNDS, CHECKS = 12, 1500


def shrink(program, fails):
    """The smallest program found for which `fails` holds; every candidate is a valid one.

    Args:
        program: one for which it holds.
        fails: whether a program fails as the first one did.
    """
    left = [CHECKS]

    def accepts(candidate):
        left[0] -= 1
        return left[0] > 0 and values_of(candidate) is not None and fails(candidate)

    for _ in range(ROUNDS):
        before = program
        for changes in CHANGES:
            program = _improved(program, changes, accepts)
        if program is before or left[0] <= 0:
            break
    return program


def _improved(program, changes, accepts):
    """The program after every change of one kind that is accepted, each tried anew after one."""
    at = 0
    while True:
        candidates = list(changes(program))[at:]
        if not candidates:
            return program
        for candidate in candidates:
            if accepts(candidate):
                program = candidate
                break
            at += 1
        else:
            return program


def _fewer_outputs(program):
    if len(program.outputs) == 1:
        return
    for k in program.outputs:
        yield program._replace(outputs=(k,))
    for k in program.outputs:
        yield program._replace(outputs=tuple(o for o in program.outputs if o != k))


def _renumbered(steps, new):
    """Steps that read values under their new numbers."""

    def at(value):
        return At(new[value]) if isinstance(value, At) else value

    return tuple(
        step._replace(
            operands=tuple(map(at, step.operands)),
            options=tuple((name, at(value)) for name, value in step.options),
        )
        for step in steps
    )


def _returned(outputs, new):
    return tuple(dict.fromkeys(At(new[k]) for k in outputs))


def _without_unused(program):
    """The program without what no output needs."""
    count = len(program.arguments)
    needed, rest = set(), [*program.outputs]
    while rest:
        k = rest.pop()
        if k not in needed:
            needed.add(k)
            if k >= count:
                rest += program.steps[k - count].uses()
            elif hasattr(program.arguments[k], "whole"):
                rest.append(program.arguments[k].whole)
    kept = sorted(needed)
    if len(kept) == count + len(program.steps) or not any(k < count for k in kept):
        return
    new = {old: k for k, old in enumerate(kept)}
    arguments = [program.arguments[k] for k in kept if k < count]
    arguments = [a._replace(whole=new[a.whole]) if hasattr(a, "whole") else a for a in arguments]
    steps = [program.steps[k - count] for k in kept if k >= count]
    yield Program(tuple(arguments), _renumbered(steps, new), _returned(program.outputs, new))


def _fewer_steps(program):
    """Programs in which a step is one of its operands, or an argument that has its value."""
    count = len(program.arguments)
    total = count + len(program.steps)
    values = values_of(program) or []
    for k in reversed(range(count, total)):
        steps = program.steps[: k - count] + program.steps[k - count + 1 :]
        for operand in dict.fromkeys(program.steps[k - count].uses()):
            new = {j: j - (j > k) for j in range(total)}
            new[k] = operand
            outputs = _returned(program.outputs, new)
            yield Program(program.arguments, _renumbered(steps, new), outputs)
        if k < len(values) and np.asarray(values[k]).dtype.isnative:
            new = {j: j + (count <= j < k) for j in range(total)}
            new[k] = count
            given = (*program.arguments, Array(np.array(values[k], order="C")))
            outputs = _returned(program.outputs, new)
            cut = Program(given, _renumbered(steps, new), outputs)
            yield next(_without_unused(cut), cut)


def _plainer_steps(program):
    """Programs with an option less, or a simpler one."""
    for k, step in enumerate(program.steps):

        def other(new, k=k):
            return program._replace(steps=(*program.steps[:k], new, *program.steps[k + 1 :]))

        for j, (name, value) in enumerate(step.options):
            before, after = step.options[:j], step.options[j + 1 :]
            if name == "key":
                for i in range(len(value)):
                    whole = (*value[:i], slice(None), *value[i + 1 :])
                    for key in ((*value[:i], *value[i + 1 :]), whole):
                        if key != value:
                            yield other(step._replace(options=((name, key),)))
                continue
            yield other(step._replace(options=before + after))
            if isinstance(value, tuple):
                for i in range(len(value)):
                    shorter = (name, (*value[:i], *value[i + 1 :]))
                    yield other(step._replace(options=(*before, shorter, *after)))
        if "{many}" in step.form and len(step.operands) > 1:
            for j in range(len(step.operands)):
                fewer = (*step.operands[:j], *step.operands[j + 1 :])
                yield other(step._replace(operands=fewer))
        for j, operand in enumerate(step.operands):
            if not isinstance(operand, At) and not isinstance(operand, str) and operand != 1:
                one = (*step.operands[:j], 1, *step.operands[j + 1 :])
                yield other(step._replace(operands=one))


def _other_argument(program, k, new):
    arguments = (*program.arguments[:k], new, *program.arguments[k + 1 :])
    return program._replace(arguments=arguments)


def _plainer_arguments(program):
    """Programs with an argument in C order, and with numbers that are arrays."""
    built = program.build()
    for k, argument in enumerate(program.arguments):
        if isinstance(argument, Array) and argument.layout == "dense":
            continue
        plain = np.array(built[k], order="C")
        plain = plain.astype(plain.dtype.newbyteorder("="))
        yield _other_argument(program, k, Array(plain))
        if isinstance(argument, Number) and argument.value != 1:
            yield _other_argument(program, k, Number(1))


def _shorter(program):
    """Programs with fewer elements along all dimensions of one length, and along one dimension."""
    arrays = [(k, a) for k, a in enumerate(program.arguments) if isinstance(a, Array)]
    for n in sorted({n for _, a in arrays for n in a.values.shape}, reverse=True):
        for m in dict.fromkeys((1, 2, n // 2, n - 1)):
            if 0 < m < n:
                cut = tuple(
                    a._replace(values=_cut(a.values, n, m)) if isinstance(a, Array) else a
                    for a in program.arguments
                )
                yield program._replace(arguments=cut)
    for k, a in arrays:
        for axis, n in enumerate(a.values.shape):
            if n > 1:
                for kept in (range(n // 2), range(n // 2, n), 0, n - 1):
                    values = a.values.take(kept, axis)
                    yield _other_argument(program, k, a._replace(values=values))


def _cut(values, n, m):
    return values[tuple(slice(m if length == n else None) for length in values.shape)].copy()


def _plainer_values(program):
    """Programs with ones and zeros for elements, or with another dtype."""
    for k, a in enumerate(program.arguments):
        if not isinstance(a, Array):
            continue
        values = a.values
        for code in ("f8", "i8"):
            if values.dtype not in (np.dtype("f8"), np.dtype(code)) and values.dtype.kind != "b":
                with np.errstate(all="ignore"):
                    yield _other_argument(program, k, a._replace(values=values.real.astype(code)))
        constant = values.size < 2 or np.all(values == values.reshape(-1)[0])
        for one in (1,) if constant else (1, 0):
            if np.any(values != one):
                yield _other_argument(program, k, a._replace(values=np.full_like(values, one)))
        flat = values.reshape(-1)
        for j in range(min(flat.size, 40)):
            if flat[j] != 1 and values.dtype.kind != "b":
                simple = flat.copy()
                simple[j] = 1
                changed = simple.reshape(values.shape)
                yield _other_argument(program, k, a._replace(values=changed))


CHANGES = (
    _fewer_outputs,
    _without_unused,
    _fewer_steps,
    _plainer_steps,
    _plainer_arguments,
    _shorter,
    _plainer_values,
)
