import pytest

from provisioner.errors import InputError
from provisioner.inputs import catalogue


def test_the_working_directory_comes_before_what_is_built_in(here, write):
    assert "dgx-a100" in catalogue.stored("hardware_profiles/machines")
    own = write("hardware_profiles/machines/dgx-a100.yaml", "name: dgx-a100")
    new = write("hardware_profiles/machines/mine.yaml", "name: mine")
    found = catalogue.stored("hardware_profiles/machines")
    assert found["dgx-a100"] == own.resolve()
    assert found["mine"] == new.resolve()
    assert list(found) == sorted(found)
    assert "dgx-h100" in found


def test_the_project_itself_as_working_directory_is_looked_at_once(repository, monkeypatch):
    monkeypatch.chdir(repository)
    assert catalogue.roots() == [repository]


def test_what_editors_and_systems_leave_behind_is_no_record(here, write):
    write("workloads/.#chat.yaml", "")
    write("workloads/._chat.yaml", b"\x00")
    write("workloads/chat.yaml~", "")
    assert not [name for name in catalogue.stored("workloads") if "chat" in name]


def test_an_unknown_name_comes_with_the_nearest(here):
    with pytest.raises(InputError, match=r"hardware: unknown machine type 'DGX-H10'; did you "):
        catalogue.find("hardware_profiles/machines", "machine type", "DGX-H10", "hardware")
    with pytest.raises(InputError, match=r"allowed: none"):
        catalogue.find("no-such-folder", "thing", "x")


def test_a_name_cannot_lead_out_of_its_folder(here, write):
    write("secret.yaml", "")
    write("workloads/x/y.yaml", "")
    for name in ("../secret", "x/y", "", ".", "/etc/passwd"):
        with pytest.raises(InputError, match="unknown workload"):
            catalogue.find("workloads", "workload", name)
