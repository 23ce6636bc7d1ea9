"""What an objective is: anything with a name, a direction, and its value for solver and plan."""

from __future__ import annotations

from typing import Protocol

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables


class Objective(Protocol):
    """A module of `objectives`, or the use of a limit (`limits`)."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant where the objective is a module
        """Name on the command line and in reports."""

    @property
    def MAXIMIZE(self) -> bool:  # noqa: N802
        """Whether more is better."""

    def expression(self, problem: Problem, variables: Variables) -> Variable:
        """Value as a linear expression for the solver; of a ratio, its numerator."""

    def value(self, problem: Problem, solution: Solution) -> float:
        """Value of a solution in plain numbers."""
