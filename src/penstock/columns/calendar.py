"""The calendar of `timeline`, compiled for kernels."""

from __future__ import annotations

from penstock import timeline
from penstock.jit import njit

days_from_civil = njit(cache=True)(timeline.days_from_civil)
civil_from_days = njit(cache=True)(timeline.civil_from_days)
days_in_month = njit(cache=True)(timeline.days_in_month)
