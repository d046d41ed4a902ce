"""Every link of the documentation leads somewhere, and so does every page that a source mentions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("bench", "docs", "src", "tests", "tools")
FILES = [*ROOT.glob("*.*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))]
PAGES = sorted(path for path in FILES if path.suffix == ".md")
DECISIONS = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors_of(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    titles = _HEADING.findall(_FENCED.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    found = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n[1](#a-b-c) [2](#nowhere) [3](missing.md) [4](page.md#a-b-c) [5](https://x)\n"
    )
    assert broken_links(page) == ["#nowhere", "missing.md"]


def test_no_two_decisions_have_one_number():
    assert [number for number, n in Counter(name[:4] for name in DECISIONS).items() if n > 1] == []
    for name in DECISIONS:
        assert (ROOT / "docs" / "decisions" / name).read_text("utf-8").startswith(f"# {name[:4]}")


def test_pages_and_decisions_that_are_mentioned_exist():
    missing = []
    for path in FILES:
        if path.suffix not in (".md", ".py", ".lark", ".toml"):
            continue
        text = path.read_text("utf-8")
        missing += [
            (path.name, page)
            for page in re.findall(r"\bdocs/[\w/.-]+\.md\b", text)
            if not (ROOT / page).exists()
        ]
        missing += [
            (path.name, number)
            for number in re.findall(r"\b(?:[Dd]ecision |docs/decisions/)(\d{4})\b", text)
            if not any(name.startswith(number) for name in DECISIONS)
        ]
    assert missing == []
