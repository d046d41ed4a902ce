"""The `penstock` command, also as `python -m penstock`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Until the command line is loaded, Ctrl-C just ends the process."""
    # Processes that this one starts look for no modules in the working directory, where data lies.
    os.environ["PYTHONSAFEPATH"] = "1"
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from penstock import cli

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # `python -m` has put the working directory there
    main()
