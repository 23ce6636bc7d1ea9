"""Cases for tests of capacity and search: a whole scenario from a few keywords."""

from functools import cache

from provisioner.domain.scenario import Scenario
from provisioner.inputs.resolve import resolve
from provisioner.search.find import Search, find, prepare

FIXED = {"name": "fixed", "prompt_tokens": 1020, "output_tokens": 129, "rate_per_s": 20.0}
"""One request class, so that the integer program stays tiny."""


def search_for(**fields) -> Search:
    """A prepared search for BLOOM-176B on both GPUs with one fixed workload, unless changed."""
    data = {"workloads": [FIXED], "hardware": ["dgx-a100", "dgx-h100"], **fields}
    return prepare(resolve(Scenario.model_validate(data)))


def best_value(**fields) -> float | None:
    """Value of the objective that the search finds, or None where nothing is feasible."""
    search = search_for(**fields)
    found = find(search)
    return None if found is None else search.objective.value(found.problem, found.solution)


@cache
def example_search() -> Search:
    """The conversation workload at 70 requests/s: real lengths, whose correlation matters."""
    return search_for(workloads=[{"name": "azure-conv", "rate_per_s": 70.0}])
