"""Changes of state outside a function, between its calls or while one runs, as text, by place."""

FROM_OUTSIDE = {
    "W": ("W += 1", "W[2] = 7", "W[:] = -W"),
    "V": ("V[1] += 2", "V *= 2"),
    "I": ("I[0] = 3", "I[:] = I[::-1].copy()"),
    "OBJ": ("OBJ[1] = 7", "OBJ += 1"),
    "PARTS[0]": ("PARTS[0] += 1", "PARTS[0][1] = 9"),
    "TABLE['w']": ("TABLE['w'][2] = 8", "TABLE['w'] *= 2"),
    "TABLE['deep']['u'][0]": ("TABLE['deep']['u'][0] += 3",),
    "{S}.w": ("S.w += 1", "S.w[1] = 5"),
    "{S}.deep.u": ("S.deep.u += 1",),
    "{S}.parts[1]": ("S.parts[1] += 1",),
    "{S}.table": ("S.table[0] = 9", "Model.table[1] = 4"),
    "Model.table": ("Model.table[1] = 8",),
    "NS.w": ("NS.w[0] = 4", "NS.w += 1"),
    "NS.deep.u": ("NS.deep.u *= 3",),
    "T.w": ("T.w -= 1",),
    "cell": ("CELLS['cell'].cell_contents[0] += 5",),
}
"""Writes into arrays between calls, by place."""
ON_SELF = {
    "{S}.k": ("S.k += 1", "S.k = 4"),
    "{S}.first": ("S.first = not S.first", "S.first = False"),
    "{S}.last": ("S.last = 1", "S.last = None"),
    "{S}.names": ("S.names['a'] = 5", "S.names['z'] = 1"),
    "{S}.deep.k": ("S.deep.k += 1", "S.deep = Deep()"),
    "{S}.parts": ("S.parts.append(np.ones(5))", "S.parts.reverse()"),
    "{S}.scale": ("Model.scale += 1", "Own.scale = 4.0", "S.scale = 3.0"),
    "{S}.shared": ("S.shared.append(2)",),
    "{S}.w": ("S.w = S.w * 2", "S.w = np.ones(5)"),
    "{S}.deep.u": ("S.deep.u = np.arange(5.0)",),
    "{S}.table": ("S.table = np.ones(5)", "Model.table = np.arange(5.0)"),
}
"""Changes of an instance and its class between calls of its method, by place."""
REBINDING = {
    "k": ("k = 5", "k += 1"),
    "once": ("once = not once",),
    "W": ("W = W * 2", "W = np.ones(5)"),
    "NUMBERS": ("NUMBERS.append(4)", "NUMBERS[0] = 8"),
    "LOG": ("LOG.append(0)",),
    "STATE": ("STATE['n'] += 1", "STATE['prev'] = (5,)"),
    "PARTS[0]": ("PARTS[0] = np.ones(5)", "PARTS.append(np.ones(5))"),
    "TABLE['w']": ("TABLE['w'] = np.ones(5)",),
    "NS": ("NS.k += 1", "NS.first = False"),
    "{S}.k": ("S.k += 1",),
    "{S}.first": ("S.first = False",),
    "{S}.scale": ("Model.scale += 1",),
    "T": ("T.k += 1",),
    "cells": ("CELLS['c'].cell_contents = 9",),
}
"""Changes of global numbers, names and containers between calls, by place."""
MEANWHILE = {
    "W": ("W += 1", "W[2] += 4"),
    "V": ("V += 1",),
    "PARTS[0]": ("PARTS[0] += 1", "PARTS[0][2] -= 1"),
    "TABLE['w']": ("TABLE['w'] += 1",),
    "NUMBERS": ("NUMBERS.append(5)",),
    "LOG": ("LOG.append(9)",),
    "STATE": ("STATE['other'] = 1", "STATE['seen'].append(4)"),
    "SEEN": ("SEEN.add(44)",),
    "QUEUE": ("QUEUE.append(6)",),
    "k": ("k += 10",),
    "{S}.k": ("S.k += 10",),
    "{S}.w": ("S.w += 1",),
    "{S}.parts": ("S.parts.append(1.5)",),
    "{S}.names": ("S.names['other'] = 3",),
    "{S}.scale": ("Model.scale += 10",),
    "NS": ("NS.k += 10",),
    "NS.w": ("NS.w += 1",),
    "cell": ("CELLS['cell'].cell_contents[0] += 1",),
}
"""Changes by another thread while a function runs, by place, that meet no change of its own."""
ALWAYS_MEANWHILE = ("print('other')", "np.random.random()", "random.random()")
