"""What failed simulations rule out: cuts of the bounding program.

The largest failed clusters around a failed one become cuts: clusters with no more machines in any
of the pools named are taken to fail as well. With separable roles a cut names the pools of one
role only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from provisioner.domain.base import Role
from provisioner.planning.problem import Cut
from provisioner.search.frontier import Frontier, largest_failing
from provisioner.search.trials import Counts, Trials


@dataclass
class RuledOut:
    """Clusters of one design that fail at one demand.

    Attributes
    ----------
    weights : tuple of float
        Share of the demand that one machine of each kind serves, by the guide.
    cuts, cut_from : lists
        Cuts, and for each the role tried (None for all) and the largest failed cluster.
    """

    trials: Trials
    weights: tuple[float, ...]
    cuts: list[Cut] = field(default_factory=list)
    cut_from: list[tuple[Role | None, Counts]] = field(default_factory=list)
    _frontiers: dict[Role | None, Frontier] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles of the design, in order."""
        return tuple(dict.fromkeys(role for role, _ in self.trials.places))

    def members(self, role: Role | None) -> list[int]:
        """Indices of a role's places; of all places where no role is named."""
        return [j for j, (own, _) in enumerate(self.trials.places) if role in (None, own)]

    def failed_roles(self, counts: Counts) -> list[Role]:
        """Roles that fail by themselves; none where roles cannot be told apart."""
        if not self.trials.separable:
            return []
        return [role for role in self.roles if not self.trials.role_passes(role, counts)]

    def passes(self, counts: Counts, most: Counts, passed: Callable[[Counts], None]) -> bool:
        """Try a cluster; where it fails, rule it out with all around it that do.

        Parameters
        ----------
        most : tuple of int
            Counts that no cluster of interest exceeds.
        passed : callable
            Told of every cluster that passes on the way.
        """
        failed: list[Role | None] = [*self.failed_roles(counts)]
        if not failed:
            if self.trials.passes(counts):
                passed(counts)
                return True
            failed = [None]
        for role in failed:
            self._cut(role, counts, most, passed)
        return False

    def at_more(self, trials: Trials, ratio: float) -> RuledOut:
        """What is ruled out at ``ratio`` times the demand: what failed fails there too."""
        frontiers = {role: frontier.at_more(ratio) for role, frontier in self._frontiers.items()}
        weights = tuple(weight / ratio for weight in self.weights)
        return RuledOut(trials, weights, [*self.cuts], [*self.cut_from], frontiers)

    def _cut(
        self, role: Role | None, counts: Counts, most: Counts, passed: Callable[[Counts], None]
    ) -> None:
        members = self.members(role)
        start = tuple(n if j in members else 0 for j, n in enumerate(counts))
        frontier = self._frontiers.setdefault(role, Frontier(tuple(members), self.weights))
        frontier.note(start, passed=False)

        def fails(more: Counts) -> bool:
            known = frontier.known(more)
            if known is None:
                known = self._tried(role, more, passed)
                frontier.note(more, passed=known)
            return not known

        order = sorted((j for j in members if most[j] > 0), key=lambda j: -counts[j])
        largest = largest_failing(start, order, most, fails, frontier.lacking)
        frontier.fit(largest)
        self.cuts.append(Cut(tuple((j, largest[j]) for j in members)))
        self.cut_from.append((role, largest))

    def _tried(self, role: Role | None, counts: Counts, passed: Callable[[Counts], None]) -> bool:
        if role is not None:
            return self.trials.role_passes(role, counts)
        able = self.trials.passes(counts)
        if able:
            passed(counts)
        return able
