"""The integer program (DESIGN 4); the only package that uses PuLP and HiGHS."""
