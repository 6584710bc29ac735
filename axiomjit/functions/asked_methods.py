"""Special methods of arguments that functions of Python's library call."""

from __future__ import annotations

from typing import Final


def _methods(words: str) -> tuple[str, ...]:
    return tuple(map("__{}__".format, words.split()))


COMPARISONS: Final = _methods("lt le gt ge eq ne")
_TEXT: Final = _methods("str repr")
_KEY: Final = _methods("hash eq")
_NEXT: Final = _methods("iter next getitem")
_ITERATION: Final = (*_NEXT, *_methods("len length_hint"))
_ADDITION: Final = _methods("add radd")
NUMBERS: Final = _methods("float complex index int ceil floor trunc")
"""Special methods of arguments that `math` and `cmath` call."""
ALL: Final = (
    *_methods(
        """
        abs add aenter aexit array array_function array_ufunc array_interface array_struct
        array_priority array_wrap array_finalize bool buffer bytes call ceil class_getitem complex
        contains copy deepcopy del delattr delete delitem dir divmod dlpack dlpack_device enter eq
        exit float floor floordiv format fspath ge get getattr getattribute getitem getnewargs
        getnewargs_ex getstate gt hash iadd iand ifloordiv ilshift imatmul imod imul index
        instancecheck int invert ior ipow irshift isub iter itruediv ixor le len length_hint lshift
        lt matmul missing mod mul ne neg next or pos pow radd rand rdivmod reduce reduce_ex repr
        reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv
        rxor set setattr setitem setstate sizeof str sub subclasscheck truediv trunc xor
        """
    ),
    "keys",
)
"""The special methods that an unknown use of an object may call; the use may also read
attributes."""

# By function: the special methods of an argument that it calls, and those of the entries.
_BUILTINS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "abs": (_methods("abs"), ()),
    "all": (_NEXT, _methods("bool len")),
    "any": (_NEXT, _methods("bool len")),
    "ascii": (_methods("repr"), _methods("repr")),
    "bin": (_methods("index"), ()),
    "bool": (_methods("bool len"), ()),
    "callable": ((), ()),
    "chr": (_methods("index"), ()),
    "delattr": (_methods("delattr delete"), ()),
    "dict": (("keys", *_ITERATION), (*_KEY, *_NEXT)),
    "divmod": (_methods("divmod rdivmod"), ()),
    "enumerate": ((*_NEXT, "__index__"), ()),
    "float": (_methods("float index"), ()),
    "format": ((*_methods("format"), *_TEXT), _TEXT),
    "frozenset": (_ITERATION, _KEY),
    "getattr": (_methods("getattribute getattr get"), ()),
    "hasattr": (_methods("getattribute getattr get"), ()),
    "hash": (_methods("hash"), _methods("hash")),
    "hex": (_methods("index"), ()),
    "int": (_methods("int index trunc"), ()),
    "isinstance": (_methods("instancecheck"), _methods("instancecheck")),
    "issubclass": (_methods("subclasscheck"), _methods("subclasscheck")),
    "iter": (_NEXT, ()),
    "len": (_methods("len"), ()),
    "list": (_ITERATION, ()),
    "max": ((*COMPARISONS, *_NEXT), COMPARISONS),
    "min": ((*COMPARISONS, *_NEXT), COMPARISONS),
    "next": (_methods("next"), ()),
    "oct": (_methods("index"), ()),
    "ord": ((), ()),
    "pow": (_methods("pow rpow"), ()),
    "print": ((*_TEXT, "write"), _methods("repr")),
    "range": (_methods("index"), ()),
    "repr": (_methods("repr"), _methods("repr")),
    "reversed": (_methods("reversed len getitem"), ()),
    "round": (_methods("round"), ()),
    "set": (_ITERATION, _KEY),
    "setattr": (_methods("setattr set"), ()),
    "sorted": (_ITERATION, COMPARISONS),
    "str": (_TEXT, _methods("repr")),
    "sum": (_NEXT, _ADDITION),
    "tuple": (_ITERATION, ()),
    "type": ((), ()),
    "zip": (_NEXT, ()),
    "filter": (_NEXT, _methods("bool len")),
    "map": (_NEXT, ()),
}
_ITERATED: Final = """
    accumulate chain combinations combinations_with_replacement compress cycle dropwhile filterfalse
    groupby islice pairwise permutations product starmap takewhile tee zip_longest
"""
_OPERATOR_WORDS: Final = "add sub mul truediv floordiv mod pow matmul lshift rshift xor"
_OPERATORS: Final = tuple((name, "") for name in _OPERATOR_WORDS.split())
ASKED: Final[dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]] = {
    "builtins": _BUILTINS,
    "functools": {
        "partial": ((), ()),
        "reduce": (_NEXT, ()),
        "wraps": ((), ()),
        "update_wrapper": (_methods("getattribute getattr setattr"), ()),
        "cmp_to_key": ((), ()),
    },
    "itertools": {
        **dict.fromkeys(
            _ITERATED.split(), ((*_NEXT, "__index__"), (*_ADDITION, *_methods("bool len eq")))
        ),
        "count": (_ADDITION, ()),
        "repeat": (_methods("index"), ()),
    },
    "operator": {
        "abs": (_methods("abs"), ()),
        "attrgetter": ((), ()),
        "call": (_methods("call"), ()),
        "contains": ((*_methods("contains"), *_NEXT), _methods("eq")),
        "countOf": (_NEXT, _methods("eq")),
        "delitem": (_methods("delitem"), ()),
        "getitem": (_methods("getitem class_getitem"), ()),
        "index": (_methods("index"), ()),
        "indexOf": (_NEXT, _methods("eq")),
        "itemgetter": ((), ()),
        "length_hint": (_methods("len length_hint index"), ()),
        "setitem": (_methods("setitem"), ()),
        "truth": (_methods("bool len"), ()),
        "not_": (_methods("bool len"), ()),
        "is_": ((), ()),
        "is_not": ((), ()),
        **{n: (_methods(n), COMPARISONS) for n in ("lt", "le", "gt", "ge", "eq", "ne")},
        **{n: (_methods(n), ()) for n in ("neg", "pos", "invert")},
        "inv": (_methods("invert"), ()),
        "concat": (_ADDITION, ()),
        "iconcat": ((*_ADDITION, "__iadd__"), ()),
        **{
            name + end: (_methods(f"{name} r{name}"), ())
            for name, end in (*_OPERATORS, ("and", "_"), ("or", "_"))
        },
        **{
            f"i{name}": (_methods(f"i{name} {name} r{name}"), ())
            for name, _ in (*_OPERATORS, ("and", ""), ("or", ""))
        },
    },
    "contextlib": {"closing": (("close",), ()), "nullcontext": ((), ()), "suppress": ((), ())},
    "collections": {
        "defaultdict": (("keys", *_ITERATION), (*_KEY, *_NEXT)),
        "deque": ((*_ITERATION, "__index__"), ()),
        "OrderedDict": (("keys", *_ITERATION), (*_KEY, *_NEXT)),
    },
    "types": {"SimpleNamespace": ((), ()), "MethodType": ((), ())},
    "typing": {"cast": ((), ())},
    "heapq": dict.fromkeys(
        (
            *("heapify", "heappop", "heappush", "heappushpop", "heapreplace"),
            *("merge", "nlargest", "nsmallest"),
        ),
        (_ITERATION, COMPARISONS),
    ),
    "bisect": {
        name: ((*COMPARISONS, *_methods("len getitem index")), COMPARISONS)
        for name in (
            *("bisect", "bisect_left", "bisect_right"),
            *("insort", "insort_left", "insort_right"),
        )
    },
    "sys": {"getsizeof": (_methods("sizeof"), ()), "intern": ((), ())},
    "posix": {"fspath": (_methods("fspath"), ())},
}
"""For each function of a module, the special methods of arguments and of their entries that it
calls."""
OF_METHODS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    **dict.fromkeys(("index", "count", "remove", "__contains__"), (_methods("eq hash"), ())),
    **dict.fromkeys(
        ("get", "pop", "setdefault", "add", "discard", "move_to_end", "__getitem__", "__setitem__"),
        ((*_KEY, "__index__"), ()),
    ),
    **dict.fromkeys(("append", "appendleft", "insert"), (("__index__",), ())),
    **dict.fromkeys(
        ("extend", "extendleft", "__iadd__", "join", "fromkeys"), (_ITERATION, (*_KEY,))
    ),
    "sort": ((), COMPARISONS),
    "items": ((), ()),
    "keys": ((), ()),
    "values": ((), ()),
    "popitem": ((), ()),
    "clear": ((), ()),
    "reverse": ((), ()),
    "copy": ((), ()),
}
"""The special methods of arguments that methods of built-in types call; other methods may call
any."""
