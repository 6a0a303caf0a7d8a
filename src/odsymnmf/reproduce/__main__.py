"""``python -m odsymnmf.reproduce NAME... --out DIR``."""

import sys

from odsymnmf.reproduce import main

if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted; finished cells are kept, and the same command goes on from there")
