"""Columns and tensors of other libraries as arguments: memory, results, missing elements, refusals.

Each library that is not installed is skipped.
"""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.interop.containers import _ARRAYS, arrays_of

X = np.arange(1.0, 7.0)
LIBRARIES = ("pandas", "polars", "pyarrow", "torch", "jax")


def masked(pandas):
    return pandas.Series([1, None, 3, None], dtype="Int32")


def columns(name, library):
    """Containers of X by their kind."""
    if name == "pandas":
        arrow = pytest.importorskip("pyarrow")
        held = library.ArrowDtype(arrow.float64())
        return {
            "series": library.Series(X),
            "index": library.Index(X),
            "masked": library.Series(library.array(X, dtype="Float64")),
            "arrow": library.Series(library.array(X, dtype=held)),
            "column": library.DataFrame({"a": X, "b": X * 2})["a"],
        }
    if name == "polars":
        return {"series": library.Series(X), "column": library.DataFrame({"a": X})["a"]}
    if name == "pyarrow":
        array = library.array(X)
        return {"array": array, "chunked": library.chunked_array([array])}
    if name == "torch":
        return {"tensor": library.from_numpy(X.copy())}
    return {"array": library.numpy.asarray(X.astype(np.float32))}


def address_in(name, container):
    """The address of the first element, as the library itself says it."""
    if name == "torch":
        return container.data_ptr()
    if name == "jax":
        return container.unsafe_buffer_pointer()
    if name == "polars":
        pytest.importorskip("pyarrow")
        return container.to_arrow().buffers()[1].address
    if name == "pyarrow":
        array = container.chunk(0) if hasattr(container, "chunk") else container
        return array.buffers()[1].address
    array = container.array
    if hasattr(array, "__arrow_array__") and hasattr(array, "_pa_array"):
        return array._pa_array.chunk(0).buffers()[1].address
    held = array._data if hasattr(array, "_mask") else np.asarray(array)
    return held.__array_interface__["data"][0]


@pytest.mark.parametrize("name", LIBRARIES)
def test_nothing_is_copied(name):
    for kind, container in columns(name, pytest.importorskip(name)).items():
        (array,) = arrays_of([container])
        assert array.__array_interface__["data"][0] == address_in(name, container), kind
        np.testing.assert_array_equal(array, X)


@pytest.mark.parametrize("name", ["polars", "pyarrow", "jax"])
def test_read_only_stays_read_only(name):
    for container in columns(name, pytest.importorskip(name)).values():
        assert not arrays_of([container])[0].flags.writeable


def test_tensors_are_written_to():
    torch = pytest.importorskip("torch")

    @aj.jit
    def double(x):
        x *= 2.0

    tensor = torch.arange(4.0)
    double(tensor)
    assert tensor.tolist() == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.parametrize("name", LIBRARIES)
def test_all_doors_take_them(name):
    library = pytest.importorskip(name)

    @aj.jit(strict=True)
    def scaled(x, y):
        return x * 2.0 + y

    half = aj.elementwise(lambda e: e / 2.0, "broadcast")
    axis = aj.make_axis(6, "rows")
    labels = np.array([0, 1, 0, 1, 0, 1])
    for container in columns(name, library).values():
        for _ in range(2):
            found = scaled(container, y=X)
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, X * 3.0)
        np.testing.assert_array_equal(half(container), X / 2.0)
        assert aj.einsum("i,i->", container, X) == (X * X).sum()
        assert aj.fold("max", container) == 6.0
        assert aj.fold("sum", container, by=labels, groups=2).tolist() == [9.0, 12.0]
        np.testing.assert_array_equal(aj.constant(container, [axis]).eval().values, X)
        np.testing.assert_array_equal(aj.NamedArray(container, [axis]).values, X)


def test_lower_and_explain_take_them():
    pandas = pytest.importorskip("pandas")
    function = aj.jit(lambda x: x + 1.0)
    assert str(function.lower(pandas.Series(X)).loops) == str(function.lower(X).loops)


@pytest.mark.parametrize("dtype", ["f4", "i1", "u8", "i8", "b1"])
def test_dtypes(dtype):
    x = np.array([0, 1, 1], dtype)
    for name in LIBRARIES[:4]:
        library = pytest.importorskip(name)
        if name == "torch":
            made = library.from_numpy(x.copy())
        else:
            made = library.array(x) if name == "pyarrow" else library.Series(x)
        (found,) = arrays_of([made])
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x)


def test_chunks_are_joined():
    arrow = pytest.importorskip("pyarrow")
    chunks = arrow.chunked_array([[1, 2], [3]])
    assert arrays_of([chunks])[0].tolist() == [1, 2, 3]
    assert arrays_of([chunks.slice(0, 0), arrow.array([1, 2, 3])[1:]])[1].tolist() == [2, 3]


def test_missing_elements_are_filled():
    pandas = pytest.importorskip("pandas")
    found = aj.filled(masked(pandas), -1)
    assert (found.dtype, found.tolist()) == (np.int32, [1, -1, 3, -1])
    assert aj.filled(pandas.Series([1.0, np.nan]), 0).tolist() == [1.0, 0.0]
    polars = pytest.importorskip("polars")
    found = aj.filled(polars.Series([1, None], dtype=polars.UInt8), 7)
    assert (found.dtype, found.tolist()) == (np.uint8, [1, 7])
    assert aj.filled(polars.Series([True, None]), False).tolist() == [True, False]
    arrow = pytest.importorskip("pyarrow")
    found = aj.filled(arrow.array([None, 2.5], arrow.float32()), np.nan)
    assert (found.dtype, str(found.tolist())) == (np.float32, "[nan, 2.5]")
    whole = arrow.array(X)
    assert aj.filled(whole, 0).__array_interface__["data"][0] == address_in("pyarrow", whole)


def test_indexes_may_be_equal():
    pandas = pytest.importorskip("pandas")
    one, two = pandas.Series(X), pandas.Series(X * 2)
    assert aj.einsum("i,i->", one, two) == 2.0 * (X * X).sum()


def of_pandas(pd):
    column = pd.Series([1.0, 2.0])
    return {
        "missing": masked(pd),
        "missing truths": pd.Series([True, None], dtype="boolean"),
        "missing floats": pd.array([1.5, None], dtype="Float64"),
        "missing in arrow": pd.Series([1, None], dtype="int64[pyarrow]"),
        "other index": (column, pd.Series([1.0, 2.0], index=[1, 0])),
        "other lengths": (column, pd.Series([1.0])),
        "text": pd.Series(["a", "b"]),
        "objects": pd.Series([1, "a"], dtype=object),
        "categories": pd.Series(["a", "b"], dtype="category"),
        "categories of numbers": pd.Categorical([1, 2]),
        "dates": pd.date_range("2020-01-01", periods=2),
        "dates with zone": pd.Series(pd.date_range("2020-01-01", periods=2, tz="UTC")),
        "durations": pd.Series(pd.to_timedelta([1, 2], unit="s")),
        "periods": pd.period_range("2020-01", periods=2, freq="M"),
        "intervals": pd.interval_range(0, 2),
        "sparse": pd.Series([0.0, 1.0], dtype="Sparse[float64]"),
        "levels": pd.MultiIndex.from_tuples([(1, 2)]),
        "text in arrow": pd.Series(["a"], dtype="string[pyarrow]"),
    }


def of_polars(pl):
    return {
        "missing": pl.Series([1, None, 2]),
        "missing truths": pl.Series([True, None, None]),
        "text": pl.Series(["a"]),
        "bytes": pl.Series([b"a"]),
        "categories": pl.Series(["a"], dtype=pl.Categorical),
        "enum": pl.Series(["a"], dtype=pl.Enum(["a"])),
        "date": pl.Series([0], dtype=pl.Int32).cast(pl.Date),
        "time": pl.Series([0], dtype=pl.Int64).cast(pl.Datetime("us")),
        "duration": pl.Series([0], dtype=pl.Int64).cast(pl.Duration("us")),
        "decimal": pl.Series([1]).cast(pl.Decimal(10, 2)),
        "list": pl.Series([[1], [2, 3]]),
        "struct": pl.Series([{"a": 1}]),
        "null": pl.Series([None]),
        "object": pl.Series([object], dtype=pl.Object),
        "128 bits": pl.Series([1], dtype=pl.Int128),
    }


def of_pyarrow(pa):
    return {
        "missing": pa.array([1, None]),
        "missing in chunks": pa.chunked_array([[1, None], [None]]),
        "text": pa.array(["a"]),
        "bytes": pa.array([b"a"]),
        "categories": pa.array(["a"]).dictionary_encode(),
        "dates": pa.array([0], pa.date32()),
        "times": pa.array([0], pa.timestamp("us", "UTC")),
        "durations": pa.array([0], pa.duration("s")),
        "decimals": pa.array([1], pa.decimal128(5, 2)),
        "lists": pa.array([[1]]),
        "structs": pa.array([{"a": 1}]),
        "nulls": pa.nulls(2),
    }


def of_torch(torch):
    ones = torch.ones(2)
    return {
        "gradients": torch.ones(2, requires_grad=True),
        "other device": torch.ones(2, device="meta"),
        "sparse": torch.eye(2).to_sparse(),
        "conjugated": torch.ones(2, dtype=torch.complex64).conj(),
        "bfloat16": ones.to(torch.bfloat16),
        "float8": ones.to(torch.float8_e4m3fn),
    }


def of_jax(jax):
    gone = jax.numpy.ones(2)
    gone.delete()
    return {
        "deleted": gone,
        "bfloat16": jax.numpy.ones(2, "bfloat16"),
        "keys": jax.random.key(0),
        "not computed": None,
    }


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_refusals(name, golden):
    library = pytest.importorskip(name)
    if name == "pandas":
        pytest.importorskip("pyarrow")  # one of its columns is kept by Arrow
    given = globals()[f"of_{name}"](library)
    texts = []
    for kind, values in given.items():
        values = values if isinstance(values, tuple) else (values,)
        call = aj.jit(lambda *given: given[0])
        if kind == "not computed":
            call, values = library.jit(lambda x: aj.fold("sum", x)), (X,)
        with pytest.raises((GraphTypeError, GraphValueError)) as caught:
            call(*values)
        error = caught.value
        texts.append(f"{kind}: {error.asked}\n  seen: {error.seen}\n  instead: {error.remedy}")
    golden("\n".join(texts))


def test_refusals_of_fills(golden):
    pandas = pytest.importorskip("pandas")
    texts = []
    for column, value in [
        (X, 0),
        (masked(pandas), 1.5),
        (masked(pandas), "a"),
        (masked(pandas), 2**40),
        (pandas.Series([1.0, None]), 1j),
        (pandas.Series(["a", None]), 0),
        (pandas.Timestamp("2020-01-01"), 0),
    ]:
        with pytest.raises((GraphTypeError, GraphValueError)) as caught:
            aj.filled(column, value)
        error = caught.value
        texts.append(f"{error.asked}\n  seen: {error.seen}\n  instead: {error.remedy}")
    golden("\n".join(texts))


def test_other_objects_are_static():
    pandas = pytest.importorskip("pandas")
    when, table = pandas.Timestamp("2020-01-01"), pandas.DataFrame({"a": X})
    given = (when, table, X)
    assert all(one is other for one, other in zip(arrays_of(given), given, strict=True))


def test_a_planted_copy_is_found(monkeypatch):
    pytest.importorskip("pyarrow")
    rows = {"pyarrow": lambda value: np.array(_ARRAYS["pyarrow"](value))}
    monkeypatch.setattr("axiomjit.interop.containers._ARRAYS", _ARRAYS | rows)
    with pytest.raises(AssertionError):
        test_nothing_is_copied("pyarrow")
