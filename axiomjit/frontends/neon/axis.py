"""The standard axes of neon and their roles (ngraph axes, "Axes have context").

The lengths of these axes are not known at first; each length may be assigned once.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from axiomjit.axis.axis import make_axis, make_axis_role

ar: Final = SimpleNamespace()
ar.Height = make_axis_role()
ar.Width = make_axis_role()
ar.Depth = make_axis_role()
ar.Channel = make_axis_role()
ar.Channelout = make_axis_role()
ar.Time = make_axis_role()

ax: Final = SimpleNamespace()
# Image, feature map
ax.N = make_axis(name="N", docstring="minibatch size")
ax.C = make_axis(roles=[ar.Channel], docstring="number of input feature maps")
ax.D = make_axis(roles=[ar.Depth], docstring="input image depth")
ax.H = make_axis(roles=[ar.Height], docstring="input image height")
ax.W = make_axis(roles=[ar.Width], docstring="input image width")
# Filter, the kernel of a convolution
ax.R = make_axis(roles=[ar.Height], docstring="filter height")
ax.S = make_axis(roles=[ar.Width], docstring="filter width")
ax.T = make_axis(roles=[ar.Depth], docstring="filter depth")
ax.J = make_axis(roles=[ar.Channel], docstring="filter channel size (for crossmap pooling)")
ax.K = make_axis(roles=[ar.Channelout], docstring="number of output feature maps")
# Output
ax.M = make_axis(roles=[ar.Depth], docstring="output image depth")
ax.P = make_axis(roles=[ar.Height], docstring="output image height")
ax.Q = make_axis(roles=[ar.Width], docstring="output image width")
# Recurrent
ax.REC = make_axis(name="R", roles=[ar.Time], docstring="recurrent axis")
# Target
ax.Y = make_axis(docstring="target")
