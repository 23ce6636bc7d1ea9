"""Changes that the paper makes to its clusters."""

from provisioner.reproduction.published import MODEL
from provisioner.reproduction.robustness import OTHER_MODEL, changes


def test_split_clusters_for_coding_get_conversations():
    moved = [c.cluster for c in changes() if c.model == MODEL]
    assert [c.design for c in moved] == [
        "splitwise-aa",
        "splitwise-hh",
        "splitwise-ha",
        "splitwise-hhcap",
    ]
    assert {(c.question, c.workload) for c in moved} == {("iso-power", "azure-code")}


def test_every_cluster_for_conversations_gets_another_model():
    moved = [c.cluster for c in changes() if c.model == OTHER_MODEL]
    assert len(moved) == 6
    assert {(c.question, c.workload) for c in moved} == {("iso-power", "azure-conv")}
