"""`match` statements about the state outside a function, as in `places`."""

MATCHES = (
    """match k, {S}.first:
    case 3, True:
        {n} = {v} * 2
    case int(own), _ if own % 2:
        {n} = {v} + own
    case _:
        {n} = {v} - 1""",
    """match STATE:
    case {'n': own, 'prev': None, **rest}:
        {n} = {v} * own + len(rest)
    case {'prev': own}:
        {n} = {v} + own
    case _:
        {n} = {v}""",
    """match NUMBERS:
    case [own, *_, last] if own > last:
        {n} = {v} * own
    case [_, *rest]:
        {n} = {v} + len(rest)
    case _:
        {n} = {v}""",
    """match LOG:
    case []:
        {n} = {v} * 3
    case [*_, int(own)]:
        {n} = {v} + own
    case [_, *rest]:
        {n} = {v} - len(rest)""",
    """match D:
    case Config(k=2, names=[]):
        {n} = {v} * 5
    case Config(own, names=[*_, last]):
        {n} = {v} * own + last
    case Config(total=own):
        {n} = {v} - own""",
    """match PAIR:
    case Pair(2 | 3 as own, w):
        {n} = {v} * own + w
    case own, _:
        {n} = {v} - own""",
    """match COLOR:
    case Color.RED:
        {n} = {v} + 1
    case Color.BLUE | None:
        {n} = -{v}
    case _:
        {n} = {v}""",
    """match {S}:
    case Model(k=own, names={'a': more, **rest}, scaled=_) if own < 5:
        {n} = {v} * own + more + len(rest)
    case Model(last=None) | Model(first=False):
        {n} = {v} * 2
    case _:
        {n} = {v}""",
    """match HEAD:
    case object(value=own, rest=object(value=more, rest=None)):
        {n} = {v} * own - more
    case object(value=own):
        {n} = {v} + own""",
    """match U:
    case Vec(parts=[own, *_]):
        {n} = {v} * own
    case _:
        {n} = {v}""",
    """match QUEUE, ORDER:
    case [own, *_], {'a': int(more)}:
        {n} = {v} * own + more
    case [_, {**rest}]:
        {n} = {v} + len(rest)""",
    """match GROUPS:
    case {'x': [*own]}:
        {n} = {v} + len(own)
    case dict(own):
        {n} = {v} - len(own)""",
    """match TABLE:
    case {'w': own, 'deep': {'u': [more, *_]}}:
        {n} = {v} + own * more
    case {'w': own} | {'deep': own}:
        {n} = {v}""",
    """match SEEN:
    case set(own) if 1 in own:
        {n} = {v} * len(own)
    case _:
        {n} = -{v}""",
    """match {v}:
    case np.ndarray(ndim=1, shape=(own,)):
        {n} = {v} * own
    case np.ndarray() | float():
        {n} = {v} + 1""",
    """match STATE.get('n'), once, type({S}):
    case 1 | 2 as own, True, _:
        {n} = {v} * own
    case own, bool(), object(__name__='Model'):
        {n} = {v} + (own or 0)""",
    """for own in NUMBERS:
    match own:
        case 1:
            continue
        case 2 | 3 if k > 2:
            break
        case int():
            {v} = {v} + own""",
    """def inner(own):
    match own:
        case [] | None:
            return 0
        case [part, *rest]:
            return inner(rest) + 1
        case _:
            return 7

{n} = {v} * inner(LOG)""",
)
"""Statements that change nothing outside."""
