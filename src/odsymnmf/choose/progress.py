"""Where a search is."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 5.0


@contextmanager
def counted(title: str, verbose: int) -> Iterator[Callable[[str], None]]:
    """Yield what to call before every fit: it moves a bar (1), prints a line now and then (2)."""
    if not verbose:
        yield lambda name: None
    elif verbose == 1:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                'verbose shows a progress bar of tqdm: pip install "odsymnmf[progress]"; or 0'
            ) from error
        with tqdm(desc=title, unit=" fits") as bar:

            def move(name: str) -> None:
                bar.set_postfix_str(name, refresh=False)
                bar.update()

            yield move
    else:
        done, last = 0, -PAUSE

        def tell(name: str) -> None:
            nonlocal done, last
            done += 1
            if time.monotonic() - last >= PAUSE:
                last = time.monotonic()
                print(f"{title}: fit {done}, {name}", file=sys.stderr, flush=True)

        yield tell
