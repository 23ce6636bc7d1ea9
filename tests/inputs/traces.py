"""Traces as text, and the busiest window of one by counting."""

OWN = "arrival_s,prompt_tokens,output_tokens\n"


def busiest(arrivals, window_s):
    """Most arrivals in any window [t, t + window): some best window starts at an arrival."""
    return max(sum(start <= a < start + window_s for a in arrivals) for start in arrivals)


def trace_text(requests):
    return OWN + "".join(f"{a},{p},{o}\n" for a, p, o in requests)
