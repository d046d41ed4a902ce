"""What all decoders of streams know of the input and of what is wanted of it."""

from __future__ import annotations

import numpy as np

from penstock.decode.canonical import SaltedLabels
from penstock.decode.elements import Elements
from penstock.decode.limits import LIMITS, InputLimits
from penstock.decode.nquads import keep_table
from penstock.decode.relative import UNRESOLVED
from penstock.decode.times import TimePredicates


class ElementDecoder:
    """The base of decoders: whose elements they are, which predicates are kept, and what ends the run."""

    def __init__(
        self,
        source: str,
        times: TimePredicates,
        *,
        strict: bool = False,
        keep_predicates: np.ndarray | None = None,
        named: bool = False,
        base: str | None = None,  # for formats that have relative IRIs
        limits: InputLimits = LIMITS,
        key: int = 0,
        elements: Elements | None = None,
    ) -> None:
        self.source = source
        self.key = key
        self.elements = elements or Elements(source, key)
        self.limits = limits
        self.base = base or UNRESOLVED
        self.times = times
        self.strict = strict
        self.keep = keep_table(None if named else keep_predicates)
        self.named = named
        self.stated = times.ids(key)
        self.label = SaltedLabels(source)
