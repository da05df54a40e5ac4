"""``python -m opengcd`` is the command line."""

from opengcd.cli import main

if __name__ == "__main__":  # processes that a command starts import this module too
    main()
