"""String functions, language tags, regular expressions, hashes, IRIs."""

from __future__ import annotations

import hashlib

import pytest

from functions.notation import ERROR, expected, term, value
from penstock.functions.evaluate import EvaluationContext


def cases(*rows):
    return pytest.mark.parametrize(("written", "answer"), rows)


@cases(
    (("STR", ":a"), '"http://example.org/a"'),
    (("STR", "01"), '"01"'),
    (("STR", '"a"@en'), '"a"'),
    (("STR", "_:a"), ERROR),
    (("LANG", '"a"@en'), '"en"'),
    (("LANG", '"a"'), '""'),
    (("LANG", ":a"), ERROR),
    (("DATATYPE", "1"), "xsd:integer"),
    (("DATATYPE", '"a"'), "xsd:string"),
    (("DATATYPE", '"a"@en'), "rdf:langString"),
    (("DATATYPE", '"a"^^:t'), ":t"),
    (("DATATYPE", ":a"), ERROR),
    (("STRDT", '"1"', "xsd:integer"), "1"),
    (("STRDT", '"1"@en', "xsd:integer"), ERROR),
    (("STRDT", '"1"', '"x"'), ERROR),
    (("STRDT", '"1"', "rdf:langString"), ERROR),
    (("STRLANG", '"a"', '"en"'), '"a"@en'),
    (("STRLANG", '"a"@en', '"de"'), ERROR),
    (("STRLANG", '"a"', '"not a tag"'), ERROR),
    (("ISIRI", ":a"), "true"),
    (("ISURI", '"a"'), "false"),
    (("ISBLANK", "_:a"), "true"),
    (("ISLITERAL", "1"), "true"),
    (("ISLITERAL", ":a"), "false"),
    (("ISNUMERIC", '"1"^^xsd:short'), "true"),
    (("ISNUMERIC", '"abc"^^xsd:integer'), "false"),
    (("ISNUMERIC", '"1"'), "false"),
    (("ISNUMERIC", "?unbound"), ERROR),
)
def test_terms(written, answer):
    assert value(written) == expected(answer)


@cases(
    (("STRLEN", '"日本語"'), "3"),
    (("STRLEN", '"a𝄞"@en'), "2"),
    (("STRLEN", "12"), ERROR),
    (("UCASE", '"bär"@de'), '"BÄR"@de'),
    (("LCASE", '"BÄR"'), '"bär"'),
    (("SUBSTR", '"motor car"', "6"), '" car"'),
    (("SUBSTR", '"metadata"@en', "4", "3"), '"ada"@en'),
    (("SUBSTR", '"12345"', "1.5", "2.6"), ERROR),
    (("SUBSTR", '"12345"', "1.5", "2e0"), ERROR),
    (("SUBSTR", '"12345"', "0", "3"), '"12"'),
    (("SUBSTR", '"12345"', "5", "-3"), '""'),
    (("SUBSTR", '"12345"', "-3", "5"), '"1"'),
    (("SUBSTR", '"12345"', '"NaN"^^xsd:double', "3"), ERROR),
    (("SUBSTR", '"12345"', "-42", '"INF"^^xsd:double'), ERROR),
    (("SUBSTR", '"12345"', '"-INF"^^xsd:double', '"INF"^^xsd:double'), ERROR),
    (("SUBSTR", '"12345"', "-9223372036854775808", "9223372036854775811"), '"12"'),
    (("SUBSTR", '"12345"', '"2"'), ERROR),
    (("STRSTARTS", '"foobar"@en', '"foo"'), "true"),
    (("STRSTARTS", '"foobar"', '"foo"@en'), ERROR),
    (("STRSTARTS", '"foobar"@en', '"foo"@de'), ERROR),
    (("STRENDS", '"foobar"@en', '"bar"@en'), "true"),
    (("CONTAINS", '"foobar"', '"ob"'), "true"),
    (("CONTAINS", '"foobar"', '"x"'), "false"),
    (("CONTAINS", "1", '"1"'), ERROR),
    (("STRBEFORE", '"abc"@en', '"b"'), '"a"@en'),
    (("STRBEFORE", '"abc"@en', '"z"'), '""'),
    (("STRBEFORE", '"abc"@en', '""'), '""@en'),
    (("STRBEFORE", '"abc"@en', '"b"@cy'), ERROR),
    (("STRAFTER", '"abc"', '"b"'), '"c"'),
    (("STRAFTER", '"abc"@en', '""@en'), '"abc"@en'),
    (("STRAFTER", '"abc"@en', '"z"@en'), '""'),
    (("CONCAT", '"a"', '"b"'), '"ab"'),
    (("CONCAT", '"a"@en', '"b"@en'), '"ab"@en'),
    (("CONCAT", '"a"@en', '"b"@de'), '"ab"'),
    (("CONCAT", '"a"@en', '"b"'), '"ab"'),
    (("CONCAT",), '""'),
    (("CONCAT", '"a"', "1"), ERROR),
    (("ENCODE_FOR_URI", '"Los Angeles/~é"'), '"Los%20Angeles%2F~%C3%A9"'),
    (("LANGMATCHES", '"en-GB"', '"en"'), "true"),
    (("LANGMATCHES", '"EN"', '"en"'), "true"),
    (("LANGMATCHES", '"eng"', '"en"'), "false"),
    (("LANGMATCHES", '""', '"*"'), "false"),
    (("LANGMATCHES", '"fr"', '"*"'), "true"),
)
def test_strings(written, answer):
    assert value(written) == expected(answer)


@cases(
    (("MD5", '"abc"'), '"900150983cd24fb0d6963f7d28e17f72"'),
    (("SHA1", '"abc"'), '"a9993e364706816aba3e25717850c26c9cd0d89d"'),
    (("SHA1", '"食べる"'), f'"{hashlib.sha1("食べる".encode()).hexdigest()}"'),
    (("MD5", '"abc"@en'), ERROR),
    (("MD5", "1"), ERROR),
)
def test_hashes(written, answer):
    assert value(written) == expected(answer)


@pytest.mark.parametrize(("name", "digits"), [("SHA256", 64), ("SHA384", 96), ("SHA512", 128)])
def test_lengths_of_hashes(name, digits):
    assert len(value((name, '"abc"')).value) == digits


def matched(text, pattern, flags=None):
    arguments = [f'"""{text}"""', f"'''{pattern}'''".replace("\\", "\\\\")]
    answer = value(("REGEX", *arguments, *([f'"{flags}"'] if flags is not None else [])))
    return answer if answer == ERROR else answer.value == "true"


@pytest.mark.parametrize(
    ("text", "pattern", "flags", "answer"),
    [
        ("abracadabra", "bra", "", True),
        ("abracadabra", "^a.*a$", "", True),
        ("abracadabra", "^bra", "", False),
        ("ABC", "b", "", False),
        ("ABC", "b", "i", True),
        ("a\\nb", "a.b", "", False),
        ("a\\nb", "a.b", "s", True),
        ("a\\nb", "^b$", "", False),
        ("a\\nb", "^b$", "m", True),
        ("a\\n", "a$", "", False),  # XPath's $ is the very end, Python's is not
        ("helloworld", "hello world", "x", True),
        ("hello world", "hello[ ]world", "x", True),
        ("hello world", "hello\\ sworld", "x", True),
        ("a.b", "a.b", "q", True),
        ("axb", "a.b", "q", False),
        ("A.B", "a.b", "qi", True),
        ("x#y", "x # y", "x", True),
        ("17", "^\\d+$", "", True),
        ("Ä", "^\\p{Lu}$", "", True),
        ("ä", "^\\P{Lu}$", "", True),
        ("ä", "^[\\p{L}]$", "", True),
        ("α", "^\\p{IsGreek}$", "", True),
        ("a", "^\\p{IsGreek}$", "", False),
        ("b", "^[a-z-[aeiou]]$", "", True),
        ("e", "^[a-z-[aeiou]]$", "", False),
        ("b", "^[^a-c]$", "", False),
        ("-", "^[a-]$", "", True),
        ("_x-1", "^\\i\\c*$", "", True),
        ("1x", "^\\i\\c*$", "", False),
        ("1", "^\\I$", "", True),
        ("a b", "^[\\S]*$", "", False),
        ("a b", "^[\\C]$|\\C", "", True),
        ("a b", "a\\sb", "", True),
        ("aaa", "^a{2,3}?$", "", True),
        ("a word", "\\bword\\b", "", True),
        ("a", "(?:a|b)", "", True),
    ],
)
def test_regular_expressions(text, pattern, flags, answer):
    assert matched(text, pattern, flags) is answer


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "*", "a**", "a++", "(?=a)", "(?P<n>a)", "[a", "a{", "\\Z", "\\p{Xx}", "a]"],
)
def test_what_is_not_a_regular_expression_is_an_error(pattern):
    assert matched("a", pattern) == ERROR


def test_unknown_flags_are_an_error():
    assert matched("a", "a", "g") == ERROR
    assert value(("REGEX", "1", '"1"')) == ERROR
    assert value(("REGEX", '"a"@en', '"a"')) == term("true")


@cases(
    (("REPLACE", '"abcd"', '"b"', '"Z"'), '"aZcd"'),
    (("REPLACE", '"abab"@en', '"B"', '"Z"', '"i"'), '"aZaZ"@en'),
    (("REPLACE", '"abab"', '"B."', '"Z"', '"i"'), '"aZb"'),
    (("REPLACE", '"abracadabra"', '"(a)(b)"', '"$2$1"'), '"baracadbara"'),
    (("REPLACE", '"darted"', '"^(.*?)d(.*)$"', '"$1c$2"'), '"carted"'),
    (("REPLACE", '"ab"', '"(a)"', '"$12"'), '"a2b"'),
    (("REPLACE", '"ab"', '"a"', '"$1"'), '"b"'),
    (("REPLACE", '"ab"', '"a"', r'"\\$"'), '"$b"'),
    (("REPLACE", '"ab"', '"a"', r'"\\\\"'), r'"\\b"'),
    (("REPLACE", '"ab"', '"a"', '"$"'), ERROR),
    (("REPLACE", '"ab"', '"a"', r'"\\n"'), ERROR),
    (("REPLACE", '"ab"', '"x*"', '"-"'), ERROR),
    (("REPLACE", '"a.b"', '"."', '"$"', '"q"'), '"a$b"'),
    (("REPLACE", '"ab"', '"(x)?a"', '"[$1]"'), '"[]b"'),
    (("REPLACE", "1", '"1"', '"2"'), ERROR),
)
def test_replace(written, answer):
    assert value(written) == expected(answer)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [  # RFC 3986, section 5.4
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g#s/../x", "http://a/b/c/g#s/../x"),
    ],
)
def test_iri_resolves_against_the_base(reference, answer):
    based = EvaluationContext(base="http://a/b/c/d;p?q")
    assert value(("IRI", f'"{reference}"'), based) == term(f"<{answer}>")
    assert value(("URI", f'"{reference}"', "<http://a/b/c/d;p?q>")) == term(f"<{answer}>")


def test_iri_of_what_is_none():
    assert value(("IRI", ":a")) == term(":a")
    assert value(("IRI", '"relative"')) == ERROR
    assert value(("IRI", '"http://a/b c"')) == ERROR
    assert value(("IRI", "1")) == ERROR
    assert value(("IRI", "_:a")) == ERROR
