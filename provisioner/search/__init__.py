"""The loop of DESIGN 6: find the best plan, judge it, and explain the answer."""
