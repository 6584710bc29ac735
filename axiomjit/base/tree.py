"""Walks over the user's objects: containers become leaves and a structure; references are followed.

Each container type has a `ContainerForm`, which reads the contents of a container and builds it
again. Forms use the methods of the built-in types, so that no code of a user's subclass runs. For
each foreign library, `axiomjit` registers functions of `interop` that replace the library's objects
among arguments; `interop` is imported when an argument is an object of such a library.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import Any, Final

from axiomjit.base.errors import GraphValueError
from axiomjit.base.origins import is_library_code, user_location
from axiomjit.base.records import Record


class Blocks(Record):
    """The functions for calls with a library's arrays in blocks.

    `holds(kind)` is true if `kind` is the class of the library's arrays in blocks. `stand_ins`
    returns the arguments of a call with NumPy arrays of the entire shapes in place of arrays in
    blocks; `explained` returns the error of such a call without the lengths that a stand-in has
    made up. `answer` returns the results of a traced call, and `report` returns a text about the
    stages of a traced call. `described` returns the arguments with arrays in blocks in place of
    each `axiomjit.spec`. `apply` calls a function of arrays that is defined by a function of nodes.
    """

    holds: Callable[[type], bool]
    stand_ins: Callable[[Sequence[Any], Sequence[str]], tuple[Any, ...]]
    explained: Callable[[Exception, Sequence[Any], Sequence[str]], Exception]
    answer: Callable[[Any], Any]
    report: Callable[[Any], Any]
    described: Callable[[Any], Any]
    apply: Callable[[Any, Sequence[Any]], Any]


class Library(Record):
    """The functions for the objects of one library.

    `form` returns the `ContainerForm` that splits objects of a class, or None for other classes.
    `arrays` returns the values of a call with arrays in place of columns and tensors.
    """

    form: Callable[[type], Any] | None = None
    arrays: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    blocks: Blocks | None = None


INSTALLED: Final[dict[str, Any]] = {}
"""The functions by which `graph.execution` runs graphs; later packages provide them."""
LIBRARIES: Final[dict[str, Library]] = {}
"""The known libraries, by the first part of the module name; `axiomjit` registers the libraries."""


@lru_cache(maxsize=512)
def library_name(kind: type) -> str:
    """The first part of the name of the module that defines a class."""
    return str(kind.__module__).partition(".")[0]


@lru_cache(maxsize=512)
def library_of(kind: type) -> Library | None:
    """The functions of the library that defines a class; None if the library is not registered."""
    return LIBRARIES.get(library_name(kind))


def in_blocks(values: Sequence[Any]) -> Blocks | None:
    """The functions for the first array in blocks among values; None if there is no such array."""
    for one in values:
        kind: Any = type(one)
        library = library_of(kind)
        if library is not None and library.blocks is not None and library.blocks.holds(kind):
            return library.blocks
    return None


Path = tuple[object, ...]
Enter = Callable[[Path, Any], Iterable[tuple[object, object]]]


def reachable(
    roots: Iterable[object], enter: Enter, most: int | None = None, again: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Yield the roots and all objects reachable from them, each with its path, depth first.

    The search is not recursive, since chains of references may be deep, and it ends on cycles.

    Args:
        roots: The objects to start from; the path of a root is its position.
        enter: Returns the references of a value at a path, each as a step of the path and the
            object that the step leads to.
        most: The largest number of values to enter.
        again: True to enter a value once for each path to the value; then `enter` must break
            cycles.
    """
    waiting: list[tuple[Path, Any]] = []
    waiting += [((k,), root) for k, root in enumerate(roots)][::-1]
    entered: dict[int, object] = {}  # held, so that no id is reused
    while waiting and (most is None or len(entered) < most):
        path, value = waiting.pop()
        yield path, value
        if again or id(value) not in entered:
            entered[id(value)] = value
            waiting += [((*path, step), part) for step, part in enter(path, value)][::-1]


Keys = tuple[object, ...]
KeysAndParts = tuple[Keys, Sequence[object]]


class ContainerForm(Record):
    """The functions that take containers of one type apart and build them again.

    `apart` returns the fixed data (keys, names) and the parts; `build` makes a container from a
    type, fixed data and parts. A container with `is_object` is a leaf unless the `opens` of
    `flatten_tree` accepts the container. `is_labelled` is True for arrays with labels: the parts
    are arrays, and the fixed data are their labels. `are_data` then returns for each part True for
    data and False for a coordinate.
    """

    apart: Callable[[Any], KeysAndParts]
    build: Callable[[Any, Keys, Sequence[object]], object]
    is_object: bool = False
    is_labelled: bool = False
    are_data: Callable[[Any], Sequence[bool]] | None = None


class ComparedByValue:
    """Fixed data of a container; calls share a program only if their fixed data are equal."""

    __slots__ = ()


def _namedtuple(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    return kind._make(parts)


def _namespace(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    return kind(**dict(zip(map(str, keys), parts, strict=True)))


def _proxy(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    return kind(dict(zip(keys, parts, strict=True)))


DICT: Final = ContainerForm(
    lambda value: (tuple(value), list(value.values())),
    lambda kind, keys, parts: dict(zip(keys, parts, strict=True)),
)


def _sequence(kind: Any, places: Keys, parts: Sequence[object]) -> object:
    """A list or tuple of the parts; the parts at `places` are lists, whose entries are inserted."""
    if not places:
        return kind(parts)
    lists = ((part if k in places else (part,)) for k, part in enumerate(parts))
    return kind(one for part in lists for one in part)  # type: ignore[attr-defined]


SEQUENCE: Final = ContainerForm(lambda value: ((), value), _sequence)
NAMED: Final = ContainerForm(lambda value: ((), value), _namedtuple)
NAMESPACE: Final = ContainerForm(lambda v: (tuple(vars(v)), list(vars(v).values())), _namespace)
PROXY: Final = ContainerForm(lambda value: (tuple(value), list(value.values())), _proxy)


def _slots(kind: type) -> Iterable[tuple[str, Any]]:
    """The slot descriptors of a class with `__slots__`, by name."""
    for base in kind.__mro__:
        if base.__flags__ & _DEFINED_IN_PYTHON:
            places = vars(base).items()
            yield from ((k, v) for k, v in places if isinstance(v, MemberDescriptorType))


_DEFINED_IN_PYTHON: Final = 1 << 9


def state_of(value: object) -> dict[str, object]:
    """The attributes of an instance, slots included."""
    found: dict[str, object] = {}
    for name, place in _slots(type(value)):
        try:
            found[name] = place.__get__(value)
        except AttributeError:  # The attribute is not set.
            continue
    return found | getattr(value, "__dict__", {})


def attributes(value: object) -> dict[str, object] | None:
    """The attributes, by name, of a namespace or of an instance of a user's class, else None.

    The attributes include slots. Values of other classes give None.
    """
    kind = type(value)
    return None if kind is not SimpleNamespace and is_library_code(kind) else state_of(value)


def class_attributes(kind: type) -> dict[str, object]:
    """The values, methods and properties of a user's class, by name."""
    return {
        name: value
        for base in reversed(kind.__mro__)
        if base is not object and not is_library_code(base)
        for name, value in vars(base).items()
        if not (name[:2] == "__" == name[-2:])
    }


def _set_state(value: Any, names: Sequence[object], parts: Sequence[object]) -> None:
    places = dict(_slots(type(value)))
    for name, part in zip(map(str, names), parts, strict=True):
        if name in places:
            places[name].__set__(value, part)
        else:
            value.__dict__[name] = part


def _split_object(value: object) -> KeysAndParts:
    state = state_of(value)
    return tuple(state), list(state.values())


def _build_object(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    value = object.__new__(kind)
    _set_state(value, keys, parts)
    return value


class Composed:
    """An object whose class defines how to split it into parts and how to build it again."""

    __slots__ = ()

    def apart(self) -> KeysAndParts:
        """The fixed data and the parts of this object."""
        raise NotImplementedError

    @staticmethod
    def build(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
        """The object that has these fixed data and parts."""
        raise NotImplementedError


class Several(Composed):
    """An entry that stands for several entries of a list; `build` returns these entries."""

    __slots__ = ()


OBJECT: Final = ContainerForm(_split_object, _build_object, is_object=True)


class Filling(Record):
    """The functions that read and fill a container of a built-in type, also for subclasses.

    `contents` reads the keys and parts of a container, `settings` reads its constructor settings,
    and `fill` puts them into a new container.
    """

    contents: Callable[[Any], tuple[Keys, Sequence[object]]]
    fill: Callable[[Any, Keys, Sequence[object], object], None]
    settings: Callable[[Any], object] = lambda value: None


def _fill_items(base: Any) -> Callable[[Any, Keys, Sequence[object], object], None]:
    def fill(value: Any, keys: Keys, parts: Sequence[object], setting: object) -> None:
        for key, part in zip(keys, parts, strict=True):
            base.__setitem__(value, key, part)
        if base is defaultdict:
            value.default_factory = setting

    return fill


def _fill_deque(value: Any, keys: Keys, parts: Sequence[object], longest: Any) -> None:
    deque.__init__(value, parts, longest)


def _items(base: Any) -> Callable[[Any], tuple[Keys, Sequence[object]]]:
    return lambda value: (tuple(base.keys(value)), list(base.values(value)))


FILLINGS: Final[dict[type, Filling]] = {
    defaultdict: Filling(_items(dict), _fill_items(defaultdict), lambda v: v.default_factory),
    OrderedDict: Filling(_items(OrderedDict), _fill_items(OrderedDict)),
    dict: Filling(_items(dict), _fill_items(dict)),
    list: Filling(
        lambda value: ((), list(list.__iter__(value))),
        lambda value, keys, parts, setting: list.extend(value, parts),
    ),
    deque: Filling(
        lambda value: ((), list(deque.__iter__(value))),
        _fill_deque,
        lambda value: value.maxlen,
    ),
}


def _subclass(base: type) -> ContainerForm:
    """The form for a subclass of a built-in type, with contents, settings and attributes."""
    filling = FILLINGS[base]

    def apart(value: Any) -> KeysAndParts:
        keys, contents = filling.contents(value)
        state = state_of(value)
        return (keys, tuple(state), filling.settings(value)), [*contents, *state.values()]

    def build(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
        of_contents, names, setting = keys
        assert isinstance(of_contents, tuple)
        assert isinstance(names, tuple)
        value, count = kind.__new__(kind), len(parts) - len(names)
        filling.fill(value, of_contents, parts[:count], setting)
        _set_state(value, names, parts[count:])
        return value

    return ContainerForm(apart, build)


def _split_tuple(value: Any) -> KeysAndParts:
    state = state_of(value)
    return tuple(state), [*tuple.__iter__(value), *state.values()]


def _build_tuple(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    count = len(parts) - len(keys)
    value = tuple.__new__(kind, parts[:count])
    _set_state(value, keys, parts[count:])
    return value


TUPLE: Final = ContainerForm(_split_tuple, _build_tuple)
_FORM_OF_TYPE: Final[dict[type, ContainerForm]] = {
    dict: DICT,
    list: SEQUENCE,
    tuple: SEQUENCE,
    MappingProxyType: PROXY,
    SimpleNamespace: NAMESPACE,
}


@lru_cache(maxsize=512)
def form_of(kind: type) -> ContainerForm | None:
    """The form that splits values of a type; None for leaves.

    A subclass of a built-in container is a leaf if it has its own `__new__`, which might need
    arguments. Tuples with named fields, as SciPy's functions return, are nevertheless split. A
    dataclass is split into its attributes.
    """
    if kind in _FORM_OF_TYPE:
        return _FORM_OF_TYPE[kind]
    if issubclass(kind, Composed):
        return ContainerForm(kind.apart, kind.build)
    if issubclass(kind, tuple):
        if hasattr(kind, "_fields") and hasattr(kind, "_make"):
            return NAMED
        is_named = hasattr(kind, "_fields") and hasattr(kind, "_asdict")
        return TUPLE if is_named or _inherits_new(kind, tuple) else None
    for base in FILLINGS:
        if issubclass(kind, base):
            return _subclass(base) if _inherits_new(kind, base) else None
    if hasattr(kind, "__dataclass_fields__") and _inherits_new(kind, object):
        return OBJECT
    hashable: Any = kind
    library = library_of(hashable)
    return None if library is None or library.form is None else library.form(kind)


def is_labelled(value: object) -> bool:
    """True for arrays with labels, such as a DataArray."""
    kind: Any = type(value)
    form: ContainerForm | None = form_of(kind)
    return form is not None and form.is_labelled


def labels_of(value: Any) -> Keys:
    """The labels of an array with labels; an empty tuple for other values."""
    kind: Any = type(value)
    form: ContainerForm | None = form_of(kind)
    return form.apart(value)[0] if form is not None and form.is_labelled else ()


def _inherits_new(kind: Any, base: Any) -> bool:
    return bool(kind.__new__ is base.__new__)


class Leaf(Record):
    """The place of one leaf in a structure."""


class Branch(Record):
    """The place of a container in a structure: type, fixed data (keys of a dict) and parts."""

    kind: type
    keys: tuple[object, ...]
    parts: tuple[Structure, ...]


class OfArgument(Record):
    """A result that shares an argument's memory: the argument itself, or a view of it."""

    position: int
    is_itself: bool


class RepeatedContainer(Record):
    """A container that occurred before in the tree, by its number.

    Containers get numbers in the order in which they are completed.
    """

    number: int


Structure = Leaf | Branch | RepeatedContainer
LEAF = Leaf()


def cannot_be_hashed(value: object) -> bool:
    """True if an object has no usable hash, such as a dataclass with lists in it."""
    try:
        hash(value)
    except TypeError:
        return True
    return False


def flatten_tree(
    value: object,
    opens: Callable[[object], bool] = cannot_be_hashed,
    is_leaf: Callable[[object], bool] = lambda value: False,
    is_made: Callable[[object], bool] | None = None,
) -> tuple[list[object], Structure]:
    """Split nested containers into their leaves and their structure.

    With `is_made`, instances of the user's classes that `is_made` accepts are split, too, and a
    container that occurs twice remains one object.

    Containers are tuples, lists, dicts, deques, their subclasses, namedtuples, namespaces, and the
    dataclass instances that `opens` accepts. A container that `is_leaf` accepts is a leaf.

    Raises:
        GraphValueError: a container contains itself.
    """
    split = _Split(opens, is_leaf, is_made)
    try:
        return split.leaves, split.structure(value)
    except RecursionError:
        pass
    raise GraphValueError(
        f"the values inside a {type(value).__name__}",
        "a container that holds itself, or hundreds inside each other",
        "pass and return containers that end, such as a list of arrays",
        user_location(),
    )


class _Split:
    """The leaves found so far, and the numbers of the containers."""

    def __init__(
        self,
        opens: Callable[[object], bool],
        is_leaf: Callable[[object], bool],
        is_made: Callable[[object], bool] | None,
    ) -> None:
        self.leaves: list[object] = []
        self._opens, self._is_leaf, self._is_made = opens, is_leaf, is_made
        self._numbers: dict[int, int] = {}
        self._lists: list[bool] = []
        """For each number, True if the container stands for several entries of a list."""

    def structure(self, value: object) -> Structure:
        kind: Any = type(value)
        form: ContainerForm | None = form_of(kind)
        made = self._is_made is not None and self._is_made(value)
        opened = form is not None and (made or not form.is_object or self._opens(value))
        if form is None and made and not is_library_code(kind):
            form, opened = OBJECT, True
        if form is None or not opened or self._is_leaf(value):
            self.leaves.append(value)
            return LEAF
        if id(value) in self._numbers:
            return RepeatedContainer(self._numbers[id(value)])
        keys, parts = form.apart(value)
        places = tuple(map(self.structure, parts))
        keys = self._several(places) if form is SEQUENCE else keys
        branch = Branch(kind, keys, places)
        if self._is_made is not None:
            self._numbers[id(value)] = len(self._numbers)
            self._lists += [issubclass(kind, Several)]
        return branch

    def _several(self, parts: Sequence[Structure]) -> tuple[int, ...]:
        """The positions of the parts of a sequence that stand for several entries."""

        def is_several(part: Structure) -> bool:
            if isinstance(part, Branch):
                return issubclass(part.kind, Several)
            return isinstance(part, RepeatedContainer) and self._lists[part.number]

        return tuple(k for k, part in enumerate(parts) if part is not LEAF and is_several(part))


def leaf_count(structure: Structure) -> int:
    """The number of leaves of a structure."""
    if isinstance(structure, Branch):
        return sum(map(leaf_count, structure.parts))
    return int(isinstance(structure, Leaf))


def data_leaves(structure: Structure) -> list[bool]:
    """For each leaf of a structure, False if it is a coordinate of an array with labels."""
    if not isinstance(structure, Branch):
        return [True] * isinstance(structure, Leaf)
    hashable: Any = structure.kind
    form: ContainerForm | None = form_of(hashable)
    if form is not None and form.are_data is not None:
        return list(form.are_data(structure.keys))
    return [one for part in structure.parts for one in data_leaves(part)]


def unflatten_tree(structure: Structure, leaves: Iterator[object]) -> object:
    """Build the containers of a structure with new leaves."""
    return _built(structure, leaves, [])


def _built(structure: Structure, leaves: Iterator[object], built: list[object]) -> object:
    if isinstance(structure, Leaf):
        return next(leaves)
    if isinstance(structure, RepeatedContainer):
        return built[structure.number]
    parts = [_built(part, leaves, built) for part in structure.parts]
    form = form_of(structure.kind) or OBJECT
    made = form.build(structure.kind, structure.keys, parts)
    built.append(made)
    return made
