"""What does not go together with windows is refused, not left out in silence."""

import pytest

from penstock import pipeline
from penstock.algebra.scopes import Scope
from penstock.errors import UsageError
from penstock.languages import parse
from penstock.pipeline.entailment import entailed
from penstock.rules.executors import RuleConfig
from penstock.rules.library import ruleset

QUERY = """
PREFIX : <http://example.org/>
SELECT ISTREAM ?s FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE { WINDOW :w { ?s :p ?o } }
"""


def test_rules_over_several_elements_are_in_no_window():
    queries = parse(QUERY, language="rsp-ql").queries
    with pytest.raises(UsageError, match="in no window"):
        entailed([], queries, RuleConfig(tuple(ruleset(["rhodf"])), Scope.STREAM), 7)
    assert entailed([], queries, RuleConfig(tuple(ruleset(["rhodf"]))), 7).applied.queries


@pytest.mark.parametrize("scope", ["stream", "element"])
def test_windows_are_the_scope_of_their_queries(scope):
    queries = parse(QUERY, language="rsp-ql").queries
    with pytest.raises(UsageError, match="no other scope"):
        pipeline.in_scope(queries, scope)
    assert pipeline.in_scope(queries, None) == list(queries)
