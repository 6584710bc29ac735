"""`python -m axiomjit.bench`, from the root of a clone: the same as `axiomjit bench`."""

from axiomjit.bench.cli import main

if __name__ == "__main__":
    raise SystemExit(main(None, "python -m axiomjit.bench"))
