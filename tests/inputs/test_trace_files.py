import json
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.workload import MAX_LENGTH
from provisioner.errors import InputError
from provisioner.inputs import trace_files, trace_tables
from provisioner.inputs.trace_files import read_chunks, read_trace
from provisioner.inputs.traces import FORMATS

from .conftest import compressed

OWN = "arrival_s,prompt_tokens,output_tokens\n"


def rows_of(path):
    trace = read_trace(path)
    return list(
        zip(
            trace.arrival_s.tolist(),
            trace.prompt_tokens.tolist(),
            trace.output_tokens.tolist(),
            strict=True,
        )
    )


def refused(path, message):
    with pytest.raises(InputError, match=message) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 1000


# Every format: the same three requests, 0, 1.5 and 2.25 s after the first one.

SAME = [(0.0, 374, 44), (1.5, 396, 109), (2.25, 879, 55)]
EXAMPLES = {
    "own": OWN + "100,374,44\n101.5,396,109\n102.25,879,55\n",
    "azure": (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 23:59:58.0000000,374,44\n2023-11-16 23:59:59.5000000,396,109\n"
        "2023-11-17 00:00:00.2500000,879,55\n"
    ),
    "splitwise-sim": (
        "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
        "0,2,0,0.5,1,374,44\n1,2,0,2.0,1,396,109\n2,2,0,2.75,1,879,55\n"
    ),
    "burstgpt": (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,374,44,418,Conversation log\n6.5,GPT-4,396,109,505,API log\n"
        "7.25,ChatGPT,879,55,934,Conversation log\n"
    ),
    "mooncake": (
        '{"timestamp": 7000, "input_length": 374, "output_length": 44, "hash_ids": [0, 1]}\n'
        '{"timestamp": 8500, "input_length": 396, "output_length": 109, "hash_ids": []}\n'
        '{"timestamp": 9250, "input_length": 879, "output_length": 55, "hash_ids": [7]}\n'
    ),
}


def test_every_format_has_an_example():
    assert [form.name for form in FORMATS] == list(EXAMPLES)


@pytest.mark.parametrize("how", ["none", "gzip", "zstandard"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_format_is_recognised_by_its_columns(write, name, how):
    path = write("trace", compressed(EXAMPLES[name].encode(), how))
    assert rows_of(path) == SAME
    assert read_trace(path).span_s == 2.25


@pytest.mark.parametrize("name", EXAMPLES)
def test_marks_blank_lines_and_line_ends_do_not_matter(write, name):
    text = "\ufeff\n" + EXAMPLES[name].replace("\n", "\r\n\r\n") + "   \r\n"
    assert rows_of(write("trace", text)) == SAME


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "mooncake"])
def test_quotes_and_spaces_do_not_matter(write, name):
    header, *rows = EXAMPLES[name].splitlines()
    spaced = ", ".join(header.split(","))
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in rows]
    assert rows_of(write("trace", "\n".join([spaced, *quoted]))) == SAME


def test_columns_of_any_format_may_come_as_json_lines_and_in_any_order(write):
    lines = ['{"output_tokens": 5, "arrival_s": "1.5", "prompt_tokens": 3.0, "x": {"y": null}}']
    assert rows_of(write("trace", "\n".join(lines))) == [(0.0, 3, 5)]


# Row numbers: one wrong cell in row 5 of each format, blank line above it.


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("cell", ["x", "", "nan", "inf", "-1", "1e400", "True", "0x10", "1 2"])
def test_a_wrong_cell_is_refused_with_row_column_and_value(write, name, column, cell):
    form = next(form for form in FORMATS if form.name == name)
    *start, last = EXAMPLES[name].splitlines()
    if name == "mooncake":
        record = {**json.loads(last), form.columns[column]: cell}
        start, last = ["", *start], json.dumps(record)
    else:
        cells = last.split(",")
        cells[start[0].split(",").index(form.columns[column])] = cell
        last = ",".join(cells)
    path = write("trace", "\n".join([*start, "", last]))
    refused(path, rf"row 5: {form.columns[column]}: a .* is needed, found '{cell}'")


@pytest.mark.parametrize(
    "cell", ["0", "2.5", str(MAX_LENGTH + 1), "9" * 30, "1e300", "null", "true", "[1]"]
)
def test_lengths_are_whole_from_one_to_the_longest(write, cell):
    needed = f"a whole number from 1 to {MAX_LENGTH} is needed, found "
    refused(write("t.csv", OWN + f"0,1,1\n0,{cell},1\n"), f"row 3: prompt_tokens: {needed}")
    line = '{"arrival_s": 0, "prompt_tokens": 1, "output_tokens": %s}\n'
    refused(write("t.jsonl", line % 1 + line % cell), f"row 2: output_tokens: {needed}")


def test_the_longest_length_is_accepted(write):
    text = OWN + f"0,{MAX_LENGTH},1\n1,1e3,2.0\n"
    assert rows_of(write("t.csv", text)) == [(0, MAX_LENGTH, 1), (1, 1000, 2)]


@pytest.mark.parametrize(
    "time",
    [
        "now",
        "2023",
        "20231116",
        "374",
        "2023-11-16",
        "2023-13-01 00:00",
        "2023-11-16 25:00:00",
        "2023-11-16 18:15:46+99:00",
        "2023-11-16 18:15:46 today",
        "1969-12-31 23:59:59",
        "3000-01-01 00:00:00",
        "16/11/2023 18:15:46",
        "1700000000",
    ],
)
def test_a_time_that_is_none_is_refused(write, time):
    text = f"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1\n{time},1,1\n"
    message = f"row 3: TIMESTAMP: a date and time .* found '{re.escape(time)}'"
    refused(write("t.csv", text), message)


def test_zones_and_fractions_of_times_are_exact(write):
    text = """TIMESTAMP,ContextTokens,GeneratedTokens
    2023-11-16 18:15:46.6805900,1,1
    2023-11-16T18:15:46.6805901Z,1,1
    2023-11-16 20:15:47.68059+02:00,1,1
    2023-11-16 13:15:48.680590001-05:00,1,1
    2023-11-16 18:15:50,1,1
    """
    expected = [0.0, 1e-7, 1.0, 2.000000001, 3.31941]
    assert read_trace(write("t.csv", text)).arrival_s.tolist() == expected


# Shape.


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_an_empty_file_is_refused(write, text):
    refused(write("t.csv", text), "the trace is empty")


def test_a_file_without_requests_is_refused(write):
    refused(write("t.csv", OWN), "the trace has no requests")
    refused(write("t.csv", OWN + "\n\n"), "the trace has no requests")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival_ms,prompt_tokens,output_tokens\n", "no known .*; own also needs arrival_s"),
        ("arrival_s;prompt_tokens;output_tokens\n", "no known trace format has the columns"),
        ("0.5,12,13\n", "no known trace format has the columns '0.5, 12, 13'"),
        ('{"timestamp": 1, "input_length": 2}\n', "mooncake also needs output_length"),
        ("x" * 100_000 + "\n", "no known trace format"),
        ("arrival_s," + OWN, "the column 'arrival_s' is given twice"),
        ('{"a": 1, "a": 2}', "row 1: not valid JSON: a key is given twice"),
        ("[1, 2]\n", "row 1: one JSON object per line is needed"),
        ('[\n {"timestamp": 1}\n]\n', "row 1: not valid JSON"),
        ('"arrival_s,\n', "row 1: not valid CSV"),
    ],
)
def test_a_file_of_no_known_format_is_refused(write, text, message):
    refused(write("t", text), message)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,1,1\n\n1,2\n", "row 4: 3 cells needed, found 2"),
        ("0,1,1\n1,2,3,4\n", "row 3: 3 cells needed, found 4"),
        ("1,000,5,3\n", "row 2: 3 cells needed, found 4"),
        ("0,1,1\n1,2,3,\n", "row 3: 3 cells needed, found 4"),
        ('0,1,1\n1,"2,3\n4,5,6\n', "row 3: not valid CSV"),
        ('0,1,1\n1,"2\n",3\n', "row 3: not valid CSV"),
        ("0,1,1\n\x00\x01\x02\n", "row 3: 3 cells needed, found 1"),
        ("0,1\x00,1\n", "row 2: prompt_tokens"),
        ("0,1,1\n#0,1,1\n", "row 3: arrival_s"),
        (f"0,{'1' * 200_000},1\n", "row 2: not valid CSV: field larger"),
    ],
)
def test_rows_of_another_shape_are_refused(write, rows, message):
    refused(write("t.csv", OWN + rows), message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"timestamp": 1, "input_length": 2}', "row 3: output_length is missing"),
        ("{}", "row 3: timestamp, input_length, output_length is missing"),
        ('{"timestamp": 1', "row 3: not valid JSON"),
        ("5", "row 3: one JSON object per line"),
        ('{"timestamp": 1, "input_length": 2, "output_length": null}', "found 'null'"),
        ('{"timestamp": true, "input_length": 2, "output_length": 3}', "found 'true'"),
        ('{"timestamp": NaN, "input_length": 2, "output_length": 3}', "found 'NaN'"),
        ('{"x": ' + "[" * 100_000, "row 3: not valid JSON"),
    ],
)
def test_json_lines_that_are_wrong_are_refused(write, line, message):
    fine = '{"timestamp": 0, "input_length": 2, "output_length": 3}\n'
    refused(write("t.jsonl", f"{fine}\n{line}\n"), message)


# Order, within a piece and across pieces.


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
def test_arrivals_must_not_go_back_in_time(write, monkeypatch, chunk_rows):
    monkeypatch.setattr(trace_files, "CHUNK_ROWS", chunk_rows)
    fine = OWN + "5,1,1\n5,1,1\n6,1,1\n6,1,1\n"
    assert read_trace(write("t.csv", fine)).arrival_s.tolist() == [0, 0, 1, 1]
    refused(write("t.csv", fine + "\n5.5,1,1\n"), r"row 7: arrives 0\.5 s before .* sort")


def test_arrivals_in_milliseconds_are_compared_in_seconds(write):
    line = '{"timestamp": %d, "input_length": 2, "output_length": 3}\n'
    refused(write("t.jsonl", line % 3000 + line % 500), r"row 2: arrives 2\.5 s before")


# BurstGPT: failed requests.


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_failed_requests_are_left_out_and_counted(write, monkeypatch, chunk_rows):
    monkeypatch.setattr(trace_files, "CHUNK_ROWS", chunk_rows)
    header = "Timestamp,Request tokens,Response tokens\n"
    rows = "1,5,0\n2,5,0\n3,7,8\n4,5,0\n6,9,1\n7,5,0\n"
    trace = read_trace(write("b.csv", header + rows))
    assert trace.left_out == 4
    assert trace.arrival_s.tolist() == [0.0, 3.0]  # counted from the first that is kept
    assert trace.prompt_tokens.tolist() == [7, 9]
    refused(write("b.csv", header + rows + "8,0,1\n"), "row 8: Request tokens")
    refused(write("b.csv", header + "1,5,0\n2,5,0\n"), "the trace has no requests")
    # In other formats a request without output is an error, not a failure of then.
    refused(write("o.csv", OWN + "1,5,0\n"), "row 2: output_tokens")


# Pieces.

lengths = st.integers(1, 50)
irregular = st.sampled_from(["", "   ", '"3","4","5"', " 3, 4, 5", "3e0,4.0,+5", "3,4,0", "x,1,1"])
regular = st.builds("{},{},{}".format, st.just(3), lengths, lengths)


@settings(deadline=None)
@given(rows=st.lists(st.one_of(regular, regular, irregular), max_size=12), size=st.integers(1, 5))
def test_pieces_and_the_quick_parser_do_not_change_the_result(tmp_path_factory, rows, size):
    """Whole and cell by cell, or in pieces and quickly: the same requests or the same error."""
    path = tmp_path_factory.mktemp("pieces") / "t.csv"
    path.write_text(OWN + "\n".join(rows))

    def outcome():
        try:
            return rows_of(path)
        except InputError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_files, "CHUNK_ROWS", size)
        in_pieces = outcome()
        patch.setattr(trace_files, "CHUNK_ROWS", 100)
        patch.setattr(trace_tables, "_quick", lambda *_: None)
        assert outcome() == in_pieces


def test_regular_files_take_the_quick_parser(reference, monkeypatch):
    monkeypatch.setattr(trace_tables, "_exact", None)
    assert len(read_trace(reference / "azure_llm_2023_code.csv").arrival_s) == 8819


def test_memory_does_not_grow_with_the_trace(write, monkeypatch):
    monkeypatch.setattr(trace_files, "CHUNK_ROWS", 1000)

    def peak_bytes(requests):
        rows = "".join(f"{i},100,10\n" for i in range(requests))
        path = write("t.csv", OWN + rows)
        tracemalloc.start()
        for _ in read_chunks(path):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_bytes(2000)  # first use fills caches
    assert peak_bytes(40_000) < 1.5 * peak_bytes(4000)


@settings(deadline=None, max_examples=100)
@given(
    start=st.sampled_from(
        [b"", OWN.encode(), EXAMPLES["mooncake"].encode(), b"\x1f\x8b", b"(\xb5/\xfd"]
    ),
    content=st.one_of(st.binary(max_size=200), st.text('0123,.\n"{}[]: -eE', max_size=60)),
)
def test_any_bytes_are_a_trace_or_an_input_error(tmp_path_factory, start, content):
    path = tmp_path_factory.mktemp("any") / "t"
    path.write_bytes(start + (content.encode() if isinstance(content, str) else content))
    try:
        trace = read_trace(path)
    except InputError as error:
        assert str(error).startswith(f"{path}: ")
    else:
        assert np.all(np.diff(trace.arrival_s) >= 0)
        assert trace.prompt_tokens.min() >= 1


def test_mooncake_as_released(reference):
    trace = read_trace(reference / "mooncake_conversation_head.jsonl")
    assert len(trace.arrival_s) == 400
    assert trace.prompt_tokens[:3].tolist() == [6758, 7322, 7236]
    assert trace.output_tokens[:3].tolist() == [500, 490, 794]


def test_the_published_simulators_traces(reference):
    for path in sorted((reference / "traces").glob("*.csv")):
        trace = read_trace(path)
        rate = float(path.stem.split("_")[2])  # rr_conv_70_2min: two minutes at 70 requests/s
        assert len(trace.arrival_s) == pytest.approx(120 * rate, rel=0.1)
