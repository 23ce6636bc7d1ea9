"""Physics of one machine (DESIGN 3): pure functions of a profile, for planner and simulator."""
