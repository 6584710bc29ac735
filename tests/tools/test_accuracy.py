"""The measurement of accuracy: it finds what is planted, everywhere it says that it looks."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from axiomjit.base.errors import BenchError
from axiomjit.runtime.elementary.functions import RECIPES
from tools.elementary import accuracy
from tools.elementary.accuracy import at_boundaries, look, measure, run, summary
from tools.elementary.accuracy_cases import CASES, CHUNK, boundaries, every_single, samples
from tools.elementary.accuracy_tables import PAGE, replace_rows
from tools.elementary.recipe_edges import edges, floats, neighbours, ordered
from tools.elementary.references import reference, rounded, settled
from tools.elementary.ulps import scan, two_parts, ulps

WORST_ANGLE = 6381956970095103 * 2.0**797
"""The double that lies nearest to a multiple of pi / 2."""


def planted(monkeypatch, name, place, units=3):
    """Our function, which is some units off at one place."""
    right = accuracy.function_of(name)

    def wrong(x):
        result = right(x).copy()
        here = x == place
        result[here] = floats(ordered(result[here]) + units)
        return result

    monkeypatch.setattr(accuracy, "function_of", lambda name: wrong)


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_distances_are_those_of_exact_arithmetic(code):
    info = np.finfo(code)
    near = neighbours(
        np.array([1.0, 2.0, -4.0, 0.1, info.tiny, 8 * info.smallest_subnormal], code), 3
    )
    got, want, exact = np.repeat(near, 5), [], []
    with mp.workprec(200):
        for value in near:
            for offset in (-2.7, -0.4, 0.0, 0.3, 1.2):
                want.append(mpf(float(value)) + offset * mpf(float(np.spacing(abs(value)))))
                power = max(mp.frexp(want[-1])[1] - 1 if want[-1] else info.minexp, info.minexp)
                unit = mpf(2) ** (power - info.nmant)
                exact.append(float(abs(mpf(float(value)) - want[-1]) / unit))
    exact, wide = np.array(exact), np.array([rounded(value) for value in want])
    np.testing.assert_allclose(ulps(got, wide), exact, rtol=0, atol=2e-3)
    seen = scan(got, two_parts(wide), None, -1.0)
    assert np.all(seen.errors >= 0.998 * exact - 1e-9)
    assert np.all(seen.errors <= np.maximum(2.002 * exact, exact + 1e-3))


@pytest.mark.parametrize(
    ("got", "want", "error"),
    [
        (np.nan, np.nan, 0),
        (np.nan, 1, np.inf),
        (1, np.nan, np.inf),
        (np.inf, np.inf, 0),
        (np.inf, -np.inf, np.inf),
        (np.inf, 1, np.inf),
        (-0.0, -0.0, 0),
        (-0.0, 0.0, np.inf),
        (-0.0, np.ldexp(np.longdouble(1), -3000), np.inf),
        (1, -np.inf, np.inf),
    ],
)
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_special_values(code, got, want, error):
    value, wide = np.array([got], code), np.array([np.longdouble(want)])
    with np.errstate(all="ignore"):
        errors = ulps(value, wide)[0], scan(value, two_parts(wide), None, -1.0).errors[0]
    assert np.minimum(errors, 1e6).tolist() == [min(error, 1e6)] * 2


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_overflow_is_a_unit_from_the_largest_number(code):
    info = np.finfo(code)
    end = np.ldexp(np.longdouble(1), info.maxexp)
    values = np.array([np.inf, info.max, np.inf, info.max], code)
    got = ulps(values, np.array([end * 3, end * 3, info.max, info.max]))
    assert got.tolist() == [0, 1, 1, 0]


def test_an_exact_result_below_the_normal_numbers_keeps_its_bits():
    value = mpf("2.3") * mpf(2) ** -1074
    assert float(rounded(value) / np.ldexp(np.longdouble(1), -1074)) == pytest.approx(
        2.3, abs=1e-15
    )
    got = np.array([2 * 5e-324])
    assert scan(got, two_parts(np.array([rounded(value)])), None, -1.0).errors[0] == pytest.approx(
        0.3
    )


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_of_longdouble_numbers(name):
    x = np.linspace(-4, 4, 41, dtype="g")
    got = reference(name, "g")(x)
    assert np.all(ulps(got.astype("f8"), got) <= 0.5)
    exact = settled(CASES[name].exact, [x.astype("f8")], got)
    assert np.all(abs(got - exact) <= 2.0**-60 * abs(exact))
    assert np.all(ulps(reference(name, "f8")(x.astype("f8")), got) < 4)


def test_an_error_at_one_number_of_all_singles_is_found(monkeypatch):
    number = 8099  # a chunk of numbers a little above 0.77
    clean = measure("log", "f4", every_single(number, number + 1))
    x = next(every_single(number, number + 1))[0][77]
    assert 0.7 < x < 0.8
    planted(monkeypatch, "log", x)
    found = measure("log", "f4", every_single(number, number + 1))
    assert clean.ours < 1.5 < 2 < found.ours
    assert found.at == (float(x),)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.parity])
def test_halves_of_chunks_of_all_singles_are_each_other_negated(name):
    chunk = next(every_single(8099, 8100))
    assert np.array_equal(chunk[0][: CHUNK // 2], -chunk[0][CHUNK // 2 :])
    once, twice = (look(name, "f4", [chunk], 10, single=single)[0] for single in (True, False))
    assert np.sort(once.errors) == pytest.approx(np.sort(twice.errors), abs=1e-6)
    assert max(once.errors) < 1


def test_all_singles_are_there_once():
    ends = [next(every_single(number, number + 1))[0] for number in (0, (1 << 32) // CHUNK - 1)]
    assert [ends[0][0], ends[0][CHUNK // 2]] == [0, 0]
    assert np.signbit(ends[0][CHUNK // 2])
    assert [hex(v) for v in ends[1][-1:].view("u4")] == ["0xffffffff"]
    assert [hex(v) for v in ends[1][CHUNK // 2 - 1 : CHUNK // 2].view("u4")] == ["0x7fffffff"]


def test_the_command_writes_rows_as_long_as_the_heading(tmp_path, monkeypatch, capsys):
    page = tmp_path / "accuracy.md"
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(accuracy, "PAGE", page)
    words = ["accuracy", "hypot", "erf", "--f4", "1000", "--f8", "1000", "--write"]
    monkeypatch.setattr("sys.argv", words)
    accuracy.main()
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| erf")]
    assert [line.split(" | ")[1:3] for line in shown] == [["f4", "1e3"], ["f8", "1e3"]]
    rows = [line for line in page.read_text().splitlines() if line.startswith("| erf | 1e3")]
    assert rows[0].count("|") == 12
    monkeypatch.setattr("sys.argv", ["accuracy", "sinus"])
    with pytest.raises(SystemExit):
        accuracy.main()
    assert "sinus: not among exp, exp2" in capsys.readouterr().err


def test_an_error_at_one_sample_is_found_in_mpmath(monkeypatch):
    chunk = next(samples(CASES["exp"], "f8", 3000))[0]
    planted(monkeypatch, "exp", chunk[99])
    found = measure("exp", "f8", samples(CASES["exp"], "f8", 3000), keep=5)
    assert found.ours > 2
    assert found.at == (chunk[99],)
    assert found.nearest < 1


@pytest.mark.parametrize("place", ["end", "threshold", "power of two"])
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_an_error_at_a_boundary_is_found(monkeypatch, code, place):
    kind, largest = np.dtype(code).type, math.log(float(np.finfo(code).max))
    bend = kind(0.3371)
    if place == "threshold":
        monkeypatch.setitem(RECIPES, "tanh", lambda m, x: m.select(abs(x) < float(bend), x, -x))
    name, at = {
        "end": (
            "exp",
            kind(largest) if kind(largest) <= largest else np.nextafter(kind(largest), 0),
        ),
        "threshold": ("tanh", np.nextafter(bend, kind(0))),
        "power of two": ("log", kind(2.0**-37)),
    }[place]
    planted(monkeypatch, name, at)
    assert at in boundaries(name, code)[0]
    edge = at_boundaries(name, code)
    assert edge[0].worst()[0] > 2
    assert edge[0].worst()[1] == (float(at),)
    pair = look(name, code, samples(CASES[name], code, 4096), 100)
    assert summary(code, pair, edge).at == (float(at),)


def test_edges_of_a_recipe_are_adjacent_numbers():
    low, high = np.split(edges("exp", "f8", CASES["exp"].spans), 2)
    assert np.all(ordered(high) - ordered(low) == 1)
    # where it is infinite, where it is 0, and where exponents change
    for value in (709.782712893384, -745.1332191019412, *(math.log(2) * (k + 0.5) for k in (0, 2))):
        assert np.min(abs(low - value)) < 1e-12


def test_pairs_hold_edges_along_both_operands():
    x, y = boundaries("hypot", "f4")
    for values, others in ((x, y), (y, x)):
        assert np.count_nonzero(others == 2) > 100
        assert np.any((values == np.inf) & (others == 0))
    assert np.any((x == 3) & (y == 4))


def test_the_angle_nearest_to_a_multiple_of_a_quarter_turn_is_a_boundary():
    assert WORST_ANGLE in boundaries("sin", "f8")[0]


def test_the_worst_of_all_chunks_are_kept():
    chunks = list(samples(CASES["log"], "f8", 2 * CHUNK))
    apart = [look("log", "f8", [chunk], 50)[0] for chunk in chunks]
    together = look("log", "f8", chunks, 50)[0]
    apart[0].add(apart[1])
    assert sorted(apart[0].errors) == sorted(together.errors)
    assert len(together.errors) == 50
    assert (apart[0].counted, apart[0].off) == (together.counted, together.off)


def test_processes_find_what_one_finds(capsys):
    counts = {"f4": 2000, "f8": 1000}
    alone = list(run(["cbrt"], counts, 1))
    assert alone == list(run(["cbrt"], counts, 2))
    assert [line[:3] for line in alone] == [("cbrt", "f4", 2000), ("cbrt", "f8", 1000)]
    assert "4/4 cbrt f8" in capsys.readouterr().err


def test_rows_are_written_into_a_document(tmp_path):
    page = tmp_path / "page.md"
    heading = "| function | ulp |\n|---|---|\n"
    page.write_text(f"text\n<!-- here -->\n{heading}| sin | 9 |\n<!-- end of here -->\nmore\n")
    replace_rows(page, "here", [("cos", ["2"]), ("sin", ["1"])], ["sin", "cos"])
    replace_rows(page, "here", [("cos", ["3"])], ["sin", "cos"])
    rows = "| sin | 1 |\n| cos | 3 |\n"
    assert page.read_text() == f"text\n<!-- here -->\n{heading}{rows}<!-- end of here -->\nmore\n"
    with pytest.raises(BenchError, match="2 figures for sin"):
        replace_rows(page, "here", [("sin", ["1", "2"])], ["sin"])
    with pytest.raises(BenchError, match="no such comments"):
        replace_rows(page, "there", [], [])
