"""Coefficients of the integer program, per deployment and request class."""
