"""City traffic: the scenario of the CQELS-CEP paper, grown to a city of many stops and lines.

ex:transportationMap  :conn1 :beg :s7 ; :end :s31 ; :means :subway ; :line :U2 ; :dur "PT90S"^^xsd:duration .
                      :s7 rdfs:label "Haydn Park" .     :U2-5 a :subway ; :line :U2 .
ex:registered         :p12 :goesTo :s31 .
ex:publicTransport    :U2-5 :delayAt :s7 .    :U2-5 :arriveAt :s7 .     elements with intervals
ex:passengers         :p12 :waitsAt :s7 .                               so are these
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from penstock.errors import UsageError
from penstock.scenarios.scenario import Data, Match
from penstock.scenarios.vienna.network import NAMESPACE, City, make_city
from penstock.scenarios.vienna.traffic import Event, locations, public_transport

GRAPHS = "http://example.org/vienna/"
SEED = 2015  # the paper's year

QUERIES = {
    "officer.cqels": "Stops from which subways lead to the city centre, and to which a subway was late twice"
    " within ten minutes without having arrived.",
    "passenger.cqels": "Passengers who wait while a subway is late that would bring them where they go, and"
    " the trams that go there, too.",
}


@dataclass(frozen=True)
class Vienna:
    """A city of this size, and what happens in it in so many minutes."""

    stops: int = 1_000
    lines: int = 100
    minutes: int = 60
    passengers: int | None = None  # by default two for each stop
    seed: int = SEED

    def __post_init__(self) -> None:
        for name, least in (("stops", 12), ("lines", 5), ("minutes", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"a city cannot have {getattr(self, name)} {name}: it has at least {least}")

    @cached_property
    def city(self) -> City:
        passengers = 2 * self.stops if self.passengers is None else self.passengers
        return make_city(self.stops, self.lines, passengers, self.seed)

    @cached_property
    def public_transport(self) -> list[Event]:
        return public_transport(self.city, self.minutes, self.seed)

    @cached_property
    def locations(self) -> list[Event]:
        return locations(self.city, self.minutes, self.seed)

    @property
    def title(self) -> str:
        means = [line.means for line in self.city.lines]
        kinds = ", ".join(f"{means.count(kind)} {many}" for kind, many in _LINES.items())
        return (
            f"City traffic: two queries over {self.minutes} minutes of a city with {self.stops:,} stops and"
            f" {len(means):,} lines ({kinds})"
        )

    def write(self, directory: Path) -> Data:
        """The static graphs as N-Triples and the streams as N-Quads, in a file each."""
        graphs = {"transportationMap": self.city.map(), "registered": self.city.registered()}
        streams = {"publicTransport": self.public_transport, "passengers": self.locations}
        texts = {f"{name}.nt": lines for name, lines in graphs.items()}
        texts |= {f"{name}.nq": _elements(name, events) for name, events in streams.items()}
        for name, lines in texts.items():
            with (directory / name).open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
        return Data(
            tuple((GRAPHS + name, directory / f"{name}.nq") for name in streams),
            tuple((GRAPHS + name, directory / f"{name}.nt") for name in graphs),
        )

    def tell(self, query: str, matches: Iterable[Match]) -> Iterator[tuple[int, int, str]]:
        """What matches mean; those that mean the same are one sentence."""
        yield from self._alarms(matches) if query == "officer" else self._advice(matches)

    def _alarms(self, matches: Iterable[Match]) -> Iterator[tuple[int, int, str]]:
        """Of a third delay there is a match with each one before."""
        starts: dict[tuple[str, int], list[int]] = {}
        for values, start, end in matches:
            starts.setdefault((values["s"], end), []).append(start)
        for (stop, end), found in starts.items():
            several = f" ({len(found)} matches)" if len(found) > 1 else ""
            text = f"{self.city.names[stop]}: a subway was late twice, and is not there yet{several}"
            yield min(found), end, text

    def _advice(self, matches: Iterable[Match]) -> Iterator[tuple[int, int, str]]:
        """There is a match with each line that a passenger can take instead."""
        lines: dict[tuple, set[str]] = {}
        for values, start, end in matches:
            about = (*(values[name] for name in ("p", "s", "d", "v")), start, end)
            lines.setdefault(about, set()).add(_local(values["line"]))
        for (passenger, stop, to, vehicle, start, end), found in lines.items():
            waits = f"{_local(passenger)} waits at {self.city.names[stop]} to go to {self.city.names[to]}"
            instead = " or ".join(sorted(found, key=lambda line: (len(line), line)))
            yield start, end, f"{waits}: {_local(vehicle)} is late, but there is {instead}"


_LINES = {"subway": "subways", "tram": "trams", "bus": "buses"}


def _elements(stream: str, events: Iterable[Event]) -> Iterator[str]:
    """As N-Quads."""
    for number, event in enumerate(events):
        yield event.nquad(f"{stream}/{number}")


def _local(iri: str) -> str:
    return iri.removeprefix(NAMESPACE)
