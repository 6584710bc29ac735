"""Programs of `gradient_programs` for JAX: writes into arrays become new arrays."""

import ast
import types

try:
    import jax
    import jax.numpy as jnp
    import jax.scipy.special
    from jax import lax
except ImportError:  # its tests are skipped
    jax = None

SETS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
SCATTERS = {"add": "add", "subtract": "subtract", "maximum": "max", "minimum": "min"}


class _WithoutWrites(ast.NodeTransformer):
    """Writes as functions of the array: `u[k] = v` becomes `u = u.at[k].set(v)`."""

    def __init__(self, repeated):
        """Refuse writes at the positions in `repeated`: JAX leaves open which of them stays."""
        self.repeated = repeated

    def visit_Assign(self, node):
        self.generic_visit(node)
        (target,) = node.targets
        if not isinstance(target, ast.Subscript):
            return node
        self.refuse_repeated(target)
        return _changed(target, "set", node.value)

    def refuse_repeated(self, target):
        if any(isinstance(n, ast.Name) and n.id in self.repeated for n in ast.walk(target.slice)):
            raise NotImplementedError("a write at repeated positions")

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript):
            self.refuse_repeated(node.target)
            return _changed(node.target, SETS[type(node.op)], node.value)
        left = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.BinOp(left, node.op, node.value))

    def visit_Expr(self, node):
        """`np.add.at(u, k, v)`."""
        array, key, value = node.value.args
        name = SCATTERS[node.value.func.value.attr]
        return _changed(ast.Subscript(array, key, ast.Store()), name, value)


def _changed(target, name, value):
    """`target = target.at[key].name(value)` for the array of a target."""
    array = target.value
    at = ast.Attribute(ast.Name(array.id, ast.Load()), "at", ast.Load())
    place = ast.Subscript(at, target.slice, ast.Load())
    call = ast.Call(ast.Attribute(place, name, ast.Load()), [value], [])
    return ast.Assign([ast.Name(array.id, ast.Store())], call)


def _names(names):
    """The names of a program's module, in JAX."""
    given = {name: jnp.asarray(v) if hasattr(v, "shape") else v for name, v in names.items()}
    regions = {name: getattr(lax, name) for name in ("cond", "scan", "fori_loop", "while_loop")}
    others = {name: getattr(jax, name) for name in ("grad", "jvp", "vmap", "checkpoint")}
    special = {
        name: getattr(jax.scipy.special, other, None)
        for name, other in {
            **{
                name: name
                for name in (
                    *("erf", "erfc", "expit", "logit", "gammaln", "gamma", "ndtr", "log_ndtr"),
                    *("ndtri", "erfinv", "i0", "i1", "xlogy", "zeta"),
                )
            },
            "psi": "digamma",
        }.items()
    }
    return given | {
        "np": jnp,
        "aj": types.SimpleNamespace(**regions, **others),
        "special": types.SimpleNamespace(**special),
    }


def gradients(text, names, arrays, loss):
    """The gradients of the loss of a program by its arrays; None if JAX cannot run it.

    Args:
        text: The text of the function `program`.
        names: The names that it reads.
        arrays: The arguments.
        loss: The function of a program that returns the function of its arrays.
    """
    # Of these, NumPy reads a triangle, and JAX the mean of both.
    if any(name in text for name in ("cholesky", "eigh(", "eigvalsh(")):
        return None
    places = {k: v for k, v in names.items() if getattr(v, "dtype", None) == "i8" and v.ndim == 1}
    repeated = {name for name, v in places.items() if len(set(v.tolist())) < len(v)}
    with jax.enable_x64(True):
        known = _names(names)
        try:
            tree = ast.fix_missing_locations(_WithoutWrites(repeated).visit(ast.parse(text)))
            exec(compile(tree, "<in JAX>", "exec"), known)
            found = jax.grad(loss(known["program"]), argnums=(0, 1, 2))(*map(jnp.asarray, arrays))
        except (
            NotImplementedError,
            TypeError,
            AttributeError,
            ValueError,
            IndexError,
            jax.errors.JAXTypeError,
        ):
            return None
        return [jax.device_get(one) for one in found]
