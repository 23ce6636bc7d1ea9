"""Discrete-event simulation of a whole cluster, one record per request (DESIGN 5)."""
