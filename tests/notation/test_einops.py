"""What rearrange, reduce and repeat of einops do, in label notation; docs/notation.md lists it."""

import re

import numpy as np
import pytest

import axiomjit as aj
from tests.structure.sources import ROOT

X = np.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3)  # b h w c
G = np.arange(24.0).reshape(4, 6)  # h w

PATTERNS = {
    "b h w c -> b c h w": ("bhwc=>bchw", X, {}, {}, X.transpose(0, 3, 1, 2)),
    "h w -> (h w)": ("h,w=>6*h<+w", G, {}, {}, G.reshape(-1)),
    "h w -> (w h)": ("h,w=>4*w<+h", G, {}, {}, G.T.reshape(-1)),
    "b h w c -> (b h) w c": ("b,h,w,c=>4*b<+h,w,c", X, {}, {}, X.reshape(8, 6, 3)),
    "h (w p) -> h w p": ("h,2*w<+p=>h,w,p", G, {"p": 2}, {}, G.reshape(4, 3, 2)),
    "(h p) (w q) -> h w (p q)": (
        *("2*h<+p,3*w<+q=>h,w,3*p<+q", G, {"p": 2, "q": 3}, {}),
        G.reshape(2, 2, 2, 3).transpose(0, 2, 1, 3).reshape(2, 2, 6),
    ),
    "... c -> c ...": ("...c=>c...", X, {}, {}, np.moveaxis(X, -1, 0)),
    "h w -> h 1 w": ("hw=>h0w", G, {}, {}, G[:, None]),
    "b h w c -> b c, mean": ("bhwc=>bc", X, {}, {"reduce": "mean"}, X.mean((1, 2))),
    "b h w c -> 1 1 1 c, max": (
        *("bhwc=>0 0 0 c", X, {}, {"reduce": "max"}),
        X.max((0, 1, 2), keepdims=True),
    ),
    "b (h 2) (w 2) c -> b h w c, max": (
        *("b,2*h<+p,2*w<+q,c=>b,h,w,c", X, {"p": 2, "q": 2}, {"reduce": "max"}),
        X.reshape(2, 2, 2, 3, 2, 3).max((2, 4)),
    ),
    "h w -> h w c": ("hw=>hwc", G, {"c": 3}, {}, np.repeat(G[:, :, None], 3, 2)),
    "h w -> (h 2) w": ("h,w=>2*h<+p,w", G, {"p": 2}, {}, np.repeat(G, 2, 0)),
    "h w -> (2 h) w": ("h,w=>4*p<+h,w", G, {"p": 2}, {}, np.tile(G, (2, 1))),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_of_einops(pattern):
    spec, array, sizes, options, want = PATTERNS[pattern]
    np.testing.assert_array_equal(aj.einsum(spec, array, sizes=sizes, **options), want)


def test_the_page_has_each_pattern():
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    table = text.partition("| einops | here |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(.+?)` \| `einsum\(\"(.+?)\"", table, re.MULTILINE)
    assert dict(rows) == {pattern: case[0] for pattern, case in PATTERNS.items()}


def test_merged_axes_are_not_gathered():
    @aj.jit
    def f(x):
        return aj.einsum("h,w=>40*h<+w", x) * 2.0

    x = np.ones((30, 40))
    assert f.lower(x).cost.temporary_bytes == 0
    np.testing.assert_array_equal(f(x), x.reshape(-1) * 2)
