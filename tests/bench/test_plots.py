"""Scales, units, markup and ratios: what the plots of a report stand on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axiomjit.bench.report import table
from axiomjit.bench.report.charts import (
    Axis,
    Bands,
    Chart,
    LinearScale,
    LogScale,
    Markup,
    breakable,
    join,
    log_scale,
    tag,
)
from axiomjit.bench.suite.records import NUMPY, OURS
from axiomjit.bench.suite.results import LOSS, TIE, WIN, PeerRatio, Ranking, shortened
from tests.bench.html_tree import read_html
from tests.bench.samples import result

POSITIVE = st.floats(1e-9, 1e12)


@settings(deadline=None)
@given(POSITIVE, st.floats(1.001, 1e12), st.integers(2, 9))
def test_ticks_lie_on_the_axis_and_are_few(low, factor, most):
    scale = LogScale(low, low * factor)
    ticks = scale.ticks(most)
    assert len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert all(low * (1 - 1e-6) <= tick <= low * factor * (1 + 1e-6) for tick in ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.9, 1.35, [0.9, 1, 1.1, 1.2, 1.3]),
        (0.5, 20, [0.5, 1, 2, 5, 10, 20]),
        (1, 1000, [1, 3, 10, 30, 100, 300, 1000]),
        (1e-9, 1, [1e-9, 1e-7, 1e-5, 1e-3, 0.1]),
    ],
)
def test_ticks_are_round(low, high, ticks):
    assert LogScale(low, high).ticks(7) == pytest.approx(ticks)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True), max_size=5))
def test_log_scale_has_room_whatever_the_values(values):
    scale = log_scale(value for value in values if not value > 1e300 and not 0 < value < 1e-300)
    assert 0 < scale.low < scale.high
    assert all(0 <= scale.place(value) <= 1 for value in values if 1e300 > value > 1e-300)


def test_places():
    log, linear = LogScale(1, 100), LinearScale(0, 4)
    assert [log.place(v) for v in (0.1, 1, 10, 100, 1000)] == [0, 0, 0.5, 1, 1]
    assert [linear.place(v) for v in (-1, 0, 1, 4, 5)] == [0, 0, 0.25, 1, 1]
    assert [Bands(2).place(v) for v in (0, 1)] == [0.75, 0.25]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (table.digits(0.00412), "0.0041"),
        (table.digits(0.02), "0.020"),
        (table.digits(0.0999), "0.10"),
        (table.digits(0.5), "0.50"),
        (table.digits(9.999), "10.0"),
        (table.digits(99.96), "100"),
        (table.digits(12345), "12345"),
        (table.seconds(0.9999), "1.00 s"),
        (table.seconds(1.25e-3), "1.25 ms"),
        (table.seconds(3e-10), "0.30 ns"),
        (table.seconds(0.0), "0 ns"),
        (table.count(1.25e10, "flop/s"), "12.5 Gflop/s"),
        (table.memory(1536), "1.50 KiB"),
        (table.memory(24 * 2**30), "24.0 GiB"),
        (table.short(1e-5, table.TIME), "10 µs"),
        (table.pace(0.4), "2.50× faster"),
        (table.pace(1.25), "1.25× slower"),
        (table.share(0.523), "52 %"),
        (table.share(0.0123), "1.2 %"),
        (table.shorten("abcdef", 6), "abcdef"),
        (table.shorten("abcdefg", 6), "abcde…"),
    ],
)
def test_quantities(text, expected):
    assert text == expected


def test_markup_escapes_everything_but_markup():
    inner = tag("b", "<i>")
    assert inner == "<b>&lt;i&gt;</b>"
    assert tag("p", inner, None, 1.5, title='"&', hidden=True, lang=None, open=False) == (
        '<p title="&quot;&amp;" hidden><b>&lt;i&gt;</b>1.5</p>'
    )
    assert tag("text", dx=-8.0, class_="a", text_anchor="end", view_box="0 0 1 1") == (
        '<text dx="-8" class="a" text-anchor="end" viewBox="0 0 1 1"></text>'
    )
    assert tag("br") == "<br>"
    assert isinstance(join("<", inner), Markup)


def test_names_break_after_underscores():
    assert breakable("a_<b_c") == "a_<wbr>&lt;b_<wbr>c"
    assert breakable("plain") == "plain"


def test_a_plot_labels_its_ticks():
    x = Axis("across", LogScale(1, 10), str, most=3)
    y = Axis("up", LinearScale(0, 1), lambda v: f"{v:.1f}", most=3)
    texts = [e.text for e in read_html(Chart("A & B", x, y).draw(340)).all("text")]
    assert texts == [*(str(t) for t in x.scale.ticks(3)), "0.0", "0.5", "1.0", "across", "up"]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.5, 0.99, WIN), (0.9, 1.1, TIE), (1.01, 2.0, LOSS), (1.0, 2.0, TIE), (0.5, 1.0, TIE)],
)
def test_verdicts_follow_the_interval(low, high, verdict):
    assert PeerRatio("jax", 1.0, low, high).verdict == verdict


def test_ratios_divide_by_the_peer():
    made = result()
    ranking = Ranking(made, 1)
    jacobi = made.case("jacobi")
    assert ranking.ratio_to(jacobi, NUMPY).ratio == jacobi.run(OURS).at(1).ratio == 0.27
    against = ranking.ratio_to(jacobi, "jax")
    assert against.ratio == pytest.approx(0.27 / 2.2)
    assert against.low <= against.ratio <= against.high
    assert ranking.ratio_to(made.case("exp"), "jax") is None


def test_ratios_without_samples_combine_the_two_intervals():
    made = result()
    kept = made.replace(
        cases=tuple(
            case.replace(
                runs=tuple(
                    run.replace(timings=tuple(t.replace(samples_s=()) for t in run.timings))
                    for run in case.runs
                )
            )
            for case in made.cases
        )
    )
    found = Ranking(kept, 1).ratio_to(kept.case("jacobi"), "jax")
    # Both medians are known to 2 %, so the ratio to about 2.8 %.
    assert found.ratio == pytest.approx(0.27 / 2.2)
    assert found.low == pytest.approx(found.ratio * 0.972, rel=1e-3)
    assert found.high == pytest.approx(found.ratio * 1.0285, rel=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_ratios_of_a_kept_result_are_those_of_its_samples(threads):
    made = result()
    ranking, kept = Ranking(made, threads), shortened(made)
    assert {t.samples_s for c in kept.cases for r in c.runs for t in r.timings} == {()}
    found = [
        (own, ranking.ratio_to(case, own.peer))
        for case in kept.cases
        for own in Ranking(kept, threads).ratios(case)
    ]
    assert {own.peer for own, _ in found} == set(ranking.peers)
    for own, full in found:
        assert own.ratio == pytest.approx(full.ratio, rel=1e-4)
        assert (own.low, own.high) == pytest.approx((full.low, full.high), rel=1e-4)


def test_scores_are_geometric_means():
    made = result()
    ranking = Ranking(made, 1)
    pair = [made.case("axpy"), made.case("max"), made.case("exp")]
    found = ranking.score(NUMPY, pair)
    assert found.mean == pytest.approx((0.58 * 1.41) ** 0.5)
    assert (found.best, found.worst) == (0.58, 1.41)
    assert found.verdicts == {WIN: 1, TIE: 0, LOSS: 1}
    assert ranking.score(NUMPY, [made.case("exp")]) is None


def test_losses_come_first_then_what_is_not_run():
    made = result()
    ranking = Ranking(made, 1)
    ordered = ranking.losses_first()
    ranks = [
        0 if ranking.verdict(case) == LOSS else 1 if ranking.time(case) is None else 2
        for case in ordered
    ]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2}
    worst = [max(s.ratio for s in ranking.ratios(c)) for c in ordered[: ranks.count(0)]]
    assert worst == sorted(worst, reverse=True)
