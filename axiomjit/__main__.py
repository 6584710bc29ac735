"""`python -m axiomjit`: the command line."""

from axiomjit.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
