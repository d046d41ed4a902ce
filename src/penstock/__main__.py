"""The `penstock` command, also as `python -m penstock`."""

from __future__ import annotations

import signal


def main() -> None:
    """Until the command line is loaded, Ctrl-C just ends the process."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from penstock import cli

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    main()
