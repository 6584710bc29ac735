"""The effects of the methods of built-in types and of libraries' classes."""

from __future__ import annotations

import sys
from enum import Enum
from types import FunctionType, GeneratorType, MappingProxyType
from typing import Final

from axiomjit.functions.libraries import (
    LABELLED_FILES,
    LABELLING,
    is_library,
    is_of_family,
    module_of,
)
from axiomjit.tracing.generators import METHODS as DRAWS
from axiomjit.tracing.generators import is_generator_class


def _methods(words: str) -> tuple[str, ...]:
    return tuple(map("__{}__".format, words.split()))


COMPARISONS: Final = _methods("lt le gt ge eq ne")
_STR_AND_REPR: Final = _methods("str repr")
_KEY: Final = _methods("hash eq")
_NEXT: Final = _methods("iter next getitem")
_ITERATION: Final = (*_NEXT, *_methods("len length_hint"))
_ADDITION: Final = _methods("add radd")
NUMBERS: Final = _methods("float complex index int ceil floor trunc")
"""The special methods that functions of `math` and `cmath` call on their arguments."""
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

# For each function, the special methods that it calls on an argument, and on its entries.
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
    "format": ((*_methods("format"), *_STR_AND_REPR), _STR_AND_REPR),
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
    "print": ((*_STR_AND_REPR, "write"), _methods("repr")),
    "range": (_methods("index"), ()),
    "repr": (_methods("repr"), _methods("repr")),
    "reversed": (_methods("reversed len getitem"), ()),
    "round": (_methods("round"), ()),
    "set": (_ITERATION, _KEY),
    "setattr": (_methods("setattr set"), ()),
    "sorted": (_ITERATION, COMPARISONS),
    "str": (_STR_AND_REPR, _methods("repr")),
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


class Role(Enum):
    """The strongest effect that a method may have."""

    PURE = "gives a result"
    WRITE = "changes its object"
    EFFECT = "writes text to a stream, or a message to a log"
    DRAW = "draws random numbers, or sets the state of a generator"
    IMPURE = "asks for a time, a file, entropy or the environment"
    USER = "is the user's own"


_ALL_PURE: Final = """
    __abs__ __add__ __and__ __array__ __array_namespace__ __bool__ __bytes__ __call__ __ceil__
    __class_getitem__ __complex__ __contains__ __copy__ __deepcopy__ __dir__ __divmod__ __eq__
    __float__ __floor__ __floordiv__ __format__ __fspath__ __ge__ __get__ __getitem__ __getnewargs__
    __getnewargs_ex__ __getstate__ __gt__ __hash__ __index__ __instancecheck__ __int__ __invert__
    __iter__ __le__ __len__ __length_hint__ __lshift__ __lt__ __matmul__ __missing__ __mod__ __mul__
    __ne__ __neg__ __new__ __or__ __pos__ __pow__ __prepare__ __radd__ __rand__ __rdivmod__
    __reduce__ __reduce_ex__ __repr__ __reversed__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__
    __rmul__ __ror__ __round__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__
    __sizeof__ __str__ __sub__ __subclasscheck__ __subclasshook__ __truediv__ __trunc__ __xor__
    __init_subclass__
"""
_ALL_WRITE: Final = """
    __anext__ __delattr__ __delitem__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imatmul__
    __imod__ __imul__ __init__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__ __next__
    __setattr__ __setitem__ __setstate__
"""
_TEXT: Final = """
    capitalize center count decode encode endswith expandtabs find format format_map index isalnum
    isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle
    isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind
    rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate
    upper zfill casefold fromhex hex copy
"""
_ARRAY: Final = """
    all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate
    copy cumprod cumsum diagonal dot flatten getfield item max mean min nonzero prod ptp ravel
    repeat reshape round searchsorted squeeze std sum swapaxes take to_device tobytes tolist
    trace transpose var view
"""
_SET: Final = """
    copy difference intersection isdisjoint issubset issuperset symmetric_difference union
"""
_DICT: Final = "copy fromkeys get items keys values"
_DICT_WRITES: Final = "clear pop popitem setdefault update"
_STREAM: Final = "fileno isatty readable seekable tell writable getvalue"
_STREAM_WRITES: Final = "close detach read readline readlines reconfigure seek truncate read1"
_DATE: Final = """
    ctime isocalendar isoformat isoweekday replace strftime timetuple toordinal weekday fromordinal
    fromisocalendar fromisoformat fromtimestamp
"""

_PURE: Final[dict[str, str]] = {
    "builtins.object": "",
    "builtins.list": "copy count index",
    "builtins.dict": _DICT,
    "builtins.set": _SET,
    "builtins.frozenset": _SET,
    "builtins.bytearray": _TEXT,
    "builtins.str": _TEXT,
    "builtins.bytes": _TEXT,
    "builtins.int": """
        as_integer_ratio bit_count bit_length conjugate from_bytes is_integer to_bytes
    """,
    "builtins.float": "as_integer_ratio conjugate from_number fromhex hex is_integer",
    "builtins.complex": "conjugate from_number",
    "builtins.bool": "",
    "builtins.tuple": "count index _asdict _make _replace",
    "builtins.range": "count index",
    "builtins.slice": "indices",
    "builtins.memoryview": "cast hex tobytes tolist toreadonly count index",
    "builtins.type": "mro",
    "builtins.property": "deleter getter setter",
    "builtins.BaseException": "",
    "builtins.mappingproxy": "copy get items keys values",
    "builtins.dict_keys": "isdisjoint mapping",
    "builtins.dict_items": "isdisjoint mapping",
    "builtins.dict_values": "mapping",
    "builtins.generator": "",
    "builtins.function": "",
    "types.SimpleNamespace": "",
    "functools.partial": "",
    "functools._lru_cache_wrapper": "cache_info cache_parameters",
    "itertools.chain": "from_iterable",
    "collections.deque": "copy count index",
    "collections.OrderedDict": _DICT,
    "collections.defaultdict": _DICT,
    "collections.Counter": f"{_DICT} elements most_common total",
    "collections.ChainMap": f"{_DICT} new_child",
    "collections.UserDict": _DICT,
    "collections.UserList": "copy count index",
    "collections.UserString": f"{_TEXT} count",
    "collections.abc.Mapping": "get items keys values",
    "collections.abc.Sequence": "count index",
    "collections.abc.Set": "isdisjoint _from_iterable _hash",
    "array.array": "buffer_info count index tobytes tolist tounicode",
    "re.Pattern": "findall finditer fullmatch match search split sub subn",
    "re.Match": "end expand group groupdict groups span start",
    "datetime.date": _DATE,
    "datetime.datetime": f"""
        {_DATE} astimezone combine date dst strptime time timestamp timetz tzname
        utcfromtimestamp utcoffset utctimetuple
    """,
    "datetime.time": "dst fromisoformat isoformat replace strftime tzname utcoffset",
    "datetime.timedelta": "total_seconds",
    "datetime.tzinfo": "dst fromutc tzname utcoffset",
    "fractions.Fraction": """
        as_integer_ratio conjugate from_decimal from_float from_number is_integer limit_denominator
    """,
    "decimal.Decimal": """
        adjusted as_integer_ratio as_tuple canonical compare compare_signal compare_total
        compare_total_mag conjugate copy_abs copy_negate copy_sign exp fma from_float from_number
        is_canonical is_finite is_infinite is_nan is_normal is_qnan is_signed is_snan is_subnormal
        is_zero ln log10 logb logical_and logical_invert logical_or logical_xor max max_mag min
        min_mag next_minus next_plus next_toward normalize number_class quantize radix
        remainder_near rotate same_quantum scaleb shift sqrt to_eng_string to_integral
        to_integral_exact to_integral_value
    """,
    "random.Random": "getstate",
    "enum.Enum": "",
    "enum.EnumType": "",
    "io.StringIO": _STREAM,
    "io.BytesIO": f"{_STREAM} getbuffer",
    "io.TextIOWrapper": _STREAM,
    "logging.Logger": "getChild",
    "logging.LoggerAdapter": "",
    "string.Template": "get_identifiers is_valid safe_substitute substitute",
    "string.Formatter": """
        check_unused_args convert_field format format_field get_field get_value parse vformat
    """,
    "struct.Struct": "iter_unpack pack pack_into unpack unpack_from",
    "textwrap.TextWrapper": "fill wrap",
    "json.JSONEncoder": "default encode iterencode",
    "json.JSONDecoder": "decode raw_decode",
    "statistics.NormalDist": "cdf from_samples inv_cdf overlap pdf quantiles zscore",
    "uuid.UUID": "",
    "calendar.Calendar": """
        itermonthdates itermonthdays itermonthdays2 iterweekdays monthdatescalendar
        monthdays2calendar monthdayscalendar getfirstweekday
    """,
    "inspect.Signature": "bind bind_partial replace from_callable",
    "inspect.Parameter": "replace",
    "graphlib.TopologicalSorter": "",
    "contextlib.nullcontext": "__enter__ __exit__",
    "contextlib.suppress": "__enter__ __exit__",
    "numpy.errstate": "__enter__ __exit__",
    "_hashlib.HASH": "copy digest hexdigest",
    "numpy.ndarray": _ARRAY,
    "numpy.matrix": "getA getA1 getH getI getT",
    "numpy.char.chararray": _TEXT,
    "numpy.recarray": "",
    "numpy.record": "pprint",
    "numpy.generic": f"{_ARRAY} fill put resize setfield setflags sort",
    "numpy.number": "",
    "numpy.floating": "as_integer_ratio is_integer fromhex hex",
    "numpy.float64": "as_integer_ratio is_integer fromhex hex",
    "numpy.integer": "bit_count is_integer denominator numerator",
    "numpy.bool": "",
    "numpy.str_": _TEXT,
    "numpy.bytes_": _TEXT,
    "numpy.dtype": "newbyteorder",
    "numpy.ufunc": "accumulate at outer reduce reduceat resolve_dtypes",
    "numpy.flatiter": "copy",
    "numpy.ndenumerate": "",
    "numpy.ndindex": "",
    "numpy.broadcast": "",
    "numpy.poly1d": "deriv integ",
    "numpy.finfo": "",
    "numpy.iinfo": "",
    "numpy.vectorize": "",
    "numpy.random.SeedSequence": "generate_state",
    "numpy.random.BitGenerator": "jumped",
    "numpy.random.MT19937": "jumped",
    "numpy.random.PCG64": "jumped",
    "numpy.random.PCG64DXSM": "jumped",
    "numpy.random.Philox": "jumped",
    "numpy.polynomial.Polynomial": """
        basis cast convert copy cutdeg degree deriv fit fromroots has_samecoef has_samedomain
        has_sametype has_samewindow identity integ linspace mapparms roots trim truncate
    """,
    "numpy.ma.MaskedArray": """
        anom compressed count filled get_fill_value get_imag get_real ids iscontiguous product
        toflex tolist torecords
    """,
}
_WRITE: Final[dict[str, str]] = {
    "builtins.list": "append clear extend insert pop remove reverse sort",
    "builtins.dict": _DICT_WRITES,
    "builtins.set": """
        add clear difference_update discard intersection_update pop remove
        symmetric_difference_update update
    """,
    "builtins.bytearray": "append clear extend insert pop remove reverse resize",
    "builtins.memoryview": "release",
    "builtins.BaseException": "add_note with_traceback",
    "builtins.generator": "close send throw",
    "functools._lru_cache_wrapper": "cache_clear",
    "collections.deque": """
        append appendleft clear extend extendleft insert pop popleft remove reverse rotate
    """,
    "collections.OrderedDict": f"{_DICT_WRITES} move_to_end",
    "collections.defaultdict": f"{_DICT_WRITES} __missing__ __getitem__",
    "collections.Counter": f"{_DICT_WRITES} subtract",
    "collections.ChainMap": _DICT_WRITES,
    "collections.UserDict": _DICT_WRITES,
    "collections.UserList": "append clear extend insert pop remove reverse sort",
    "collections.abc.MutableMapping": _DICT_WRITES,
    "collections.abc.MutableSequence": "append clear extend insert pop remove reverse",
    "collections.abc.MutableSet": "add clear discard pop remove",
    "array.array": """
        append byteswap extend frombytes fromlist fromunicode insert pop remove reverse
    """,
    "random.Random": """
        betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits
        lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed
        setstate shuffle triangular uniform vonmisesvariate weibullvariate
    """,
    "io.StringIO": _STREAM_WRITES,
    "io.BytesIO": f"{_STREAM_WRITES} flush readinto readinto1 write writelines",
    "graphlib.TopologicalSorter": "add done get_ready is_active prepare static_order",
    "_hashlib.HASH": "update",
    "numpy.ndarray": "fill partition put resize setfield setflags sort",
    "numpy.broadcast": "reset",
    "numpy.random.SeedSequence": "spawn",
    "numpy.random.BitGenerator": "advance random_raw spawn",
    "numpy.random.PCG64": "advance",
    "numpy.random.PCG64DXSM": "advance",
    "numpy.random.Philox": "advance",
    "numpy.ma.MaskedArray": "harden_mask set_fill_value shrink_mask soften_mask unshare_mask",
}
_EFFECT: Final[dict[str, str]] = {
    "io.TextIOWrapper": "flush write writelines",
    "io.StringIO": "flush write writelines",
    "logging.Logger": "critical debug error exception fatal info log warn warning",
    "logging.LoggerAdapter": "critical debug error exception info log warn warning",
}
_IMPURE: Final[dict[str, str]] = {
    "datetime.date": "today",
    "datetime.datetime": "now today utcnow",
    "random.SystemRandom": "getrandbits randbytes random seed",
    "os._Environ": "__contains__ __getitem__ copy get items keys values",
}
_UNNAMED: Final[dict[str, type]] = {
    "builtins.mappingproxy": MappingProxyType,
    "builtins.dict_keys": type({}.keys()),
    "builtins.dict_items": type({}.items()),
    "builtins.dict_values": type({}.values()),
    "builtins.generator": GeneratorType,
    "builtins.function": FunctionType,
}
"""Classes that their module does not contain under their name."""
_PLAIN_MODULES: Final = frozenset({"builtins", "collections", "itertools", "numpy", "operator"})
"""Modules whose unlisted classes, such as iterators, have special methods with the usual
meaning."""
_FAMILY_WORDS: Final = """
    append clear eliminate_zeros extend fill itemset partition pop prune put resize set_weights
    setdiag setfield setflags sort sort_indices sum_duplicates update reset setter step
"""
_FAMILY_WRITES: Final = frozenset(_FAMILY_WORDS.split())
"""Methods of classes of `FAMILIES` that change their object."""
_FAMILY_UNKNOWN: Final = frozenset({"dump", "rvs", "resample", "tofile", "random"})
_LABELLED_UNKNOWN: Final = frozenset(
    {"now", "today", "utcnow", "sample", "plot", "load", "compute", "persist", "close", "hist"}
)
"""Methods of xarray's and pandas' classes that also use something else, such as a clock or a
file.
"""
_LABELLED_PURE: Final = frozenset({"__getattr__", "__array_ufunc__", "__enter__", "__exit__"})
_WITHOUT_SPECIAL: Final = frozenset({"os._Environ"})
"""Classes whose special methods are unknown, except the listed ones."""


class MethodTable:
    """The role of each method of the classes in loaded modules, by class."""

    def __init__(self) -> None:
        """Start with the names of the classes to look up."""
        self._waiting = tuple({**_PURE, **_WRITE, **_EFFECT, **_IMPURE})
        self._count = 0
        self._classes: dict[type, dict[str, Role]] = {}
        self._special = {
            **dict.fromkeys(_ALL_PURE.split(), Role.PURE),
            **dict.fromkeys(_ALL_WRITE.split(), Role.WRITE),
        }

    def roles(self, kind: type) -> dict[str, Role] | None:
        """The roles of the methods of one class, without those of its bases; None if unknown."""
        if self._count != len(sys.modules):
            self._count = len(sys.modules)
            self._waiting = tuple(name for name in self._waiting if not self._look_up(name))
        return self._classes.get(kind)

    def _look_up(self, name: str) -> bool:
        """Look up the class of a name; False if its module is not loaded."""
        module, _, attribute = name.rpartition(".")
        kind = vars(sys.modules.get(module, sys)).get(attribute)
        kind = _UNNAMED.get(name, kind)
        if not isinstance(kind, type) or not is_library(kind):
            return False
        special = {} if name in _WITHOUT_SPECIAL else self._special
        roles = self._classes.setdefault(kind, dict(special))
        for words, role in (
            *((_PURE, Role.PURE), (_WRITE, Role.WRITE)),
            *((_EFFECT, Role.EFFECT), (_IMPURE, Role.IMPURE)),
        ):
            roles.update(dict.fromkeys(words.get(name, "").split(), role))
        return True


_TABLE: Final = MethodTable()


def role_of(kind: type, name: str, own: str = "") -> Role | None:
    """The role of a method of a class, None if unknown; no code of the class runs.

    Args:
        kind: The class.
        name: The method's name.
        own: The package of the traced function, whose code counts as the user's.
    """
    order = type.__dict__["__mro__"].__get__(kind)
    definer = next((base for base in order if name in vars(base)), None)
    if definer is None:
        return None
    held = vars(definer)[name]
    held = held.__func__ if isinstance(held, classmethod | staticmethod) else held
    if isinstance(held, FunctionType) and not is_library(held, own):
        return Role.PURE if is_generated(held) else Role.USER
    if is_generator_class(definer):
        return Role.DRAW if name in DRAWS else None
    for base in order:  # a listed class also decides about the methods that it inherits
        roles = _TABLE.roles(base)
        if roles is not None and name in roles and (base is not object or definer is object):
            return roles[name]
    if definer.__module__ in _PLAIN_MODULES and _is_special(name) and name != "__call__":
        return (_TABLE.roles(object) or {}).get(name)
    return _in_family(definer, name)


def is_generated(function: FunctionType) -> bool:
    """True for the `__new__` of a named tuple, whose module does not exist."""
    return module_of(function).startswith("namedtuple_")


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _in_family(definer: type, name: str) -> Role | None:
    if not is_of_family(definer.__module__):
        return None
    if definer.__module__.startswith(LABELLING):
        return _of_labels(name)
    if name in _FAMILY_UNKNOWN:
        return None
    special = (_TABLE.roles(object) or {}).get(name)
    if _is_special(name):
        return special
    return Role.WRITE if name in _FAMILY_WRITES or name.startswith("set_") else Role.PURE


def _of_labels(name: str) -> Role | None:
    """The role of a method of a class of xarray or pandas; most of these methods change nothing."""
    if _is_special(name) and name not in _LABELLED_PURE:
        return (_TABLE.roles(object) or {}).get(name)
    writes_file = name.startswith("to_") and name.removeprefix("to_") in LABELLED_FILES
    return None if name in _LABELLED_UNKNOWN or writes_file else Role.PURE
