"""CQELS-CEP (paper 001, section 3): windows whose elements keep their intervals, and sequences of them."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced, conjunction
from penstock.algebra.facts import once, placed
from penstock.algebra.relations import INTERSECTS, IntervalRule
from penstock.algebra.scopes import ELEMENT
from penstock.algebra.windows import NOW, WindowSpec, last
from penstock.languages.groups import GroupParts, with_filter
from penstock.languages.quantifiers import Quantifier, QuantifierTranslator
from penstock.languages.sequences import Written
from penstock.languages.triples import UNIT, Block, join
from penstock.languages.window_clauses import NamedWindowTranslator
from penstock.terms import NamedNode

_IN_A_WINDOW = "events are looked for in a window: WINDOW :W { SEQ({ … }, { … }) }"
_TRIPLES_ONLY = (
    "in a window stand triples, which one element must have together, or SEQ({ … }, { … }), and FILTERs; "
    "what else is combined with them stands beside it"
)


class CqelsCepTranslator(QuantifierTranslator, NamedWindowTranslator):
    """Event clauses and a background pattern, put together where their intervals intersect."""

    TITLE = "CQELS-CEP"
    SLIDE = "SLIDE"
    KEEPS_ALL = "[ALL]"
    EXAMPLE = "FROM NAMED WINDOW :W ON :stream [RANGE 10m]"

    def __init__(self, *args, **keywords) -> None:
        super().__init__(*args, **keywords)
        self._clauses: dict[NamedNode, list[Tree]] = {}  # the WINDOW clauses by the names of windows
        self._in_sequences: set[NamedNode] = set()  # windows that are no event clauses of their own
        self._translated: dict[NamedNode, a.InWindow] = {}

    # --- windows ------------------------------------------------------------------------------

    def declare_windows(self, form: Tree) -> None:
        super().declare_windows(form)
        inside: set[int] = set()  # sequences of triples
        for tree in form.iter_subtrees_topdown():
            if tree.data in ("window_clause", "stream_clause"):
                inside.update(id(each) for each in tree.find_data("sequence"))
            if tree.data == "window_clause":
                name = tree.children[0]
                if len(tree.children) > 2:
                    self.declare_window(*tree.children[:3])
                self._clauses.setdefault(self.window_name(name), []).append(tree)
            elif tree.data == "stream_clause":
                _, stream, spec, _ = tree.children
                self.add_window(self._nameless(tree), stream, spec)
            elif tree.data == "sequence" and id(tree) not in inside:
                members = (member.children[0] for member in tree.children)
                names = (each for each in members if isinstance(each, Token))
                self._in_sequences.update(self.iri(name) for name in names)

    def _nameless(self, tree: Tree) -> NamedNode:
        """The name of a window that its author gave none; it is known by its place."""
        return NamedNode(f"urn:penstock:window:{tree.meta.start_pos}")

    def without_slide(self, tree: Tree, width: int, start: int | None) -> WindowSpec:
        if start is not None:
            raise self.source.error(
                "a window without SLIDE moves with every instant, and has no start",
                self.extent(tree),
                "write [RANGE … SLIDE … STARTING …]",
            )
        return last(width)

    def _now_window(self, tree: Tree) -> WindowSpec:
        return NOW

    def _all_window(self, tree: Tree) -> WindowSpec:
        return self._landmark_window(tree)

    # --- groups -------------------------------------------------------------------------------

    def elements(self, children: list[Tree]) -> GroupParts:
        """Event clauses are joined with each other, then with what is not in windows (equations 1, 2)."""
        events: a.Pattern | None = None
        background: a.Pattern = UNIT
        block = Block()
        filters: list[Tree] = []
        for child in children:
            if child.data == "triples_block":
                self.triples_block(child, block)
            elif child.data == "filter":
                filters.append(child)
            elif child.data in ("window_clause", "stream_clause", "sequence"):
                if (clause := self._event_clause(child)) is not None:
                    events = self._together(events, clause, child)
            else:
                background, block = join(background, block.pattern()), Block()
                alone = None
                if child.data in ("group_or_union", "graph", "inline_data"):
                    alone = getattr(self, f"_add_{child.data}")(UNIT, child)
                if alone is None:  # OPTIONAL, MINUS, BIND: of all that stands before it
                    before = self._whole_group(events, background, child)
                    pattern = getattr(self, f"_add_{child.data}")(before, child)
                    events, background = (pattern, UNIT) if _has_window(pattern) else (None, pattern)
                elif _has_window(alone):
                    events = self._together(events, alone, child)
                else:
                    background = join(background, alone)
        background = join(background, block.pattern())
        return self._whole_group(events, background, None), self._all_of(filters)

    def _all_of(self, filters: list[Tree]) -> a.Expression | None:
        return conjunction([self.expression(each.children[0]) for each in filters])

    def _whole_group(self, events: a.Pattern | None, background: a.Pattern, tree: Tree | None) -> a.Pattern:
        if events is None:
            return background
        return events if background == UNIT else self._together(events, a.Background(background), tree)

    def _together(self, events: a.Pattern | None, other: a.Pattern, tree: Tree | None) -> a.Pattern:
        """JOIN of the paper: compatible solutions, with what their intervals have in common."""
        if events is None:
            return other
        joined = a.Join(events, other, INTERSECTS, IntervalRule.INTERSECTION)
        return joined if tree is None else placed(joined, self.source.keyword_of(tree))

    def _add_optional(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        """What JOIN has, and what has no partner in it."""
        optional = super()._add_optional(before, tree)
        optional = replace(optional, relation=INTERSECTS, interval=IntervalRule.INTERSECTION)
        return placed(optional, self.source.keyword_of(tree))

    # --- event clauses ------------------------------------------------------------------------

    def _event_clause(self, tree: Tree) -> a.Pattern | None:
        """None for a window that a sequence names."""
        if tree.data == "sequence":
            return self._of_windows(tree)
        if tree.data == "stream_clause":
            return self._in_window(self._nameless(tree), tree)
        name = self.known_window(tree.children[0])
        return None if name in self._in_sequences else self._in_window(name, tree)

    def _in_window(self, name: NamedNode, tree: Tree) -> a.InWindow:
        return placed(a.InWindow(name, self._window_pattern(tree.children[-1])), self.source.keyword_of(tree))

    def _of_windows(self, tree: Tree) -> a.Pattern:
        """SEQ(:W1, !:W2, :W3)."""
        written = []
        for member in tree.children:
            token = member.children[0]
            if isinstance(token, Tree) and token.data == "repeated_window":
                raise self.source.error(
                    "a repetition of windows is not built yet",
                    self.extent(token),
                    "a repetition stands in a window: WINDOW :W { SEQ({ … }, { … }+, { … }) }",
                )
            if not isinstance(token, Token):
                raise self.source.error(
                    "SEQ outside of windows is about windows, and here is a group",
                    self.extent(member),
                    _IN_A_WINDOW,
                )
            negated = member.data == "negated_member"
            written.append(Written(a.Member(self._window_of(token), negated), self.extent(member), member))
        return self.event_sequence(written, self.source.keyword_of(tree))

    def _window_of(self, token: Token) -> a.InWindow:
        name = self.known_window(token)
        clauses = self._clauses.get(name, [])
        if len(clauses) != 1:
            many = f"there are {len(clauses)} WINDOW clauses" if clauses else "there is no WINDOW clause"
            raise self.source.error(
                f"SEQ names the window {token}, and {many} for it",
                token,
                f"say what is looked for in it, once: WINDOW {token} {{ … }}",
            )
        if name not in self._translated:
            self._translated[name] = self._in_window(name, clauses[0])
        return self._translated[name]

    # --- triple sequence patterns ---------------------------------------------------------------

    def _window_pattern(self, tree: Tree) -> a.Pattern:
        """TSP: triples of one element, or a sequence of such."""
        with self.aggregating(None):
            sequences = [child for child in tree.children if child.data == "sequence"]
            others = [child for child in tree.children if child.data != "filter"]
            if [child.data for child in others] == ["group_or_union"]:  # each as if it stood here by itself
                groups = [each for each in others[0].children if isinstance(each, Tree)]
                return self._filtered(balanced(list(map(self._window_pattern, groups)), a.Union_), tree)
            if not sequences:
                return self._one_element(tree)
            for child in tree.children:
                if child.data not in ("sequence", "filter") or any(child is each for each in sequences[1:]):
                    raise self.source.error(
                        "beside a SEQ this cannot stand in a window", self.extent(child), _TRIPLES_ONLY
                    )
            return self._filtered(self._triple_sequence(sequences[0]), tree)

    def _filtered(self, pattern: a.Pattern, tree: Tree) -> a.Pattern:
        filters = [child for child in tree.children if child.data == "filter"]
        return with_filter(pattern, self._all_of(filters))

    def _triple_sequence(self, tree: Tree) -> a.Pattern:
        written: list[Written] = []
        ranges: dict[int, Quantifier] = {}  # the members that are quantified, by their places
        for member in tree.children:
            inside, negated = member.children[0], member.data == "negated_member"
            place = self.extent(member)
            if isinstance(inside, Token) or inside.data == "repeated_window":
                raise self.source.error(
                    "SEQ in a window is about triples, and here is a name",
                    place,
                    "write { … }; a SEQ of windows stands beside them: SEQ(:W1, !:W2, :W3)",
                )
            if inside.data in ("repetition", "quantified"):
                if inside.data == "quantified":
                    ranges[len(written)] = self.quantifier(inside.children[1])
                repeated = self.repetition(inside, self._one_element(inside.children[0]))
                written.append(Written(replace(repeated, negated=negated), place, inside))
            else:
                written.append(Written(a.Member(self._one_element(inside), negated), place, inside))
        return self.quantified_sequence(written, ranges, self.source.keyword_of(tree))

    def _one_element(self, tree: Tree) -> a.Pattern:
        """Triples that one element must have together (equation 16), and conditions on them."""
        block = Block()
        for child in tree.children:
            if child.data == "triples_block":
                self.triples_block(child, block)
            elif child.data != "filter":
                raise self.source.error("this cannot stand in a window", self.extent(child), _TRIPLES_ONLY)
        pattern = block.pattern()
        if pattern == UNIT:
            raise self.source.error(
                "an event has at least one triple", self.extent(tree), "say what is looked for"
            )
        return self._filtered(_in_one_element(pattern), tree)


def _in_one_element(pattern: a.Pattern) -> a.Pattern:
    """Triples and paths, and the joins of them, with the scope of one element."""
    if isinstance(pattern, a.Join):
        parts = (_in_one_element(part) for part in pattern.parts)
        return replace(pattern, **dict(zip(("left", "right"), parts, strict=True)), scope=ELEMENT)
    return replace(pattern, scope=ELEMENT)


@once
def _has_window(pattern: a.Pattern) -> bool:
    """Whether a pattern looks at a window, apart from its conditions."""
    if isinstance(pattern, (a.InWindow, a.EventSequence)):
        return True
    return any(_has_window(part) for part in pattern.parts)
