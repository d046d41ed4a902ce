"""The grammars, and the parser that is built from them once, when it is first needed."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from lark import Lark, Tree
from lark.exceptions import UnexpectedInput

from penstock.languages.syntax_errors import explain
from penstock.languages.text import QueryText


@lru_cache(maxsize=None)
def parser(*grammars: str) -> Lark:
    """The LALR parser of a grammar; later files extend the rules of earlier ones."""
    folder = files("penstock.languages")
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in grammars)
    return Lark(
        text,
        parser="lalr",
        lexer="basic",
        start="query",
        maybe_placeholders=False,
        propagate_positions=True,
    )


def syntax_tree(source: QueryText, grammars: tuple[str, ...]) -> Tree:
    """The syntax tree of a query text."""
    lark = parser(*grammars)
    try:
        return lark.parse(source.text)
    except UnexpectedInput:
        raise explain(lark, source) from None
