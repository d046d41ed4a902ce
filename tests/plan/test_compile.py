"""What the compiler refuses."""

from __future__ import annotations

import pytest

from penstock.errors import QueryError
from penstock.languages import parse
from penstock.plan.catalog import Catalog
from penstock.plan.planning import make_plan

NESTED = """SELECT * {{ ?s ?p ?k FILTER EXISTS {{ {{ SELECT ?k {{ ?z ?q ?k }} {modifier} }} }} }}"""


def test_limit_inside_exists_is_refused_where_a_variable_comes_from_outside():
    with pytest.raises(QueryError, match=r"LIMIT and OFFSET inside EXISTS .* \?k"):
        make_plan([parse(NESTED.format(modifier="LIMIT 3"))], Catalog(), ["q"])


def test_a_sub_query_without_limit_inside_exists_is_fine():
    assert make_plan([parse(NESTED.format(modifier=""))], Catalog(), ["q"]).queries
