"""Regular expressions: XPath's flavour, in time that is linear in the text, within limits."""

from __future__ import annotations

import re

import pytest

from penstock.functions.errors import ExpressionError, ExpressionLimit, take_refused
from penstock.functions.regex import RegexLimits, compiled, matches, replace

# Each of these takes a backtracking engine longer than anybody waits.
ATTACKS = [
    (r"(a+)+$", "a" * 50_000 + "!"),
    (r"^(a|aa)+$", "a" * 50_000 + "!"),
    (r"(x+x+)+y", "x" * 50_000),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 50_000),
    (r"(.*)*=(.*)*=(.*)*=(.*)*=b", "=" * 50_000),
    (r"(?:a?){900}a{900}b", "a" * 20_000),
    (r"^(\w+\s?)*$", "word " * 10_000 + "!"),
    (r"((((a*)*)*)*)*b", "a" * 50_000),
]


@pytest.mark.parametrize(("pattern", "text"), ATTACKS)
def test_no_pattern_takes_more_than_linear_time(pattern: str, text: str):
    assert matches(text, pattern) is False
    if not matches("", pattern):
        assert replace(text, pattern, "") == text


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a{1,1000000}", "repeats"),
        ("a{99999999999999999999999}", "repeats"),
        ("((a{1,100}){1,100}){1,100}", "too large"),
        (r"\p{L}" * 1_900, "too large"),
        (r"(\p{L}\p{N}){900}", "too large"),
        ("a" * 10_001, "characters"),
        (r"(a)\1", "refers back"),
    ],
)
def test_what_is_too_large_is_refused_and_counted(pattern: str, reason: str):
    take_refused()
    with pytest.raises(ExpressionLimit, match=reason):
        matches("a", pattern)
    [(told, times)] = take_refused().items()
    assert reason in told and times == 1
    assert take_refused() == {}


def test_the_limits_are_exact():
    size = compiled("ab").size
    assert matches("xab", "ab", "", RegexLimits(search=3 * size))
    with pytest.raises(ExpressionLimit):
        matches("xxab", "ab", "", RegexLimits(search=3 * size))
    assert replace("xab", "ab", "", "", RegexLimits(search=3 * size)) == "x"
    with pytest.raises(ExpressionLimit):
        replace("xxab", "ab", "", "", RegexLimits(search=3 * size))
    # the first search may look at 4 bytes, the second at 2
    assert replace("abab", "ab", "c", "", RegexLimits(replace=6 * size)) == "cc"
    with pytest.raises(ExpressionLimit):
        replace("abab", "ab", "c", "", RegexLimits(replace=6 * size - 1))
    assert replace("aa", "a", "$0$0", "", RegexLimits(result=6)) == "aaaa"
    with pytest.raises(ExpressionLimit):
        replace("aa", "a", "$0$0", "", RegexLimits(result=5))
    assert matches("a", "a{5}", "", RegexLimits(repeats=5)) is False
    with pytest.raises(ExpressionLimit):
        matches("a", "a{6}", "", RegexLimits(repeats=5))


def test_a_search_that_starts_again_and_again_is_bounded():
    """After each of its matches this one looks at all the rest of the text."""
    with pytest.raises(ExpressionLimit):
        replace("a" * 30_000, "a*b|a", "", "", RegexLimits(replace=10**9))


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        # XSD 1.1 Part 2, G.4.2.5: \w is all but punctuation, separators and other characters
        (r"\w", "aé1€+\U0001d54f", "_-. \n\ue000\u0378"),
        (r"\W", "_-. ", "aé1€"),
        (r"\d", "1\u0663\U0001d7d9", "a½"),
        (r"\s", " \t\n\r", "a\u00a0\u2028\x0b"),
        (r"\i", "a:_é", "1-."),
        (r"\c", "a:_é1-.", " +"),
        (r"\p{Lu}", "AÉ", "aé1"),
        (r"\P{Lu}", "aé1", "AÉ"),
        (r"\p{IsGreek}", "α", "a"),
        (r"[^\p{L}]", "1 ", "aé"),
        ("[a-z-[aeiou]]", "bz", "aeiouA-["),
        ("[^a-z-[A-Z]]", "1é", "azAZ"),
        (r"[\w-[\d]]", "a", "1_"),
        ("[a-c-]", "abc-", "d"),
        ("[-a]", "-a", "b"),
        (r"[\]\-\[]", "]-[", "a\\"),
        (r"[\d-]", "1-", "a"),
        ("[\U0001d538-\U0001d56b]", "\U0001d54f", "X"),
        (".", "a\U0001d54f\u0085", "\n\r"),
        ("[a^]", "a^", "b"),
    ],
)
def test_classes_of_characters(pattern: str, inside: str, outside: str):
    assert [c for c in inside + outside if matches(c, f"^{pattern}$")] == list(inside)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        # XPath F&O 3.1, 5.6.2, flag i: characters and ranges get their case variants, \p{…} does not
        ("[a-c]", "abcABC", "dD"),
        ("[^a-c]", "dD1", "abcABC"),
        (r"\p{Lu}", "A", "a1"),
        (r"[\p{Lu}x]", "AxX", "a"),
        ("[A-Z-[IO]]", "AaZz", "IiOo"),
        ("é", "éÉ", "e"),
        ("[σ]", "σΣς", "s"),
        (r"\x".replace(r"\x", "k"), "kK\u212a", "x"),
    ],
)
def test_classes_whatever_the_case(pattern: str, inside: str, outside: str):
    assert [c for c in inside + outside if matches(c, f"^{pattern}$", "i")] == list(inside)


@pytest.mark.parametrize(
    "pattern",
    ["[", "[]", "[^]", "a**", "*a", "+", "{1}", "a{2,1}", "a{,2}", "(", ")", "a)", "(?=a)", "(?<n>a)",
     "(?i)a", r"\q", r"\x41", r"\p{Xx}", r"\p{IsNowhere}", r"\pL", "[b-a]", r"[a-\d]", "a{1", "]", "}", "\\",
     r"\0", r"\A", r"\z", r"\Qa\E", "a(?#x)", "a++", "[[a]]"],
)  # fmt: skip
def test_what_xpath_does_not_have_is_an_error(pattern: str):
    take_refused()
    with pytest.raises(ExpressionError):
        matches("a", pattern)
    assert take_refused() == {}, "which is no limit of ours"


def test_plain_patterns_agree_with_python():
    """The dialects share these; a slip in the translation would show."""
    atoms = "a b (a|b) (?:ab) [ab] [^a] . a? b* (ab)+ a{2} b{1,2}? \\. é".split()
    texts = ["", "a", "ab", "abab", "bba", "aab.", "é.b", "b" * 9, "abé" * 3]
    count = 0
    for one in atoms:
        for other in atoms:
            pattern = f"^{one}{other}$"
            python = re.compile(pattern.replace("$", "\\Z"))
            for text in texts:
                assert matches(text, pattern) == (python.search(text) is not None), (pattern, text)
                count += matches(text, pattern)
            loose = one + other
            if not matches("", loose):
                for text in texts:
                    expected = re.sub(loose, lambda match: f"<{match[0]}>", text)
                    assert replace(text, loose, "<$0>") == expected, (loose, text)
    assert count > 50


def test_texts_are_cut_at_characters():
    assert replace("é\U0001d54fé", "\U0001d54f", "$0-$0") == "é\U0001d54f-\U0001d54fé"
    assert replace("𝕏𝕏", ".", "<$0>") == "<𝕏><𝕏>"
