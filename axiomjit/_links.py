"""Say clearly when a clone lost the symbolic links that join the source folders."""

from pathlib import Path

_LINKED = ("passes", "runtime", "bench")


def check_links(package: Path = Path(__file__).parent) -> None:
    """Raise ImportError if a linked folder of `package` is a text file naming its target.

    Git writes such files where `core.symlinks` is false. Call it before the folders are imported.
    """
    for name in _LINKED:
        path = package / name
        if path.is_file():
            raise ImportError(
                f"import axiomjit.{name}, a symbolic link to the folder {name}/\n"
                f"  seen: {path} is a regular file; this clone was made without symbolic links\n"
                "  instead: in the clone run `git config core.symlinks true`, delete the file "
                f"and run `git checkout -- axiomjit/{name}` (Windows: with Developer Mode on)"
            )
