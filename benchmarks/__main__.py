"""``python -m benchmarks``: print all measurements."""

from rich.console import Console

from benchmarks import engine, proof

if __name__ == "__main__":
    screen = Console(width=132)
    engine.main(screen)
    proof.main(screen)
