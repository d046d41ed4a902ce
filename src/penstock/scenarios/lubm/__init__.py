"""LUBM, the Lehigh University Benchmark: its data, to any size (`penstock lubm generate`).

Guo, Pan, Heflin: LUBM: A benchmark for OWL knowledge base systems (2005). Universities with their
departments, people, courses and publications are drawn from a profile of ranges with the random numbers of
`java.util.Random`, in the order of the benchmark's own generator (UBA 1.7), so that the data is the
same to the triple for the same number of universities, seed and index.
"""
