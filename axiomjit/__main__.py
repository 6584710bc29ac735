"""Run the command line, as `python -m axiomjit`."""

from axiomjit.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
