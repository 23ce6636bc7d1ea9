import dataclasses
import re

import pytest
from rich.cells import cell_len
from rich.console import Group

from provisioner.domain.result import Binding
from provisioner.planning.objectives import BY_NAME, OBJECTIVES
from provisioner.reporting import tables
from provisioner.reporting.records import result_record
from provisioner.reporting.tables import line, records_view, result_view, table

WIDTHS = [40, 80, 132, 250]


def section(text, title):
    """Rows of one table, split where at least two blanks are."""
    lines = text.split(title, 1)[1].split("\n\n")[0].splitlines()[2:]
    return [re.split(r"\s{2,}", row.strip()) for row in lines if row.strip()]


def test_the_pools_equal_the_json(result, drawn):
    rows = section(drawn(result_view(result)), "Pools")

    # big-box 1770.56 $/h, 142800 W; small-box 0.3 $/h, 1234.5 W; totals of both
    assert rows == [
        ["prompt", "big-box/tp8", "14", "1", "3", "86%", "1,770.56", "142.8", "98.8", "112"],
        ["token", "small-box/tp8", "7", "0", "0", "33%", "0.30", "1.2", "-", "6.5"],
        ["all", "21", "1", "3", "1,770.86", "144.0", "-", "118.5"],
    ]


def test_the_limits_equal_the_json(result, drawn):
    rows = section(drawn(result_view(result)), "SLO strict, against big-box (simulated)")

    assert rows == [
        ["chat", "TTFT p99", "6x", "2.86x", "2.5 to 3.25", "ok"],
        ["chat", "TBT p99.9", "0.04 s", "0.05 s", "-", "MISSED"],
    ]


def test_what_the_latencies_rest_on_is_said(result, drawn):
    text = drawn(result_view(result))

    assert (
        "Simulated over 2 seeds together; of the seeds held out, each alone, 70% pass; "
        "4,321 clusters simulated"
    ) in text


def test_what_binds_and_unit_costs_equal_the_json(result, drawn):
    text = drawn(result_view(result))

    assert section(text, "What binds") == [
        ["prompt big-box/tp8", "-", "99%"],
        ["cluster", "limits.a", "50%"],
    ]
    assert section(text, "each type serving a phase alone") == [
        ["prompt", "big-box/tp8", "5,830", "2.623", "0.370", "14"],
        ["token", "small-box/tp4", "-", "-", "-", "-", "too slow"],
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_and_names_stay_whole_at_any_width(result, drawn, width):
    text = drawn(result_view(result), width)

    for whole in ("big-box/tp8", "1,770.56", "1,770.86", "142.8", "118.5", "2.86x", "12,345"):
        assert whole in text
    assert "\u2026" not in text


@pytest.mark.parametrize("width", WIDTHS)
def test_every_word_of_a_long_note_is_there(result, drawn, width):
    note = " ".join(f"word{number}" for number in range(60))
    text = drawn(result_view(dataclasses.replace(result, warnings=(note,))), width)

    assert set(note.split()) <= set(text.split())


@pytest.mark.parametrize("width", WIDTHS)
def test_a_name_longer_than_the_line_goes_on_in_the_next(drawn, width):
    name = "n" * 300
    text = drawn(
        records_view("Things", {"name": "name", "n": ">n"}, [{"name": name, "n": 5}]), width
    )

    assert text.count("n") - "Things name n".count("n") == 300


def test_the_headline_and_the_terms(result, drawn):
    first, second = drawn(result_view(result), 300).splitlines()[:2]

    assert first == (
        "21 machines serve 12,345 requests/s for 1,770.86 $/h (3 owned, free of rent) and "
        "144.0 kW: "
        "14 big-box (prompt), 7 small-box (token)"
    )
    assert second == (
        "a-model; chat at 12,345/s; objective cost; prices a-list; design split; "
        "not proved; what is sure: no cluster costs less than 741.15 $/h (gap 59%)"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"proof": "exhaustive"}, "proved best (every better cluster was simulated)"),
        ({"proof": "monotone"}, "proved best (every better cluster was simulated or has less"),
        ({"bound": None, "gap": None}, "not proved, no bound known"),
    ],
)
def test_how_good_the_answer_is_known_to_be(result, drawn, fields, expected):
    assert expected in drawn(result_view(dataclasses.replace(result, **fields)), 300)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_not_finite_is_a_dash(infinite, drawn, width):
    text = drawn(result_view(infinite), width)

    assert "inf" not in text.replace("infeasible", "")
    assert "nan" not in text
    assert "MISSED" in text


def test_reasons_take_the_place_of_a_plan(infeasible, drawn):
    lines = drawn(result_view(infeasible)).splitlines()

    assert lines[:3] == [
        "No cluster does this.",
        "- limits.machines of 1 is too small",
        "- ttft p99 cannot be met",
    ]
    assert "- something was assumed" in lines


def test_without_a_reason_that_is_said(infeasible, drawn):
    text = drawn(result_view(dataclasses.replace(infeasible, reasons=())))

    assert "no single limit explains it" in text


HOSTILE = "[bold]x[/bold] [link=http://a]y[/link] :smile: [/]"


def test_names_are_no_markup(result, pool, drawn):
    pools = (pool(machine=HOSTILE),)
    hostile = dataclasses.replace(
        result,
        model=HOSTILE,
        plan=dataclasses.replace(result.plan, pools=pools),
        binding=(Binding(HOSTILE, HOSTILE, 0.5),),
        warnings=(HOSTILE,),
    )
    text = drawn(result_view(hostile), 400)

    assert text.count(HOSTILE) == 1 + 1 + 1 + 2 + 1  # headline, terms, pool, binding, note


def test_control_characters_are_shown_not_sent(drawn):
    text = drawn(Group(line("a\x1b[31mb\rc\x07"), table(("n",), [["\x1b]0;title\x07"]])))

    assert "\x1b" not in text
    assert r"a\x1b[31mb\rc\x07" in text
    assert r"\x1b]0;title\x07" in text


def test_other_scripts_keep_their_letters_and_columns(drawn):
    rows = [["\u6771\u4eac", "5"], ["\u00e9t\u00e9", "50"]]
    lines = drawn(table(("place", ">n"), rows)).splitlines()

    assert [text.split() for text in lines] == [["place", "n"], *rows]
    # a wide character takes two columns: the numbers still end in the same one
    assert len({cell_len(text) for text in lines}) == 1


def test_a_table_without_headings_has_no_empty_line(drawn):
    assert drawn(table(("", ""), [["a", "b"]])).split() == ["a", "b"]
    assert drawn(table(("", ""), [["a", "b"]])).count("\n") == 1


def test_an_empty_table_is_its_headings(drawn):
    assert drawn(table(("name", ">n"), [])).split() == ["name", "n"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (5, "5"),
        (0.5, "0.5"),
        (27.45, "27.45"),
        (6500.0, "6,500"),
        (8.0 * 80 * 2**30, "687,194,767,360"),
        ("text", "text"),
        (True, "True"),
    ],
)
def test_cells(drawn, value, shown):
    text = drawn(records_view("T", {"k": ">k"}, [{"k": value}]))

    assert text.split()[-1] == shown


def test_the_table_and_the_json_have_the_same_metrics(result, drawn):
    record = result_record(result)
    text = drawn(result_view(result))

    for metric in record["slo"]["metrics"]:
        assert f"{metric['metric'].upper()} p{metric['percentile']} ".replace(".0 ", " ") in text


@pytest.mark.parametrize("percentile", [1.0, 50.0, 99.9, 99.99, 99.999999999, 99.99999999999999])
def test_a_percentile_is_shown_with_all_its_digits(result, drawn, percentile):
    metric = dataclasses.replace(result.slo.metrics[0], percentile=percentile)
    slo = dataclasses.replace(result.slo, metrics=(metric,))
    ((_, name, *_),) = section(
        drawn(result_view(dataclasses.replace(result, slo=slo))), "SLO strict"
    )

    assert float(name.removeprefix("TTFT p")) == percentile
    assert not name.endswith(".0")


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (46.76989, "46.76"),
        (70.0, "70"),
        (0.7 * 100 - 1e-14, "70"),  # a float's rounding error
        (0.019999, "0.01999"),
        (9999.9, "9,999"),
        (12345.678, "12,345"),
        (12345 - 1e-9, "12,345"),
        (1e15, "1,000,000,000,000,000"),
    ],
)
def test_no_more_is_promised_than_is_served(result, drawn, rate, shown):
    plan = dataclasses.replace(result.plan, rate_per_s=rate)
    served = dataclasses.replace(result, plan=plan, workloads=(("chat", rate),))
    first, second = drawn(result_view(served), 300).splitlines()[:2]

    assert f" serve {shown} requests/s" in first
    assert f"chat at {shown}/s" in second


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.NAME)
def test_a_bound_on_every_objective_reads_well_and_stays_true(result, drawn, objective):
    """Rounded down where less is better, and up where more is."""
    asked = dataclasses.replace(result, objective=objective.NAME, bound=1.23456789)
    text = drawn(result_view(asked), 300)
    verb, number, unit = re.search(r"no cluster (.*) (?:than) (\S+) (.+) \(gap", text).groups()
    per = 1000 if objective.NAME == "throughput_per_watt" else 1
    per = 1 / 1000 if objective.NAME == "power" else per

    assert verb.endswith("more" if objective.MAXIMIZE else ("less", "fewer"))
    bound = float(number.replace(",", "")) / per
    assert bound == pytest.approx(1.23456789, rel=1e-5)
    assert bound > 1.23456789 if objective.MAXIMIZE else bound < 1.23456789
    assert unit


def test_no_objective_is_described_that_is_none():
    assert tables._OBJECTIVES.keys() == BY_NAME.keys()
