"""The W3C's SPARQL 1.1 test suites, run on the oracle and on the engine."""
