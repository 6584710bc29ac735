"""Say clearly when a clone lost the symbolic links that join the source folders."""

import os

_LINKED = ("passes", "runtime", "bench")

_PACKAGE = os.path.dirname(__file__)


def check_links(package: "str | os.PathLike[str]" = _PACKAGE) -> None:
    """Raise ImportError if a linked folder of `package` is a text file naming its target.

    Git writes a link as a text file where `core.symlinks` is false. Call this function before the
    folders are imported.
    """
    for name in _LINKED:
        path = os.path.join(package, name)
        if os.path.isfile(path):
            raise ImportError(
                f"import axiomjit.{name}, a symbolic link to the folder {name}/\n"
                f"  seen: {path} is a regular file; this clone was made without symbolic links\n"
                "  instead: in the clone run `git config core.symlinks true`, delete the file "
                f"and run `git checkout -- axiomjit/{name}` (Windows: with Developer Mode on)"
            )
