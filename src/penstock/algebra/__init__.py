"""The timed algebra that every language compiles to."""

from penstock.algebra.nodes import *  # noqa: F401,F403
from penstock.algebra.relations import *  # noqa: F401,F403
from penstock.algebra.scopes import ELEMENT, STREAM, Scope  # noqa: F401
from penstock.algebra.windows import (  # noqa: F401
    NOW,
    ON_CHANGE,
    ON_CLOSE,
    Continuous,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Tick,
    View,
    Window,
    WindowSpec,
)
