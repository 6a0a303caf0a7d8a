"""``python -m odsymnmf.reproduce NAME... --out DIR``."""

import sys

from odsymnmf.reproduce import main

if __name__ == "__main__":
    sys.exit(main())
