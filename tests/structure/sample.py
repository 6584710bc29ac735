"""Draw sentences and names of the product at random, for someone to read who did not write them.

`python -m tests.structure.sample --seed S` prints 60 sentences of docstrings and 60 names of
functions, classes, constants and fields, each with its place. None should need a second reading.
"""

import argparse
import ast
import random
import re
import sys
import textwrap

from tests.structure.sources import FOLDERS, nodes_of, parsed, read_sources

END = re.compile(r'(?<=[.?!])["\')]*\s+(?=[A-Z`"(])')
SECTION = re.compile(r"^ *(?:Args|Raises|Returns|Yields|Attributes):$", re.MULTILINE)
ITEM = re.compile(r"^ +\*{0,2}\w+: (?=\S)", re.MULTILINE)
"""The name of an argument or error before its description."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def documented(node: ast.AST) -> list[ast.Expr]:
    """The docstrings that stand in the body of a node, those below assignments included."""
    return [
        one
        for one in getattr(node, "body", [])
        if isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Constant)
        and isinstance(one.value.value, str)
    ]


def sentences(sources: dict[str, str]) -> list[tuple[str, str]]:
    """Every sentence of the docstrings with the place of its docstring; no tables or examples."""
    found = []
    for path, source in sources.items():
        nodes = [n for n in nodes_of(source) if isinstance(n, ast.Module | ast.stmt)]
        for text in (text for node in nodes for text in documented(node)):
            prose, *sections = SECTION.split(str(text.value.value))
            items = "".join(ITEM.sub("\n\n", section) for section in sections)
            for paragraph in re.split(r"\n\s*\n", prose + items):
                if not paragraph.strip().startswith((">>>", "Examples:", "|", "-", "`axiomjit")):
                    place = f"{path}:{text.lineno}"
                    found += [(place, one) for one in END.split(" ".join(paragraph.split())) if one]
    return found


def names(sources: dict[str, str]) -> list[tuple[str, str]]:
    """Every function, class, constant and field with its place; special methods left out."""
    found = []
    for path, source in sources.items():
        tree = parsed(source)
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS | ast.ClassDef):
                kind = "class" if isinstance(node, ast.ClassDef) else "function"
                found.append((f"{path}:{node.lineno}", kind, node.name))
            if node is tree or isinstance(node, ast.ClassDef):
                kind = "constant" if node is tree else f"field of {getattr(node, 'name', '')}"
                for one in node.body:
                    if isinstance(one, ast.AnnAssign | ast.Assign):
                        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                        found += [
                            (f"{path}:{one.lineno}", kind, target.id)
                            for target in targets
                            if isinstance(target, ast.Name)
                        ]
    return [(place, f"{name} ({kind})") for place, kind, name in found if not name.startswith("__")]


def drawn(sources: dict[str, str], seed: int, count: int) -> str:
    """The text that is read: `count` sentences and `count` names, the same for the same seed."""
    source = random.Random(seed)
    lines = []
    for title, items in (("Sentences", sentences(sources)), ("Names", names(sources))):
        lines += [f"{title} of seed {seed}, {count} of {len(items):,}", ""]
        for place, text in source.sample(items, min(count, len(items))):
            lines += [place, textwrap.indent(textwrap.fill(text, 96), "    ")]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True, help="another seed draws others")
    parser.add_argument("--count", type=int, default=60, help="of sentences, and of names")
    options = parser.parse_args()
    sys.stdout.write(drawn(read_sources(*FOLDERS), options.seed, options.count))
