"""``python -m odsymnmf.cli``: the command where the script is not on the path."""

from odsymnmf.cli import main

if __name__ == "__main__":
    main()
