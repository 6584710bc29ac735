"""Loops that were refused as regions, and may run between exits instead."""

from __future__ import annotations

from types import CodeType

from axiomjit.base.origins import is_users_frame, user_location
from axiomjit.functions.exits import split
from axiomjit.functions.outside import Wanted
from axiomjit.functions.source_lines import loops_of


def note_exit(wanted: Wanted, key: tuple[CodeType, bool], error: BaseException) -> None:
    """Note the line for which a loop was refused, if the line is in the body of the loop.

    Args:
        wanted: The requests of earlier traces of the function to the next trace.
        key: The body of the loop, as in `Wanted.repeated`.
        error: The reason.
    """
    where, loops = user_location(), loops_of(wanted.leaves)
    lines = dict(loops).get(where or "")
    line = 0 if where is None or lines is None else _line_of(error, where, lines)
    if not line:
        return
    made = split(wanted.leaves, {*wanted.exits, line}, None)
    with_exits = [] if made is None else [one.line for one in made.loops if one.exits]
    if any(line in one for _, one in loops if one.start in with_exits):
        wanted.exits.add(line)
        wanted.leaving.add(key)


def _line_of(error: BaseException | None, where: str, lines: range) -> int:
    """The last of `lines` at which an error or its cause was raised; 0 if there is none."""
    file, found = where.rpartition(":")[0], 0
    while error is not None:
        trail = error.__traceback__
        while trail is not None:
            here = trail.tb_lineno
            if trail.tb_frame.f_code.co_filename == file and is_users_frame(trail.tb_frame):
                found = here if here in lines[1:] else found
            trail = trail.tb_next
        error = error.__cause__
    return found
