"""Runs the command line: ``python -m mnemic``."""

from mnemic.cli import main

if __name__ == "__main__":
    main()
