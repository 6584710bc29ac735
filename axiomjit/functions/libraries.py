"""Facts about the functions and classes of libraries, and tests for code of libraries.

The names of functions of Python's library and of NumPy are sorted by the effects of their calls.
SciPy's functions are known by the modules that the program has loaded; SciPy is never imported.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import is_installed, is_library_code

_POLYNOMIALS: Final = (
    *(("polynomial", "poly", ""), ("chebyshev", "cheb", "cheb"), ("legendre", "leg", "leg")),
    *(("hermite", "herm", "herm"), ("hermite_e", "herme", "herme"), ("laguerre", "lag", "lag")),
)
_OF_POLYNOMIALS: Final = """
    add sub mulx mul div pow trimseq val val2d val3d grid2d grid3d der int vander vander2d vander3d
    fit fromroots roots companion trim line one zero x domain gauss weight valfromroots
"""

PURE: Final[dict[str, str]] = {
    "builtins": """
        bytearray bytes classmethod complex memoryview object property slice staticmethod super
    """,
    "copy": "copy deepcopy replace",
    "dataclasses": "Field InitVar asdict astuple field fields is_dataclass replace",
    "typing": """
        Generic Protocol TypeVar ParamSpec TypeVarTuple NewType ForwardRef
        assert_type cast final get_args get_origin is_typeddict no_type_check runtime_checkable
        SupportsAbs SupportsBytes SupportsComplex SupportsFloat SupportsIndex SupportsInt
        SupportsRound
    """,
    "functools": "wraps",
    "math": """
        acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist erf
        erfc exp exp2 expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot isclose
        isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nextafter perm pow
        prod radians remainder sin sinh sqrt sumprod tan tanh trunc ulp
    """,
    "cmath": """
        acos acosh asin asinh atan atanh cos cosh exp isclose isfinite isinf isnan log log10 phase
        polar rect sin sinh sqrt tan tanh
    """,
    "types": "DynamicClassAttribute GenericAlias MappingProxyType NoneType SimpleNamespace",
    "collections": """
        ChainMap Counter OrderedDict UserDict UserList UserString deque
    """,
    "collections.abc": """
        Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator
        Generator Reversible Sized Container Callable Collection Set MutableSet Mapping
        MutableMapping MappingView KeysView ItemsView ValuesView Sequence MutableSequence
    """,
    "abc": "ABC abstractmethod abstractclassmethod abstractproperty abstractstaticmethod",
    "enum": "Enum IntEnum StrEnum Flag IntFlag auto member nonmember property unique",
    "numbers": "Number Complex Real Rational Integral",
    "fractions": "Fraction",
    "decimal": "Decimal DecimalTuple Context",
    "statistics": """
        NormalDist correlation covariance fmean geometric_mean harmonic_mean linear_regression mean
        median median_grouped median_high median_low mode multimode pstdev pvariance quantiles
        stdev variance
    """,
    "string": "Formatter Template capwords",
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "re": "RegexFlag compile escape findall finditer fullmatch match search split template",
    "struct": "Struct calcsize iter_unpack pack unpack unpack_from",
    "json": "JSONDecoder JSONEncoder dumps loads",
    "json.encoder": "encode_basestring encode_basestring_ascii",
    "zlib": "adler32 compress compressobj crc32 decompress decompressobj",
    "base64": """
        a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode
        b64decode b64encode b85decode b85encode decodebytes encodebytes standard_b64decode
        standard_b64encode urlsafe_b64decode urlsafe_b64encode
    """,
    "binascii": """
        a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32 crc_hqx hexlify
        unhexlify
    """,
    "hashlib": """
        blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 sha384 sha3_224 sha3_256
        sha3_384 sha3_512 sha512 shake_128 shake_256
    """,
    "array": "array",
    "calendar": "isleap leapdays monthrange timegm weekday Calendar TextCalendar HTMLCalendar",
    "graphlib": "TopologicalSorter",
    "fnmatch": "filter fnmatch fnmatchcase translate",
    "keyword": "iskeyword issoftkeyword",
    "unicodedata": """
        bidirectional category combining decimal decomposition digit east_asian_width
        is_normalized lookup mirrored name normalize numeric
    """,
    "reprlib": "Repr repr",
    "inspect": """
        BoundArguments Parameter Signature cleandoc getattr_static getmro indentsize isabstract
        isbuiltin isclass iscode iscoroutinefunction isdatadescriptor isfunction isgenerator
        isgeneratorfunction isgetsetdescriptor ismemberdescriptor ismethod ismethoddescriptor
        ismodule isroutine signature unwrap
    """,
    "datetime": "date datetime time timedelta timezone tzinfo",
    "time": "mktime strptime struct_time",
    "uuid": "UUID uuid3 uuid5",
    "stat": "S_IFMT S_IMODE S_ISBLK S_ISCHR S_ISDIR S_ISFIFO S_ISLNK S_ISREG S_ISSOCK filemode",
    "platform": "architecture machine python_implementation python_version release system version",
    "locale": "normalize",
    "contextlib": """
        AbstractContextManager ContextDecorator
    """,
    "io": "BytesIO StringIO",
    "weakref": "ref",
    "warnings": "catch_warnings",
    "logging": "getLogger getLevelName",
    "os": "cpu_count fspath",
    "posixpath": """
        basename commonpath commonprefix dirname isabs join normcase normpath split splitdrive
        splitext splitroot
    """,
    "ntpath": """
        basename commonpath commonprefix dirname isabs join normcase normpath split splitdrive
        splitext splitroot
    """,
    "sys": "getrecursionlimit getsizeof intern",
    "numpy": """
        all allclose amax amin angle any append argmax argmin argpartition argsort argwhere around
        array2string array_equal array_equiv array_repr array_split array_str asarray_chkfinite
        asfortranarray asmatrix astype atleast_1d atleast_2d atleast_3d average base_repr
        binary_repr bincount block broadcast broadcast_arrays broadcast_shapes broadcast_to
        busday_count busday_offset busdaycalendar can_cast character choose clip column_stack
        common_type compress concat concatenate convolve copy corrcoef correlate count_nonzero
        cov cross cumprod cumsum cumulative_prod cumulative_sum datetime_as_string datetime_data
        delete diag diag_indices_from diagflat diagonal diff digitize dot dsplit dstack dtype
        ediff1d einsum einsum_path empty_like errstate expand_dims extract finfo fix flatiter
        flatnonzero flip fliplr flipud format_float_positional format_float_scientific
        from_dlpack frombuffer fromiter fromstring full_like geomspace gradient histogram
        histogram2d histogram_bin_edges histogramdd hsplit hstack i0 iinfo imag in1d inner insert
        interp intersect1d is_busday isclose iscomplex iscomplexobj isdtype isfortran isin isneginf
        isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron lexsort
        linspace matrix matrix_transpose max may_share_memory mean median meshgrid min
        min_scalar_type mintypecode moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum
        nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar
        ndarray ndenumerate ndim ndindex nonzero ones_like outer packbits pad partition percentile
        permute_dims poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval
        prod promote_types ptp quantile ravel ravel_multi_index real real_if_close recarray record
        repeat require reshape resize result_type roll rollaxis round roots rot90 row_stack
        searchsorted select setdiff1d setxor1d shape shares_memory sinc size sort sort_complex
        split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose
        trapezoid trapz tril tril_indices tril_indices_from trim_zeros triu triu_indices
        triu_indices_from typename ufunc union1d unique unique_all unique_counts unique_inverse
        unique_values unpackbits unravel_index unstack unwrap vander var vdot vsplit vstack where
        zeros_like
    """,
    "numpy.linalg": """
        cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm
        matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd
        svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm
    """,
    "numpy.fft": """
        fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn
        rfft rfft2 rfftfreq rfftn
    """,
    "numpy.random": "Generator",
    "numpy.lib.stride_tricks": "as_strided sliding_window_view",
    "numpy.lib.array_utils": "byte_bounds normalize_axis_index normalize_axis_tuple",
    "numpy.lib.scimath": "arccos arcsin arctanh log log10 log2 logn power sqrt",
    "numpy.char": """
        add array asarray capitalize center compare_chararrays count decode encode endswith equal
        expandtabs find greater greater_equal index isalnum isalpha isdecimal isdigit islower
        isnumeric isspace istitle isupper join less less_equal ljust lower lstrip mod multiply
        not_equal partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines
        startswith str_len strip swapcase title translate upper zfill chararray
    """,
    "numpy.strings": """
        capitalize center decode encode expandtabs index ljust lower lstrip mod multiply partition
        replace rindex rjust rpartition rstrip slice strip swapcase title translate upper zfill
        count endswith find rfind startswith
    """,
    "numpy.polynomial": "Chebyshev Hermite HermiteE Laguerre Legendre Polynomial",
    **{
        f"numpy.polynomial.{module}": " ".join(map(prefix.__add__, _OF_POLYNOMIALS.split()))
        + (f" poly2{other} {other}2poly" if other else "")
        for module, prefix, other in _POLYNOMIALS
    },
}
"""Functions and classes that change nothing and keep nothing, by module.

The functions may call any special method of their arguments.
"""

FAMILIES: Final = (
    *("numpy.ma", "numpy.rec", "numpy.testing", "scipy", "axiomjit"),
    *("xarray", "pandas"),
)
"""Packages whose functions and classes are pure unless they are named elsewhere."""
LABELLING: Final = ("xarray", "pandas")
"""Packages whose classes put labels around arrays."""
LABELLED_FILES: Final = frozenset(
    {
        *("netcdf", "zarr", "csv", "pickle", "parquet", "sql", "excel", "hdf", "feather", "json"),
        *("orc", "stata", "gbq", "clipboard", "html", "xml", "latex", "markdown", "iris", "cdms2"),
    }
)
"""The formats for which methods `to_...` of `LABELLING` packages write files."""
DENIED: Final[dict[str, str]] = {
    "numpy.testing": """
        assert_no_warnings assert_warns break_cycles clear_and_catch_warnings
        assert_no_gc_cycles jiffies measure memusage print_assert_equal run_threaded rundocs
        runstring suppress_warnings tempdir temppath verbose
    """,
    "scipy.io": "*",
    "scipy.datasets": "*",
    "scipy.fft": "register_backend set_backend set_global_backend set_workers skip_backend",
    "scipy.special": "errstate geterr seterr",
    "scipy.test": "*",
    "xarray.backends": "*",
    "xarray.plot": "*",
    "xarray.tutorial": "*",
    "xarray.core.options": "*",
    "pandas.io": "*",
    "pandas.plotting": "*",
    "pandas._config": "*",
}
"""Functions in `FAMILIES` that are not pure, by module; a star stands for all functions."""
DRAWING: Final = frozenset({"random_state", "rng", "seed"})
"""Names of parameters; a function with such a parameter draws random numbers if no argument is
given for it.
"""

REFUSED: Final[dict[str, str]] = {
    "builtins": """
        __build_class__ __import__ aiter anext breakpoint compile dir eval exec globals help id
        locals vars exit quit copyright credits license
    """,
    "collections": "namedtuple",
    "copyreg": "pickle",
    "dataclasses": "make_dataclass",
    "decimal": "getcontext localcontext setcontext",
    "functools": """
        cached_property partialmethod singledispatch singledispatchmethod total_ordering
    """,
    "locale": "setlocale",
    "logging": """
        addLevelName basicConfig captureWarnings disable setLoggerClass setLogRecordFactory
        shutdown
    """,
    "operator": "methodcaller",
    "random": """
        betavariate choice choices expovariate gammavariate gauss getrandbits getstate
        lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed
        setstate shuffle triangular uniform vonmisesvariate weibullvariate binomialvariate
    """,
    "re": "purge",
    "types": "new_class",
    "typing": "NamedTuple TypedDict",
    "warnings": "filterwarnings resetwarnings simplefilter",
    "weakref": "finalize proxy",
    "numpy": """
        __array_namespace_info__ bmat get_include get_printoptions getbufsize geterr geterrcall
        info nditer nested_iters printoptions save savetxt savez savez_compressed set_printoptions
        setbufsize seterr seterrcall show_config show_runtime test
    """,
    "numpy.random": "BitGenerator get_bit_generator ranf sample set_bit_generator",
    "numpy.polynomial": "set_default_printstyle",
}
"""Functions that are known to read or change state of the process or of the caller."""

IMPURE: Final[dict[str, str]] = {
    "builtins": "input open",
    "io": "open open_code FileIO BufferedReader BufferedWriter TextIOWrapper",
    "os": """
        cpu_times ctermid environb get_exec_path getcwd getcwdb getegid getenv getenvb geteuid
        getgid getlogin getloadavg getpid getppid getrandom getuid listdir lstat open read scandir
        stat times urandom walk
    """,
    "posixpath": """
        abspath exists expanduser expandvars getatime getctime getmtime getsize isdir isfile islink
        ismount lexists realpath relpath samefile sameopenfile
    """,
    "ntpath": """
        abspath exists expanduser expandvars getatime getctime getmtime getsize isdir isfile islink
        ismount lexists realpath relpath samefile sameopenfile
    """,
    "platform": "node platform processor uname",
    "random": "SystemRandom",
    "secrets": """
        SystemRandom choice randbelow randbits token_bytes token_hex token_urlsafe
    """,
    "time": """
        asctime clock_gettime clock_gettime_ns ctime gmtime localtime monotonic monotonic_ns
        perf_counter perf_counter_ns process_time process_time_ns sleep strftime thread_time
        thread_time_ns time time_ns
    """,
    "uuid": "getnode uuid1 uuid4",
    "numpy": "fromfile fromregex genfromtxt load loadtxt memmap",
}
"""Functions whose results may differ from call to call, for equal arguments."""
SHOWN: Final = {"builtins": "", "io": "", "posixpath": "os.path.", "ntpath": "os.path."}
"""The prefix that functions of a module have in messages, if it is not the module's name."""
PURE_WITH: Final[dict[str, int]] = {
    **{"time.asctime": 1, "time.ctime": 1, "time.gmtime": 1, "time.localtime": 1},
    "time.strftime": 2,
}
"""Functions that are pure if they get this number of arguments or more."""
SEEDED: Final[dict[str, str]] = {
    "numpy.random": "MT19937 PCG64 PCG64DXSM Philox RandomState SFC64 SeedSequence",
    "random": "Random",
}
"""Classes of random generators; without a seed, each instance starts with other numbers."""

WRITERS: Final[dict[str, str]] = {
    "builtins": "next:iterator",
    "functools": "update_wrapper:wrapper",
    "dataclasses": "dataclass:cls",
    "heapq": "heapify:x heappop:x heappush:x heappushpop:x heapreplace:x",
    "bisect": "insort:a insort_left:a insort_right:a",
    "struct": "pack_into:buffer:1",
    "numpy": "copyto:dst fill_diagonal:a place:arr put:a put_along_axis:arr putmask:a",
    "numpy.ma": "harden_mask:a put:a putmask:a soften_mask:a set_fill_value:a",
}
"""Functions that change an argument, with its name, and its position if it is not the first."""

CALLBACKS: Final[dict[str, str]] = {
    "builtins": "filter:function map:function",
    "bisect": """
        bisect:key:- bisect_left:key:- bisect_right:key:- insort:key:- insort_left:key:-
        insort_right:key:-
    """,
    "collections": "defaultdict:default_factory",
    "contextlib": "contextmanager:func",
    "functools": "cache:user_function cmp_to_key:mycmp lru_cache:maxsize partial:func reduce:func",
    "heapq": "merge:key:- nlargest:key:2 nsmallest:key:2",
    "itertools": """
        accumulate:func:1 dropwhile:predicate filterfalse:function groupby:key:1 starmap:function
        takewhile:predicate
    """,
    "operator": "call:obj",
    "re": "sub:repl:1 subn:repl:1",
    "types": "MethodType:function",
    "numpy": """
        apply_along_axis:func1d apply_over_axes:func frompyfunc:func fromfunction:function
        mask_indices:mask_func:1 piecewise:funclist:2 vectorize:pyfunc
    """,
}
"""Functions that call one of their arguments, or whose result calls it."""

EFFECTS: Final[dict[str, str]] = {
    "builtins": "print",
    "logging": "critical debug error exception fatal info log warn warning",
    "warnings": "warn warn_explicit showwarning",
}
"""Functions that write messages, and give None."""

OPERATORS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("add", "concat"), ("binary", "+")),
    "sub": ("binary", "-"),
    "mul": ("binary", "*"),
    "truediv": ("binary", "/"),
    "floordiv": ("binary", "//"),
    "mod": ("binary", "%"),
    "pow": ("binary", "**"),
    "matmul": ("binary", "@"),
    "lshift": ("binary", "<<"),
    "rshift": ("binary", ">>"),
    "and_": ("binary", "&"),
    "or_": ("binary", "|"),
    "xor": ("binary", "^"),
    **dict.fromkeys(("iadd", "iconcat"), ("in_place", "+")),
    "isub": ("in_place", "-"),
    "imul": ("in_place", "*"),
    "itruediv": ("in_place", "/"),
    "ifloordiv": ("in_place", "//"),
    "imod": ("in_place", "%"),
    "ipow": ("in_place", "**"),
    "imatmul": ("in_place", "@"),
    "ilshift": ("in_place", "<<"),
    "irshift": ("in_place", ">>"),
    "iand": ("in_place", "&"),
    "ior": ("in_place", "|"),
    "ixor": ("in_place", "^"),
    "neg": ("unary", "-"),
    "pos": ("unary", "+"),
    **dict.fromkeys(("inv", "invert"), ("unary", "~")),
    "not_": ("not",),
    "truth": ("truth",),
    "lt": ("compare", "<"),
    "le": ("compare", "<="),
    "gt": ("compare", ">"),
    "ge": ("compare", ">="),
    "eq": ("compare", "=="),
    "ne": ("compare", "!="),
    "is_": ("compare", "is"),
    "is_not": ("compare", "is not"),
    "getitem": ("item",),
    "setitem": ("set item",),
    "delitem": ("delete item",),
    "index": ("special", "__index__"),
    "abs": ("special", "__abs__"),
}
"""For each function of `operator` with an equivalent hook, the hook's first arguments."""


HEAP: Final = 1 << 9
"""CPython's flag of classes that a class statement has made."""
replaced_in: dict[str, Callable[[], Iterator[tuple[Any, str, Any]]]] = {}
"""For each library, a function that yields the owner, the name and the replacement of functions."""


def is_library(part: Any, own: str = "") -> bool:
    """True if a library defines a function, class or module.

    Args:
        part: The function, class or module.
        own: The package of the traced function, whose code counts as the user's.
    """
    name = module_of(part)
    return bool(name) and _is_library(name, own)


def is_users(kind: Any) -> bool:
    """True for a class that the user's program defines, not a library."""
    return bool(kind.__flags__ & HEAP) and not _is_library(str(kind.__module__), "")


def users_function(value: Any) -> bool:
    """True for a Python function that the user's program defines."""
    return type(value) is FunctionType and not is_library(value)


def is_library_module(module: ModuleType) -> bool:
    """True for a module of a library, whose names do not change."""
    return _is_library(module.__name__, "")


@functools.lru_cache(maxsize=4096)
def _is_library(name: str, own: str) -> bool:
    named = ModuleType(name)
    compiled = name.startswith("_cython")  # the module of functions in Cython
    return compiled or is_library_code(named) or is_of_family(name) or is_installed(named, own)


def module_of(value: Any) -> str:
    """The module of a function, class or instance; for a built-in method, the module of its owner.

    For a Python function this is the module of its global names, since a decorator may give it
    another `__module__`.
    """
    kind = type(value)
    if kind is FunctionType:
        name = value.__globals__.get("__name__")
        return name if type(name) is str else ""
    if issubclass(kind, type) or _is_of_library(kind):
        name = getattr(value, "__module__", None)
    else:
        name = kind.__module__
    if issubclass(kind, ModuleType):
        name = value.__name__
    if type(name) is str:
        return name
    owner = getattr(value, "__objclass__", None) or type(getattr(value, "__self__", value))
    return str(owner.__module__)


def _is_of_library(kind: type) -> bool:
    return is_library_code(kind) or kind.__module__.startswith("_cython")


def is_of_family(module: str) -> bool:
    """True for a module of one of `FAMILIES`, whose functions are pure except those in `DENIED`."""
    return any(module == name or module.startswith(f"{name}.") for name in FAMILIES)


_FORTRAN: Final = tuple(
    f"scipy.linalg._{name}{long}"
    for name in ("fblas", "flapack", "cblas", "clapack")
    for long in ("", "_64")
)
"""Modules of functions that f2py has wrapped: those of BLAS and LAPACK."""
_WRAPPERS: Final = ("uarray", "_cython")
"""The modules that define the classes of functions made by uarray and by Cython."""
_BRACKETS: Final = str.maketrans("", "", "[]() ")
OF_DTYPES: Final = frozenset({"find_best_blas_type", "get_blas_funcs", "get_lapack_funcs"})
"""Functions of `scipy.linalg` that read the dtypes of arrays, and no elements."""


def module_name(value: Any) -> str:
    """The module of a function or class, or of the class of another object; no user code runs."""
    if is_fortran(value):
        return "scipy.linalg." + ("blas" if _holds("scipy.linalg.blas", value) else "lapack")
    kind: Any = type(value)
    if kind in (FunctionType, BuiltinFunctionType) or kind.__module__.startswith(_WRAPPERS):
        found = value.__module__
    elif issubclass(kind, type):
        found = type.__dict__["__dict__"].__get__(value).get("__module__")
    else:
        found = kind.__module__
    return found if type(found) is str else ""


def is_of_scipy(value: Any) -> bool:
    """True for a function, class or object of SciPy; False for its ufuncs."""
    return not isinstance(value, np.ufunc) and _is_in_scipy(module_name(value))


def is_object(value: Any) -> bool:
    """True for an object whose class is SciPy's: a sparse matrix, a distribution, a spline."""
    return _is_in_scipy(str(type(value).__module__)) and not isinstance(value, type | tuple)


def _is_in_scipy(module: str) -> bool:
    return module == "scipy" or module.startswith("scipy.")


def public_module(module: str) -> str:
    """The module that users import from: the name up to its first private part."""
    return module.partition("._")[0]


def public_name(function: Any) -> str:
    """The name of a function with the module that users import it from."""
    name = str(getattr(function, "__name__", type(function).__name__))
    return f"{public_module(module_name(function))}.{name.removeprefix('function ')}"


def is_constant(value: Any) -> bool:
    """True for an object to which a module of SciPy gives a name, such as a distribution."""
    return _holds(public_module(str(type(value).__module__)), value)


def _holds(module: str, value: Any) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and any(held is value for held in vars(loaded).values())


def is_fortran(value: Any) -> bool:
    """True for a function of SciPy's that f2py has wrapped, as those of `scipy.linalg.lapack`."""
    return type(value).__name__ == "fortran" and _is_fortran(value)


@functools.lru_cache(maxsize=1024)
def _is_fortran(value: Any) -> bool:
    return any(_holds(module, value) for module in _FORTRAN)


def is_multimethod(value: Any) -> bool:
    """True for a function of `scipy.fft`, which asks its back ends for the result."""
    return type(value).__module__ == "uarray" and _is_in_scipy(module_name(value))


def fortran_writes(function: Any) -> Iterator[tuple[int, str, int | None, str]]:
    """Yield position and name of each parameter that an f2py function may write, and of its flag.

    If there is no flag (position None), the array itself is written if its dtype and layout allow
    it. The first line of the docstring has the flags, as in `x,info =
    dpotrs(c,b,[lower,overwrite_b])`.
    """
    words = str(function.__doc__).split()
    results, _, call = str(function.__doc__).partition("\n")[0].partition(" = ")
    names = call.partition("(")[2].translate(_BRACKETS).split(",")
    stored = set(results.split(","))  # parameters whose storage a result has, by the docstring
    stored |= {name for name, said in zip(words, words[1:], strict=False) if said == "storage"}
    for place, name in enumerate(names):
        flag = f"overwrite_{name}"
        if flag in names:
            yield place, name, names.index(flag), flag
        elif name in stored:
            yield place, name, None, ""


def is_step(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True for a public function, class or method of SciPy's that gets traced arrays."""
    if not is_of_scipy(function) or public_module(module_name(function)) == "scipy":
        return False
    traced = lazy_import("axiomjit.graph.traced_values").TracedValue
    return any(issubclass(type(one), traced) for one in _leaves((args, kwargs)))


def _leaves(value: Any) -> Iterator[Any]:
    if issubclass(type(value), dict):
        yield from _leaves(list(value.values()))
    elif issubclass(type(value), list | tuple):
        for one in value:
            yield from _leaves(one)
    else:
        yield value
