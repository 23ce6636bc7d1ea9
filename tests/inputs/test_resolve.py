import hashlib
import shutil

import pytest

from provisioner.domain.scenario import Scenario
from provisioner.errors import InputError
from provisioner.inputs import hardware
from provisioner.inputs.resolve import changed_files, resolve
from provisioner.inputs.scenarios import parse_scenario, read_scenario_data
from provisioner.inputs.workloads import import_trace, read_length_record, write_length_record

FIXED = {"name": "fixed", "prompt_tokens": 100, "output_tokens": 10, "rate_per_s": 1.0}
RELATIVE = {"metric": "ttft", "percentile": 90, "at_most_slowdown": 2}
ABSOLUTE = {"metric": "ttft", "percentile": 90, "at_most_s": 2}


@pytest.fixture
def newcomer(here, write, repository):
    """A model 'new' that was measured on the H100 only, so that no A100 can be its reference."""
    points = repository / "hardware_profiles" / "points" / "llama2-70b" / "h100-sxm-80gb.csv"
    data = hardware.read_model("llama2-70b").model_dump(mode="json")
    write("hardware_profiles/models/new.yaml", {**data, "name": "new"})
    write("hardware_profiles/points/new/h100-sxm-80gb.csv", points.read_bytes())
    return "new"


def refused(scenario, message):
    with pytest.raises(InputError, match=message):
        resolve(scenario)


def test_the_built_in_example_resolves():
    case = resolve(parse_scenario(read_scenario_data(None), "example"))
    assert case.model.name == "bloom-176b"
    assert [machine.name for machine in case.machines] == ["dgx-a100", "dgx-h100", "dgx-h100-cap70"]
    assert [machine.usd_per_hour for machine in case.machines] == [27.45, 55.04, 55.04]
    assert list(case.profiles) == [(machine.name, 8) for machine in case.machines]
    (workload,) = case.workloads
    assert (workload.name, workload.rate_per_s, workload.slo.name) == (
        "azure-conv",
        70,
        "splitwise",
    )
    assert workload.histogram.total_requests == 19_366
    machine, profile = case.references["dgx-a100"]
    assert (machine.name, profile.tensor_parallel) == ("dgx-a100", 8)
    assert case.notes == ()


def test_names_that_do_not_exist_are_refused(scenario):
    refused(scenario(model="bloom-175b"), "model: unknown model 'bloom-175b'; did you mean 'bloom-")
    refused(scenario(prices="aws-2026"), "prices: unknown price list 'aws-2026'; did you mean 'aws")
    refused(scenario(hardware=["dgx-a10"]), "hardware: unknown machine type 'dgx-a10'; did you mea")
    refused(scenario(slo="splitwize"), "slo: unknown SLO 'splitwize'; did you mean 'splitwise'?")
    refused(
        scenario(workloads=[{**FIXED, "slo": "strikt"}]),
        r"workloads\.fixed\.slo: unknown SLO 'strikt'; did you mean 'strict'?",
    )
    refused(
        scenario(workloads=[{"name": "azure-con", "rate_per_s": 1}]),
        r"workloads\.azure-con: unknown workload 'azure-con'; did you mean 'azure-conv'",
    )
    refused(
        scenario(workloads=[{"name": "w", "trace": "no-such.csv"}]),
        r"no-such\.csv: cannot be read: No such file",
    )
    refused(
        scenario(slo={"name": "x", "limits": [RELATIVE], "reference": "dgx-a10"}),
        "slo x: reference: unknown machine type 'dgx-a10'; did you mean 'dgx-a100'",
    )


@pytest.mark.parametrize(
    "fields", [{"existing": {"dgx-h10": 1}}, {"limits": {"available": {"dgx-h10": 1}}}]
)
def test_hardware_that_does_not_exist_is_refused(scenario, fields):
    where = "existing" if "existing" in fields else r"limits\.available"
    refused(scenario(**fields), f"{where}: unknown hardware 'dgx-h10'; did you mean 'dgx-h100'?")
    # A capped machine type is no hardware of its own.
    refused(scenario(existing={"dgx-h100-cap70": 1}), "existing: unknown hardware 'dgx-h100-cap70'")


def test_owned_hardware_that_is_not_chosen_is_noted(scenario):
    owned = {"dgx-a100": 0, "dgx-h100": 2}
    case = resolve(scenario(hardware=["dgx-a100"], existing=owned))
    assert case.notes == ("existing: 2 dgx-h100 stay unused, no machine type in hardware is one",)
    assert resolve(scenario(hardware=["dgx-h100-cap70"], existing=owned)).notes == ()


# Tensor parallelism.


def test_tensor_parallel(scenario):
    def sizes(**fields):
        return sorted(resolve(scenario(model="llama2-70b", **fields)).profiles)

    assert sizes(hardware=["dgx-a100"]) == [("dgx-a100", size) for size in (2, 4, 8)]
    assert sizes(tensor_parallel=4) == [("dgx-a100", 4), ("dgx-h100", 4)]
    few = {"name": "dgx-a100", "accelerators": 4, "provisioned_power_w": 4000}
    assert sizes(hardware=[few]) == [("dgx-a100", 2), ("dgx-a100", 4)]


def test_a_size_that_was_not_measured_is_refused(scenario):
    refused(scenario(tensor_parallel=4), r"tensor_parallel: 4 is not measured for bloom-176b on dg")
    refused(
        scenario(tensor_parallel=[8, 16]),
        "tensor_parallel: 16 is not measured for bloom-176b on any of dgx-a100, dgx-h100",
    )


def test_a_machine_that_no_measurement_fits_is_refused_where_it_says_so(scenario, here, write):
    """A key of the scenario where that states the figure, else the machine type's file and key."""
    stored = hardware.read_machine("dgx-a100").model_dump(mode="json")
    few = {"accelerators": 7, "provisioned_power_w": 4000}
    other = {"accelerator": "b200"}
    for change, expected in (
        (few, "accelerators: 7 in a mine are too few for bloom-176b; measured .* parallelism: 8"),
        (other, r"accelerator: no measured points of bloom-176b on b200 \(measured: a100-"),
    ):
        path = write(
            "hardware_profiles/machines/mine.yaml",
            {**stored, "name": "mine", "usd_per_hour": 9.0, **change},
        )
        refused(scenario(hardware=["mine"]), f"^{path}: {expected}")
        refused(scenario(hardware=[{"name": "mine", "rack_units": 5}]), f"^{path}: {expected}")
        override = {"name": "dgx-a100", **change}
        text = expected.replace("mine", "dgx-a100")
        refused(scenario(hardware=["dgx-h100", override]), rf"^hardware\.dgx-a100\.{text}")


def test_a_machine_without_a_profile_is_refused(scenario, newcomer):
    refused(
        scenario(model=newcomer, hardware=["dgx-a100"]),
        r"no measured points of new on a100-sxm-80gb \(measured: h100-sxm-80gb\)",
    )


# Prices.


def test_a_price_list_without_the_hardware_is_refused(scenario, here, write):
    other = hardware.read_machine("dgx-a100").model_dump(mode="json")
    write("hardware_profiles/machines/mine.yaml", {**other, "name": "mine", "hardware": "mine"})
    refused(scenario(hardware=["mine"]), r"'aws-2026-11' has no price for mine .*usd_per_hour")
    stated = resolve(scenario(hardware=[{"name": "mine", "usd_per_hour": 5}]))
    assert stated.machines[0].usd_per_hour == 5


# SLOs.


def test_the_default_slo_depends_on_what_was_measured(scenario, newcomer):
    assert resolve(scenario()).workloads[0].slo.name == "splitwise"
    assert resolve(scenario(model="llama2-70b")).workloads[0].slo.name == "splitwise"
    case = resolve(scenario(model=newcomer, hardware=["dgx-h100"]))
    assert case.workloads[0].slo.name == "interactive"
    assert case.references == {}


def test_a_reference_without_a_profile_is_refused(scenario, newcomer):
    refused(
        scenario(model=newcomer, hardware=["dgx-h100"], slo="splitwise"),
        r"slo splitwise: reference: .*dgx-a100\.yaml: accelerator: no measured points of new on",
    )


def test_a_reference_smaller_than_what_was_measured_is_refused(scenario, here, write):
    small = hardware.read_machine("dgx-a100").model_dump(mode="json")
    write("hardware_profiles/machines/half.yaml", {**small, "name": "half", "accelerators": 4})
    slo = {"name": "x", "limits": [RELATIVE], "reference": "half"}
    refused(scenario(slo=slo), r"slo x: reference: .*half\.yaml: accelerators: 4 in a half are")


def test_slowdowns_without_a_reference_are_relative_to_the_defaults(scenario):
    case = resolve(scenario(slo=[RELATIVE, ABSOLUTE]))
    assert case.workloads[0].slo.reference == "dgx-a100"
    assert list(case.references) == ["dgx-a100"]
    assert resolve(scenario(slo=[ABSOLUTE])).references == {}


def test_a_workload_may_have_its_own_slo(scenario):
    own = {**FIXED, "name": "own", "slo": "strict"}
    case = resolve(scenario(workloads=[FIXED, own], slo=[ABSOLUTE]))
    assert [workload.slo.name for workload in case.workloads] == ["custom", "strict"]


def test_a_default_of_ones_own_may_need_no_reference(scenario, here, write):
    write("workloads/slos/splitwise.yaml", {"name": "splitwise", "limits": [ABSOLUTE]})
    case = resolve(scenario())
    assert case.workloads[0].slo.limits[0].at_most_s == 2
    refused(scenario(slo=[RELATIVE]), "slo: limits as slowdown need a reference machine")
    write("workloads/slos/splitwise.yaml", {"name": "splitwise", "limits": [RELATIVE]})
    assert resolve(scenario()).workloads[0].slo.name == "interactive"


# Rates.


def test_growth_multiplies_every_rate(scenario, write):
    path = write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,9,9\n1,9,9\n2,9,9\n")
    trace = {"name": "traced", "trace": "t.csv", "speedup": 2}
    case = resolve(scenario(workloads=[FIXED, trace], growth=1.5), path.parent)
    assert [workload.rate_per_s for workload in case.workloads] == [1.5, 1.5 * 2 * 3 / 2]


def test_notes_of_workloads_reach_the_case(scenario):
    case = resolve(scenario(workloads=[{"name": "azure-code"}]))
    assert case.notes == (
        "azure-code: no rate given, so the trace's own mean of 2.567 requests/s is planned",
    )


# Limits.


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"power_w": 400}, r"limits\.power_w of 400 is below the smallest machine's 6500"),
        ({"usd_per_hour": 0.5}, r"limits\.usd_per_hour of 0\.5 is below the smallest machine's 27"),
        ({"rack_units": 1}, r"limits\.rack_units of 1 is below the smallest machine's 6"),
    ],
)
def test_a_limit_below_one_machine_is_noted(scenario, limits, message):
    # Not refused: that no cluster keeps it is the planner's answer, with reasons.
    (note,) = resolve(scenario(limits=limits)).notes
    assert note.endswith("check the unit")
    assert note.startswith(message.replace("\\", ""))


def test_owned_machines_may_be_free(scenario):
    assert resolve(scenario(limits={"usd_per_hour": 1}, existing={"dgx-a100": 9})).notes == ()


@pytest.mark.parametrize(
    "limits",
    [
        {"power_w": 1e6},
        {"machines": 9},
        {"rack_units": 99},
        {"usd_per_hour": 900},
        {"available": {"dgx-a100": 9, "dgx-h100": 0}},
    ],
)
def test_to_maximise_takes_a_limit_on_every_machine(scenario, limits):
    assert resolve(scenario(maximize="throughput", limits=limits))


def test_to_maximise_without_a_limit_on_some_machine_is_refused(scenario):
    some = {"available": {"dgx-a100": 9}}
    refused(
        scenario(maximize="throughput", limits=some),
        r"maximize throughput has no maximum: nothing limits dgx-h100; add limits\.available",
    )
    free = [{"name": "dgx-a100", "usd_per_hour": 0}, "dgx-h100"]
    limits = {"usd_per_hour": 900}
    refused(
        scenario(maximize="throughput", limits=limits, hardware=free), "nothing limits dgx-a100"
    )


# Files.


def test_every_file_that_was_read_is_listed_with_its_hash(scenario, write, repository, here):
    path = write("data/t.csv", "arrival_s,prompt_tokens,output_tokens\n0,9,9\n1,9,9\n")
    workloads = [{"name": "t", "trace": str(path)}, {"name": "azure-code", "rate_per_s": 1}]
    case = resolve(scenario(workloads=workloads, hardware=["dgx-h100"], slo="splitwise"))
    assert list(case.files) == sorted(case.files)
    profiles = "hardware_profiles"
    expected = {
        path.resolve().as_posix(),  # to be found again from anywhere
        f"{profiles}/machines/dgx-a100.yaml",  # the SLO's reference, not a candidate
        f"{profiles}/machines/dgx-h100.yaml",
        f"{profiles}/models/bloom-176b.yaml",
        f"{profiles}/points/bloom-176b/a100-sxm-80gb.csv",
        f"{profiles}/points/bloom-176b/h100-sxm-80gb.csv",
        f"{profiles}/power/a100-sxm-80gb.csv",
        f"{profiles}/power/h100-sxm-80gb.csv",
        f"{profiles}/prices/aws-2026-11.yaml",
        "workloads/azure-code.csv",
        "workloads/azure-code.yaml",
        "workloads/slos/splitwise.yaml",
    }
    assert set(case.files) == expected
    for name, digest in case.files.items():
        file = repository / name  # an absolute name stands for itself
        assert digest == hashlib.sha256(file.read_bytes()).hexdigest()


def test_files_that_changed_since_a_run_was_saved_are_named():
    files = {"a.yaml": "1", "b.yaml": "2", "c.yaml": "3"}
    saved = {"provenance": {"files_sha256": {"a.yaml": "1", "b.yaml": "0", "d.yaml": "4"}}}
    assert changed_files(saved, files) == ["b.yaml has changed since this run was saved"]
    for none in ({}, {"provenance": None}, {"provenance": {"files_sha256": [1]}}):
        assert changed_files(none, files) == []


def test_an_unrelated_broken_file_does_no_harm(scenario, here, write, repository):
    write("hardware_profiles/machines/broken.yaml", ": [")
    write("workloads/broken.yaml", "")
    shutil.copytree(repository / "workloads" / "slos", here / "workloads" / "slos")
    assert resolve(scenario(existing={"dgx-h100": 1})).notes == ()


def test_the_same_scenario_resolves_to_the_same_case(scenario):
    one, other = resolve(scenario()), resolve(Scenario.model_validate(scenario().model_dump()))
    assert one.files == other.files
    assert one.machines == other.machines
    assert one.profiles == other.profiles
    assert one.scenario == other.scenario


def test_a_stored_workload_is_planned_for_its_busiest_minute(scenario):
    case = resolve(scenario(workloads=[{"name": "azure-code", "rate": "peak_60s", "speedup": 2}]))
    record = read_length_record("azure-code")
    assert case.workloads[0].rate_per_s == 2 * record.peak_60s_per_s
    assert (
        "azure-code: the rate is that of the busiest minute, the lengths of all requests"
        in case.notes
    )


def test_a_stored_workload_is_sped_up_from_its_mean(scenario):
    case = resolve(scenario(workloads=[{"name": "azure-code", "speedup": 3}]))
    record = read_length_record("azure-code")
    assert case.workloads[0].rate_per_s == pytest.approx(3 * record.mean_rate_per_s)


def test_spares_of_a_role_that_no_design_has_are_noted(scenario):
    case = resolve(scenario(designs=["mixed"], spares={"prompt": 1, "mixed": 1}))
    assert [n for n in case.notes if n.startswith("spares")] == [
        "spares: no design that is planned has machines in the prompt role"
    ]


def test_files_that_hide_built_in_ones_are_named(scenario, here, repository, write):
    text = (repository / "hardware_profiles/machines/dgx-h100.yaml").read_text()
    write("hardware_profiles/machines/dgx-h100.yaml", text)
    assert resolve(scenario()).notes == ()  # the same figures

    write(
        "hardware_profiles/machines/dgx-h100.yaml", text.replace("rack_units: 8", "rack_units: 9")
    )
    note = "hardware_profiles/machines/dgx-h100.yaml of this directory takes the place of the"
    assert [n.startswith(note) for n in resolve(scenario()).notes] == [True]


@pytest.mark.parametrize(("count", "few"), [(1, True), (99, True), (100, False)])
@pytest.mark.parametrize("kind", ["trace", "busiest", "stored"])
def test_few_requests_are_noted(scenario, here, write, kind, count, few):
    """Of a trace, of its busiest window (20 of 5,000 s here), and of a stored workload."""
    quiet = [20.0 * n for n in range(250)] if kind == "busiest" else []
    times = [*quiet, *(5000 + n / 100 for n in range(count)), 7000]
    times = times if kind == "busiest" else times[:count]
    rows = "".join(f"{time},100,10\n" for time in times)
    path = write("chat.csv", f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    entry = {"name": "chat", "trace": str(path), "rate_per_s": 1}
    if kind == "busiest":
        entry = {"name": "chat", "trace": str(path), "rate": "peak_10s"}
    if kind == "stored":
        write_length_record(import_trace(path, "chat"), here / "workloads", force=False)
        entry = {"name": "chat", "rate_per_s": 1}
    notes = [note for note in resolve(scenario(workloads=[entry])).notes if "only" in note]

    requests = "1 request" if count == 1 else f"{count} requests"
    assert notes == few * [
        f"chat: planned from the lengths of only {requests}; percentiles of so few say little"
    ]
