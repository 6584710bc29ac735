"""The snippets of the documents run, and their arrows hold.

Sources, see docs/sources.md: the early (000) and the later (001) edition of ngraph axes, and ngraph
tensors (002). Imports are those of this package, `Namespace` is supplied; the
listing in two columns is one text per column. Arrows between axes alone are in test_tensors.
"""

import argparse
import re

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.axis.axis import make_axis
from axiomjit.base.errors import AxesError

PRELUDE = """
import numpy as np
import axiomjit as ng
import axiomjit.transformers as ngt
"""


def run(snippet, **given):
    """What the names of a snippet stand for after it ran."""
    names = dict(given)
    exec(PRELUDE, names)
    exec(snippet, names)
    return names


# 000 and 001, "Axis and Axes"
AXES = """
H = ng.make_axis(length=3, name='height')
W = ng.make_axis(length=4, name='width')
axes = ng.make_axes([H, W])
image = ng.placeholder(axes)
"""


def test_axis_and_axes():
    names = run(AXES)
    assert (names["H"].length, names["H"].name) == (3, "height")
    assert names["axes"].lengths == (3, 4)
    assert names["image"].axes == names["axes"]


# 000 and 001: "We can also delay the specification of the axis length"
DELAYED = {
    "000": """
H = ng.make_axis(length=3, name='height')
W = ng.make_axis(length=4, name='width')
image = ng.placeholder([H, W])
H.length = 3
W.length = 4
""",
    "001": """
H = ng.make_axis(name='height')
W = ng.make_axis(name='width')
image = ng.placeholder([H, W])
H.length = 3
W.length = 4
""",
}


@pytest.mark.parametrize("document", DELAYED)
def test_delayed_lengths(document):
    image = run(DELAYED[document])["image"]
    assert image.axes.lengths == (3, 4)
    comp = aj.transformers.make_transformer().computation(image + 1, image)
    np.testing.assert_array_equal(comp(np.ones((3, 4))), np.full((3, 4), 2))


# 000 and 001, "Properties", 1
EQUAL = """
import numpy as np
import axiomjit as ng
import axiomjit.transformers as ngt

H = ng.make_axis(length=2)
W = ng.make_axis(length=3)
np_val = np.random.rand(2, 3)
x = ng.constant(np_val, [H, W])
y = ng.constant(np_val.T, [W, H])
z = ng.equal(x, y)

trans = ngt.make_transformer()
comp = trans.computation([z])
z_val = comp()[0]
print(z_val)
"""
# 000 and 001, "Elementwise Binary Ops", one column each
SUM = """
x = ng.constant(np.ones((2, 3)), [H, W])
y = ng.constant(np.ones((3, 2)), [W, H])
z = {}

trans = ngt.make_transformer()
comp = trans.computation([z])
z_val = comp()[0]
print(z_val)
print(z_val.shape)
"""
PRINTED = [
    (EQUAL, "[[ True  True  True]\n [ True  True  True]]\n"),
    (SUM.format("x + y"), "[[ 2.  2.  2.]\n [ 2.  2.  2.]]\n(2, 3)\n"),
    (SUM.format("y + x"), "[[ 2.  2.]\n [ 2.  2.]\n [ 2.  2.]]\n(3, 2)\n"),
]


@pytest.mark.parametrize(("snippet", "printed"), PRINTED)
def test_snippets_print_what_they_say(snippet, printed, capsys):
    # The documents show how NumPy printed floats until 1.13.
    with np.printoptions(legacy="1.13"):
        run(snippet, H=make_axis(2), W=make_axis(3))
    assert capsys.readouterr().out == printed


def test_an_axis_occurs_at_most_once():  # 000 and 001, "Properties", 2
    names = run("H = ng.make_axis(length=2)\nW = ng.make_axis(length=2)")
    with pytest.raises(AxesError, match="more than once"):
        run("x = ng.constant(np.ones((2, 2)), [H, H])", **names)
    assert repr(run("x = ng.constant(np.ones((2, 2)), [H, W])", **names)["x"].eval())


# 000 and 001, "Properties", 3
ROLES = """
ar = Namespace()
ar.Height = ng.make_axis_role()
ar.Width = ng.make_axis_role()
ar.Depth = ng.make_axis_role()
ar.Channel = ng.make_axis_role()
ar.Channelout = ng.make_axis_role()
ar.Time = ng.make_axis_role()
"""
CONTEXT = """
ax = Namespace()
ax.N = ng.make_axis(name='N', docstring="minibatch size")
ax.C = ng.make_axis(roles=[ar.Channel], docstring="number of input feature maps")
ax.D = ng.make_axis(roles=[ar.Depth], docstring="input image depth")
ax.H = ng.make_axis(roles=[ar.Height], docstring="input image height")
ax.W = ng.make_axis(roles=[ar.Width], docstring="input image width")
ax.R = ng.make_axis(roles=[ar.Height], docstring="filter height")
ax.S = ng.make_axis(roles=[ar.Width], docstring="filter width")
ax.T = ng.make_axis(roles=[ar.Depth], docstring="filter depth")
ax.J = ng.make_axis(roles=[ar.Channel], docstring="filter channel size (for crossmap pooling)")
ax.K = ng.make_axis(roles=[ar.Channelout], docstring="number of output feature maps")
ax.M = ng.make_axis(roles=[ar.Depth], docstring="output image depth")
ax.P = ng.make_axis(roles=[ar.Height], docstring="output image height")
ax.Q = ng.make_axis(roles=[ar.Width], docstring="output image width")
ax.REC = ng.make_axis(name='R', roles=[ar.Time], docstring="recurrent axis")
ax.Y = ng.make_axis(docstring="target")
"""


def test_the_neon_axes_are_those_of_the_document():
    from axiomjit.frontends.neon.axis import ar, ax

    names = run(ROLES + CONTEXT, Namespace=argparse.Namespace)
    roles, axes = vars(names["ar"]), vars(names["ax"])
    assert list(vars(ar)) == list(roles)
    assert list(vars(ax)) == list(axes)
    for name, axis in vars(ax).items():
        written = axes[name]
        assert (axis.name, axis.docstring) == (written.name, written.docstring)
        own = [role for role, value in vars(ar).items() if axis.has_role(value)]
        assert own == [role for role, value in roles.items() if written.has_role(value)]
        assert axis.length is None
    assert len({*vars(ax).values()}) == 15
    assert ax.R is not ax.REC
    # Sharing a role does not make axes match.
    assert list((aj.placeholder([ax.H]) + aj.placeholder([ax.R])).axes) == [ax.H, ax.R]


def arrows(text):
    """The lines of a text with an arrow: what is computed, and the axes it gives."""
    return [re.split(r"\s+#?->\s+", line) for line in text.strip().splitlines()]


NEON = "from axiomjit.frontends.neon.axis import ax\n"
OWN = """
ax_C = ng.make_axis(name="C", docstring="number of input feature maps")
ax_H = ng.make_axis(name="H", docstring="input image height")
ax_W = ng.make_axis(name="W", docstring="input image width")
C, H, W = ax_C, ax_H, ax_W
"""
REDUCTIONS_000 = """
ng.sum(x, reduction_axes=[])            -> [ax.C, ax.H, ax.W]
ng.sum(x, reduction_axes=[ax.C])        -> [ax.H, ax.W]
ng.sum(x, reduction_axes=[ax.C, ax.W])  -> [ax.H]
ng.sum(x, reduction_axes=[ax.W, ax.C])  -> [ax.H]
ng.sum(x, reduction_axes=x.axes)        -> []
"""
REDUCTIONS_001 = """
ng.sum(x, reduction_axes=[])            #-> [C, H, W]
ng.sum(x, reduction_axes=[ax_C])        #-> [H, W]
ng.sum(x, reduction_axes=[ax_C, ax_W])  #-> [H]
ng.sum(x, reduction_axes=[ax_W, ax_C])  #-> [H]
ng.sum(x, reduction_axes=x.axes)        #-> []
"""
BROADCASTS_000 = """
ng.broadcast(x, [ax.C, ax.H, ax.W])  -> [ax.C, ax.H, ax.W]
ng.broadcast(x, [ax.W, ax.H, ax.C])  -> [ax.W, ax.H, ax.C]
"""
BROADCASTS_001 = """
ng.broadcast(x, [ax_C, ax_H, ax_W])  #-> [C, H, W]
ng.broadcast(x, [ax_W, ax_H, ax_C])  #-> [W, H, C]
"""
ORDERS_000 = "ng.axes_with_order(x, [ax.H, ax.W, ax.C])  -> [ax.H, ax.W, ax.C]"
ARROWS = [
    (NEON + "x = ng.placeholder([ax.C, ax.H, ax.W])", REDUCTIONS_000),
    (OWN + "x = ng.placeholder([ax_C, ax_H, ax_W])", REDUCTIONS_001),
    (NEON + "x = ng.placeholder([ax.C, ax.H])", BROADCASTS_000),
    (OWN + "x = ng.placeholder([ax_C, ax_H])", BROADCASTS_001),
    (NEON + "x = ng.placeholder([ax.C, ax.H, ax.W])", ORDERS_000),
]


@pytest.mark.parametrize(("snippet", "text"), ARROWS)
def test_arrows_of_functions(snippet, text):
    names = run(snippet)
    for code, axes in arrows(text):
        assert list(eval(code, names).axes) == eval(axes, names)


CASTING = """
# assume C1.length == C2.length == 100
hidden_1 = ng.constant(np.ones((100, 128)), [C1, N])
hidden_2 = ng.constant(np.ones((100, 128)), [C2, N])

# if we add directly without casting
sum_direct = hidden_1 + hidden_2  # sum_direct has axes: [C1, C2, N]

# cast before sum
hidden_2_cast = ng.cast_axes(hidden_2, [C1, N])
sum_cast = hidden_1 + hidden_2_cast  # sum_cast has axes: [C1, N]
"""


def test_casting():  # 000 and 001, "Axes Casting"
    c1, c2, n = make_axis(100, "C1"), make_axis(100, "C2"), make_axis(128, "N")
    names = run(CASTING, C1=c1, C2=c2, N=n)
    # The comment is compared as a set: rule 3 of the same document gives this order.
    assert list(names["sum_direct"].axes) == [c1, n, c2]
    assert list(names["sum_cast"].axes) == [c1, n]
    np.testing.assert_array_equal(names["sum_cast"], np.full((100, 128), 2))


# 002: the second L2, without a temporary, against the loop that is generated
LOOP = re.compile(
    r"for (i\d+) in range\(.*\):\n"
    r" +(v\d+) = load\(a0, \1\)\n"
    r" +(v\d+) = load\(a1, \1\)\n"
    r" +(v\d+) = \2 - \3\n"
    r" +(v\d+) = \4 \* \4\n"
    r" +(s\d+) = add_reassoc\(\6, \5\)\n"
)


@pytest.mark.parametrize("orders", [("H", "H"), ("HW", "HW"), ("HW", "WH"), ("HW", "W")])
def test_l2_is_one_loop_without_temporaries(orders):
    axes = {"H": make_axis(60, "H"), "W": make_axis(70, "W")}
    x, y = (aj.placeholder([axes[letter] for letter in order]) for order in orders)
    names = run("norm = ng.dot((x - y).T, x - y)", x=x, y=y)
    comp = aj.transformers.make_transformer().computation(names["norm"], x, y)
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=z.axes.lengths) for z in (x, y))
    lowered = comp.lower(a, b)
    cost = lowered.cost
    assert (cost.kernels, cost.library_calls, cost.temporary_bytes) == (1, 0, 0)
    assert len(lowered.kernels) == 1
    if orders[0] == orders[1]:
        assert LOOP.search(lowered.source), lowered.source
    same = b.T if orders == ("HW", "WH") else b
    np.testing.assert_allclose(comp(a, b), ((a - same) ** 2).sum(), rtol=1e-13)
