"""IRIs and names: BASE and PREFIX, relative references, local-name escapes."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from lark import Token, Tree

from penstock.languages.text import QueryText
from penstock.terms import NamedNode

WELL_KNOWN_PREFIXES = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "fn": "http://www.w3.org/2005/xpath-functions#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "qudt": "http://qudt.org/schema/qudt/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "saref": "https://saref.etsi.org/core/",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "unit": "http://qudt.org/vocab/unit/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

AXES_AS_WRITTEN = ("self", "next", "next-1", "edge", "edge-1", "node", "node-1")

_LOCAL_ESCAPE = re.compile(r"\\([_~.\-!$&'()*+,;=/?#@%])")
_REFERENCE = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.S
)


class Names:
    """The prologue as far as it was read: turns IRI tokens into IRIs.

    What is declared again holds from there on. `base` is what the text itself is taken to declare; where
    it declares none, the address at which it was found completes what is written in it (RFC 3986, 5.1),
    and nothing else: what a query is and gives does not depend on where its file lies.
    """

    def __init__(self, source: QueryText, base: str | None = None, address: str | None = None) -> None:
        self.source = source
        self.base = base
        self.address = address
        self.prefixes: dict[str, str] = {}
        self._in_force: tuple[tuple[str, str], ...] | None = ()

    def declare(self, tree: Tree) -> bool:
        """Takes a declaration of the prologue; whether the tree is one."""
        if tree.data == "base_declaration":
            self.declare_base(*tree.children)
        elif tree.data == "prefix_declaration":
            self.declare_prefix(*tree.children)
        else:
            return False
        return True

    @property
    def in_force(self) -> tuple[tuple[str, str], ...]:
        """The prefixes that are declared now, one value for all statements until the next declaration."""
        if self._in_force is None:
            self._in_force = tuple(self.prefixes.items())
        return self._in_force

    def declare_base(self, token: Token) -> None:
        self.base = self._node(self._resolved(token), token).value

    def declare_prefix(self, name: Token, iri: Token) -> None:
        self.check_name(name)
        self.prefixes[name[:-1]] = self._resolved(iri)
        self._in_force = None

    def iri(self, token: Token) -> NamedNode:
        """The IRI that an IRIREF, PNAME_LN or PNAME_NS token stands for."""
        if token.type == "IRIREF":
            return self._node(self._resolved(token), token)
        prefix, _, local = token.partition(":")
        self.check_name(token)
        if prefix not in self.prefixes:
            raise self._unknown_prefix(prefix, token)
        if "\\" in local:
            local = _LOCAL_ESCAPE.sub(r"\1", local)
        return self._node(self.prefixes[prefix] + local, token)

    def shown(self, iri: NamedNode) -> str:
        """An IRI as its author would write it."""
        for prefix, namespace in self.prefixes.items():
            if iri.value.startswith(namespace):
                return f"{prefix}:{iri.value[len(namespace) :]}"
        return f"<{iri.value}>"

    def _node(self, iri: str, token: Token) -> NamedNode:
        try:
            return NamedNode(iri)
        except ValueError as problem:
            raise self.source.error(f"<{iri}> is not an IRI: {problem}", token) from None

    def _resolved(self, token: Token) -> str:
        reference = token[1:-1]
        if _REFERENCE.fullmatch(reference)[1] is not None:
            return reference
        base = self.base or self.address
        if base is None:
            raise self.source.error(
                f"the IRI {token} is relative, and there is no base to complete it",
                token,
                "write the IRI in full, or begin the query with BASE <http://example.org/>",
            )
        return resolve(reference, base)

    def _unknown_prefix(self, prefix: str, token: Token):
        if token.startswith("::", len(prefix)):
            return self._unknown_axis(prefix, token)
        hint = None
        close = difflib.get_close_matches(prefix, [p for p in self.prefixes if p], 1, 0.6)
        if prefix in WELL_KNOWN_PREFIXES:
            hint = f"add the line: PREFIX {prefix}: <{WELL_KNOWN_PREFIXES[prefix]}>"
        elif close:
            hint = f"did you mean {close[0]}: ?"
        elif self.prefixes:
            declared = ", ".join(f"{name}:" for name in self.prefixes)
            hint = f"add a line PREFIX {prefix}: <…>; declared are {declared}"
        else:
            hint = f"add a line PREFIX {prefix}: <…> before the query"
        start = token.start_pos
        span = self.source.span(start, start + len(prefix) + 1)
        return self.source.error(f"the prefix {prefix}: is not declared", span, hint)

    def _unknown_axis(self, name: str, token: Token):
        """`nxt::p`: the form of a name, but nobody has names that begin with a colon."""
        close = difflib.get_close_matches(name.lower(), AXES_AS_WRITTEN, 1, 0.5)
        hint = f"did you mean {close[0]}:: ?" if close else f"the axes are {', '.join(AXES_AS_WRITTEN)}"
        span = self.source.span(token.start_pos, token.start_pos + len(name) + 2)
        message = f"{name}:: is not an axis, and the prefix {name}: is not declared"
        return self.source.error(message, span, hint)

    def check_name(self, token: Token) -> None:
        """Refuse characters that no name may have (the lexer is exact in Latin-1 only)."""
        if token.isascii():
            return
        if not _exact_names()[token.type].fullmatch(token):
            raise self.source.error(
                f"{token} has a character that cannot stand in a name",
                token,
                "write such a character in a full IRI, as in <http://example.org/…>",
            )


def resolve(reference: str, base: str) -> str:
    """A relative IRI reference against a base (RFC 3986, section 5.2, without normalising)."""
    scheme, authority, path, query, fragment = _REFERENCE.fullmatch(reference).groups()
    if scheme is not None:
        return reference
    base_scheme, base_authority, base_path, base_query, _ = _REFERENCE.fullmatch(base).groups()
    if authority is not None:
        path = _without_dots(path)
    else:
        authority = base_authority
        if not path:
            path = base_path
            query = query if query is not None else base_query
        elif path.startswith("/"):
            path = _without_dots(path)
        elif base_authority is not None and not base_path:
            path = _without_dots("/" + path)
        else:
            path = _without_dots(base_path[: base_path.rfind("/") + 1] + path)
    return "".join(
        (
            f"{base_scheme}:" if base_scheme is not None else "",
            f"//{authority}" if authority is not None else "",
            path,
            f"?{query}" if query is not None else "",
            f"#{fragment}" if fragment is not None else "",
        )
    )


def _without_dots(path: str) -> str:
    if "." not in path:
        return path
    segments = path.split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)


@lru_cache(maxsize=1)
def _exact_names() -> dict[str, re.Pattern[str]]:
    """The name terminals of section 19.8, exactly."""
    base = (
        "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
        "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
    )
    more = "0-9\u00b7\u0300-\u036f\u203f-\u2040"
    escaped = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
    prefix = rf"(?:[{base}](?:[-._{base}{more}]*[-_{base}{more}])?)?:"
    local = (
        rf"(?:[_:0-9{base}]|{escaped})"
        rf"(?:(?:[-._:{base}{more}]|{escaped})*(?:[-_:{base}{more}]|{escaped}))?"
    )
    return {
        "PNAME_NS": re.compile(prefix),
        "PNAME_LN": re.compile(prefix + local),
        "BLANK_NODE_LABEL": re.compile(rf"_:[_0-9{base}](?:[-._{base}{more}]*[-_{base}{more}])?"),
        "VAR": re.compile(rf"[?$][_0-9{base}][_{base}{more}]*"),
    }
