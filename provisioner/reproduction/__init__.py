"""Published evaluations, made again: what a paper says beside what its clusters do here."""
