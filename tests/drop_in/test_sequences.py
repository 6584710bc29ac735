"""Random sequences with lazy arrays agree with NumPy; planted faults are found."""

from unittest.mock import patch

import pytest

from axiomjit.numpy import calls, handles, paths, positions, programs, segments
from axiomjit.numpy.handles import Handle
from tests.drop_in.sequences import Sequence, Step, campaign, draw, failure, shortest, way
from tests.drop_in.worlds import World, fresh_paths, longest_path
from tests.generator.budget import budget

SEQUENCES = budget(120)
TRIES = 250
"""The most sequences that are drawn until one shows a planted fault."""


@pytest.mark.parametrize(("name", "share"), [("evaluated", 1.0), ("compiled", 0.1)])
def test_sequences_mean_what_they_mean_in_numpy(name, share):
    failures = campaign(3, 0, int(SEQUENCES * share), name)
    assert not failures, "\n\n".join(failures[:3])


def test_sequences_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)
    assert eval(str(draw(0, 3))) == draw(0, 3)
    assert {step.thread for k in range(40) for step in draw(0, k).steps} == {"", "worker", "fresh"}


def test_second_runs_are_compiled():
    made = []
    compiled = programs.Program.compile

    def compile_one(program):
        made.append(program.text)
        compiled(program)

    steps = (Step("a = wrap(made('f8', (6,), k))"), Step("b = a * 2 + (k + 0.5)"))
    with way("compiled"), patch.object(programs.Program, "compile", compile_one):
        assert failure(Sequence(steps, looks="round")) is None
    assert any("v0 * 2" in text for text in made)


def forget_written():
    return patch.object(calls.Call, "written", lambda call: ())


def forget_exports():
    return patch.object(handles.Shared, "is_held", lambda shared: False)


def forget_readers():
    held = segments._held

    def only_named(summary, values, numbers):
        views = {values[n].root()._number for n in summary.views}
        return tuple(n for n in held(summary, values, numbers) if n not in views)

    return patch.object(segments, "_held", only_named)


def reuse_constants():
    def first_words(state, first, call, words):
        made = state.then(call, first.results, first.container, ())
        text = f"{first.statement.called({})} if True else {words[0]}"
        made.statement = first.statement.replace(parts=(text,), read=())
        made.words, made.arguments, made.line = tuple(words), (*state.arguments, *words), first.line
        return made

    return patch.object(paths.State, "like", first_words)


def ignore_cuts():
    return patch.object(paths.State, "is_full", lambda state: False)


def re_record_from_the_root():
    again = segments.Segment._view

    def view(segment, handle, operation, args, kwargs):
        first = args[0].root() if isinstance(args[0], Handle) else args[0]
        return again(segment, handle, operation, (first, *args[1:]), kwargs)

    return patch.object(segments.Segment, "_view", view)


def forget_other_threads():
    number = segments.Segment.number

    def forgetting(segment, handle):
        if handle._segment is not segment and handle._array is not None:
            handle._segment = None
        return number(segment, handle)

    return patch.object(segments.Segment, "number", forgetting)


def believe_positions():
    return patch.object(positions, "_fit", lambda shape, parts: True)


PLANTED = {
    "a write that is not recorded": forget_written,
    "an export that is forgotten": forget_exports,
    "a reader that is taken for dead": forget_readers,
    "the constant of the first time": reuse_constants,
    "a segment that does not end": ignore_cuts,
    "a view of another parent": re_record_from_the_root,
    "a leaf that another thread reads": forget_other_threads,
    "positions that are not checked": believe_positions,
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name):
    with way("evaluated"):
        with PLANTED[name]():
            tried = (draw(0, index) for index in range(TRIES))
            found, how = next((s, how) for s in tried if (how := failure(s)))
            if name == "a write that is not recorded":
                assert len(shortest(found, how).steps) <= 4
        assert failure(found) is None


def test_loops_end_segments():
    assert _longest_of_loop() <= 4
    with patch.object(
        segments, "user_place", lambda: ((object(), 0),)
    ):  # no place is that of the beginning
        assert _longest_of_loop() > 50


def _longest_of_loop():
    world = World(True)
    with way("evaluated"), fresh_paths(1, 200) as root:
        for text in ("a = wrap(made('f8', (6,)))", "for j in range(50):\n    a = a * 0.5 + j"):
            assert world.step(Step(text)) is None
        return longest_path(root)
