"""The scalar expression library of SPARQL 1.1: operators, functions, casts, aggregates."""
