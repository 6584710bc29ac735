"""Run `python -m axiomjit.bench`, which is the command `axiomjit bench`."""

from axiomjit.bench.cli import main

if __name__ == "__main__":
    raise SystemExit(main(None, "python -m axiomjit.bench"))
