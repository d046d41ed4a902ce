"""The grammars, and the parser that is built from them once, when it is first needed."""

from __future__ import annotations

import contextlib
import sys
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from lark import Lark, Tree
from lark.exceptions import UnexpectedInput

from penstock.languages.language import Language
from penstock.languages.syntax_errors import explain
from penstock.languages.text import QueryText


@lru_cache(maxsize=None)
def parser(language: Language) -> Lark:
    """The LALR parser of a language; later grammar files extend the rules of earlier ones."""
    folder = files("penstock.languages")
    kept = Path(str(folder), "__pycache__")
    with contextlib.suppress(OSError):
        kept.mkdir(exist_ok=True)
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in language.grammars)
    return Lark(
        text,
        parser="lalr",
        lexer="basic",
        start=language.start,
        maybe_placeholders=False,
        propagate_positions=True,
        # Making the tables takes a second; where nothing can be written, they are made anew.
        cache=str(kept / f"{language.name}.{sys.implementation.cache_tag}.tables"),
    )


def syntax_tree(source: QueryText, language: Language, others: tuple[Language, ...] = ()) -> Tree:
    """The syntax tree of a text; words of `others` that stand in it are told from mistakes."""
    try:
        return parser(language).parse(source.text)
    except UnexpectedInput:
        known = [(other, parser(other)) for other in others]
        raise explain(parser(language), source, language, known) from None
