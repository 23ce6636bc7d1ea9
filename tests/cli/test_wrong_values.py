"""Every wrong value is code 1 and one clear message: the key, what was found, what is allowed."""

import pytest

HUGE = "9" * 5000


def refused(provisioner, *arguments):
    """Message of a command that must refuse its input, without the program's name."""
    ran = provisioner(*arguments)
    assert (ran.code, ran.out) == (1, ""), ran.err
    assert ran.err.startswith("provisioner: ")
    assert "Traceback" not in ran.err
    return ran.err.removeprefix("provisioner: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("flags", "key", "found", "nearest"),
    [
        (["--model", "bloom-176"], "model", "bloom-176", "bloom-176b"),
        (["--workload", "azure-cod=5"], "workloads.azure-cod", "azure-cod", "azure-code"),
        (["--hardware", "dgx-h10"], "hardware", "dgx-h10", "dgx-h100"),
        (["--hardware", "dgx-a100,dgx_h100"], "hardware", "dgx_h100", "dgx-h100"),
        (["--prices", "aws-2026"], "prices", "aws-2026", "aws-2026-11"),
        (["--slo", "splitwize"], "slo", "splitwize", "splitwise"),
        (["--slo", "azure-conv=stict"], "workloads.azure-conv.slo", "stict", "strict"),
        (["--designs", "split,mixd"], "designs.1", "mixd", "mixed"),
        (["--designs", "disaggregated"], "designs.0", "disaggregated", "split"),
        (["--minimize", "costs"], "minimize", "costs", "cost"),
        (["--maximize", "throughput_per_dollar"], "maximize", "_dollar", "throughput_per_usd"),
        (["--scheduler", "mixed-pools"], "scheduler", "mixed-pools", "mixed-pool"),
        (["--router", "shortest_queue"], "router", "shortest_queue", "shortest-queue"),
        (["--arrivals", "poison"], "simulation.arrivals", "poison", "poisson"),
        (["--spares", "promt=1"], "spares", "promt", "prompt"),
        (["--spares", "decode=1"], "spares", "decode", "token"),
        (["--available", "dgx-h10=1"], "limits.available", "dgx-h10", "dgx-h100"),
        (["--existing", "dgx-a10=1"], "existing", "dgx-a10", "dgx-a100"),
        (["--set", "hardwear=[dgx-a100]"], "hardwear", "hardwear", "hardware"),
        (["--set", "limits.power_kw=5"], "limits.power_kw", "power_kw", "power_w"),
        (["--set", "workloads.azure-con.rate_per_s=5"], "workloads", "azure-con", "azure-conv"),
        (["--set", "hardware.dgx-h200.usd_per_hour=5"], "hardware", "dgx-h200", "dgx-h100"),
        (["--set", "hardware.dgx-h100.usd_per_hr=5"], "hardware", "usd_per_hr", "usd_per_hour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_misspelt_name_comes_with_the_nearest_one(provisioner, flags, key, found, nearest):
    message = refused(provisioner, "plan", *flags)

    assert "\n" not in message
    assert key in message
    assert found in message
    assert f"did you mean {nearest!r}" in message
    assert "allowed: " in message


def test_a_name_unlike_any_comes_with_all_of_them(provisioner):
    message = refused(provisioner, "plan", "--model", "qqqq")

    assert message == "model: unknown model 'qqqq' (allowed: bloom-176b, llama2-70b)"


NUMBERS = {
    "--rate": "workloads.0.rate_per_s",
    "--growth": "growth",
    "--usd-per-hour": "limits.usd_per_hour",
    "--power-w": "limits.power_w",
    "--rack-units": "limits.rack_units",
    "--duration": "simulation.duration_s",
    "--time-limit": "time_limit_s",
}
COUNTS = {
    "--machines": "limits.machines",
    "--seeds": "simulation.seeds",
    "--max-types-per-role": "max_types_per_role",
}
NO_NUMBERS = {
    "": "a number is needed",
    "many": "a number is needed",
    "1,5": "a number is needed",
    "nan": "a finite number is needed",
    "inf": "a finite number is needed",
    "-inf": "a finite number is needed",
    "-1": "must be above 0",
    "0": "must be above 0",
    "1e19": "must be at most 1e+18",
    "1e999": "a finite number is needed",
}
NO_COUNTS = {
    "": "a whole number is needed",
    "few": "a whole number is needed",
    "1.5": "a whole number is needed",
    "nan": "a whole number is needed",
    "-1": "must be above 0",
    "0": "must be above 0",
    "1000000001": "must be at most 1e+09",
    HUGE: "a whole number of ordinary size is needed",
}


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("flag", NUMBERS)
def test_what_is_no_number_above_zero(provisioner, flag, text):
    message = refused(provisioner, "plan", f"{flag}={text}")

    assert message.startswith(f"scenario: {NUMBERS[flag]}: {NO_NUMBERS[text]}, found ")
    assert "\n" not in message


@pytest.mark.parametrize("text", NO_COUNTS, ids=lambda text: text[:10])
@pytest.mark.parametrize("flag", COUNTS)
def test_what_is_no_count_above_zero(provisioner, flag, text):
    message = refused(provisioner, "plan", f"{flag}={text}")

    assert message.startswith(f"scenario: {COUNTS[flag]}: {NO_COUNTS[text]}, found ")
    assert len(message) < 200


@pytest.mark.parametrize("text", ["few", "1.5", "-1", "1000000001", HUGE], ids=lambda t: t[:10])
@pytest.mark.parametrize("flag", ["--existing", "--available", "--spares"])
def test_a_wrong_count_of_machines_names_the_machine(provisioner, flag, text):
    name = "prompt" if flag == "--spares" else "dgx-a100"
    key = "limits.available" if flag == "--available" else flag.removeprefix("--")
    message = refused(provisioner, "plan", flag, f"{name}={text}")

    assert message.startswith(f"scenario: {key}.{name}: ")
    assert "found" in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--workload", "azure-conv=fast"], "workloads.0.rate_per_s: a number is needed"),
        (["--workload", "azure-conv="], "workloads.0.rate_per_s: a number is needed, found ''"),
        (["--workload", "=5"], "workloads.0.name: a letter or digit"),
        (["--workload", ""], "workloads.0.name: a letter or digit"),
        (["--workload", "azure-conv=1", "--workload", "azure-conv=2"], "azure-conv is given twice"),
        (["--hardware", "dgx-a100,dgx-a100"], "hardware: dgx-a100 is given twice"),
        (["--hardware", ""], "hardware.0: a letter or digit"),
        (["--hardware", "dgx-a100,"], "hardware.1: "),
        (["--designs", ""], "designs.0: unknown value ''"),
        (["--designs", "split,split"], "designs: split is given twice"),
        (["--model", ""], "model: "),
        (["--slo", ""], "slo: "),
        (["--prices", ""], "prices: a letter or digit"),
        (["--tensor-parallel", "8,8"], "tensor_parallel: 8 is given twice"),
        (["--tensor-parallel", "3"], "tensor_parallel: 3 is not measured for bloom-176b"),
        (["--tensor-parallel", HUGE], "tensor_parallel.0: a whole number of ordinary size"),
        (["--rate", "peak"], "workloads.0.rate: peak_<seconds>s is needed"),
        (["--rate", "peak_30s"], "azure-conv: rate peak_30s needs the trace itself; peak_60s is"),
        (
            ["--prompt-tokens", "5", "--output-tokens", "6", "--speedup", "2"],
            "fixed lengths have no rate of their own; give rate_per_s",
        ),
        (["--prompt-tokens", "5"], "prompt_tokens and output_tokens go together"),
        (
            ["--prompt-tokens", "5", "--output-tokens", "6"],
            "fixed: rate_per_s is missing",
        ),
        (["--prompt-tokens", "0", "--output-tokens", "6"], "prompt_tokens: must be above 0"),
        (["--trace", "nowhere.csv"], "nowhere.csv: cannot be read: No such file"),
        (["--trace", ""], "trace: must not be empty"),
        (["--warmup", "120"], "warmup_s must be shorter than duration_s"),
        (["--warmup", "-1"], "simulation.warmup_s: must be at least 0"),
        (["--maximize", "throughput"], "maximize throughput has no maximum without a limit"),
        (["nowhere.yaml"], "nowhere.yaml: cannot be read: No such file"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_other_wrong_values(provisioner, here, flags, expected):
    message = refused(provisioner, "plan", *flags)

    assert expected in message
    assert "\n" not in message
    assert len(message) < 250


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("designs", "must be dotted.key=value"),
        ("=5", "must be dotted.key=value"),
        ("designs=[split", "--set designs: row 1: not valid YAML"),
        ("slo={name: a, name: b}", "--set slo: row 1: not valid YAML: key 'name' is given twice"),
        ("limits..power_w=5", "must be dotted keys without empty parts"),
        ("growth.a=5", "growth.a: there is nothing below 1.0"),
        ("growth=many", "growth: a number is needed, found 'many'"),
        ("growth=true", "growth: a number is needed, not true or false"),
        ("growth=", "growth: a number is needed, found nothing"),
    ],
)
def test_wrong_changes(provisioner, text, expected):
    message = refused(provisioner, "plan", "--set", text)

    assert expected in message
    assert "\n" not in message


def test_everything_wrong_is_told_at_once(provisioner):
    message = refused(provisioner, "plan", "--growth", "-1", "--router", "roundrobin")

    assert [line.split(": ")[1] for line in message.split("\n")] == ["growth", "router"]


def test_a_files_fault_names_the_file(provisioner, here):
    (here / "mine.yaml").write_text("modle: bloom-176b\n")
    message = refused(provisioner, "plan", "mine.yaml")

    assert "mine.yaml: unknown key 'modle'; did you mean 'model'?" in message
    assert "mine.yaml: workloads is missing" in message


def test_a_flags_fault_is_not_blamed_on_the_file_alone(provisioner, here):
    (here / "mine.yaml").write_text("workloads: [{name: azure-conv}]\n")
    message = refused(provisioner, "plan", "mine.yaml", "--growth", "0")

    assert message.startswith("mine.yaml, with the command's changes: growth: must be above 0")


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--nonesuch"),
        ("plan", "one.yaml", "two.yaml"),
        ("plan", "--rate"),
        ("nonesuch",),
        ("hardware", "nonesuch"),
        ("hardware", "show"),
        ("workload", "import", "a.csv"),
        ("plan", "--workload", "azure-conv", "--trace", "a.csv"),
        ("plan", "--workload", "azure-conv", "--workload", "azure-code", "--rate", "5"),
        ("--nonesuch",),
        ("plan", "--out", ""),
        ("plan", "--out", " ", "--force"),
        ("plan", ""),
        ("workload", "import", "", "--name", "a"),
    ],
    ids=" ".join,
)
def test_a_misuse_of_the_command_line_is_code_2(provisioner, arguments):
    ran = provisioner(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err
    assert "Traceback" not in ran.err


def test_an_empty_path_is_called_that(provisioner):
    message = provisioner("plan", "--out", "", "--json").json["message"]

    assert message == "Invalid value for '--out': a path is needed, found nothing."


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("hardware", "show", "dgx-h10"), "machine type 'dgx-h10'; did you mean 'dgx-h100'"),
        (("hardware", "list", "--prices", "aws"), "prices: unknown price list 'aws'"),
        (("hardware", "list", "--prices", ""), "prices: "),
        (("hardware", "list", "--set", "hardware.dgx-h1.a=5"), "did you mean 'dgx-h100'"),
        (("hardware", "validate", "--model", "bloom"), "did you mean 'bloom-176b'"),
        (("workload", "show", "azure"), "unknown workload 'azure'"),
        (("workload", "import", "nowhere.csv", "--name", "a"), "nowhere.csv: cannot be read"),
        (("workload", "import", "nowhere.csv", "--name", "../a"), "a letter or digit"),
    ],
)
def test_wrong_values_of_other_commands(provisioner, here, arguments, expected):
    message = refused(provisioner, *arguments)

    assert expected in message
    assert "\n" not in message
