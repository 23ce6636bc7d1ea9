import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import InputError
from provisioner.inputs.tables import Row, read_rows


def row_of(cell, tmp_path="file.csv"):
    return Row(path=tmp_path, number=7, cells={"x": cell})


def test_rows_carry_the_line_numbers_of_an_editor(write):
    text = "b, a\n\n1,2\n   \n\n3,4\n"
    rows = list(read_rows(write("t.csv", "\ufeff" + text), ("a", "b")))
    assert [(row.number, row.cells) for row in rows] == [
        (3, {"b": "1", "a": "2"}),
        (6, {"b": "3", "a": "4"}),
    ]


def test_quoted_cells_may_hold_commas_quotes_and_line_ends(write):
    rows = list(read_rows(write("t.csv", 'a,b\r\n"1,5","say ""x""\r\nno"\r\n3,4\r\n'), ("a", "b")))
    assert rows[0].cells == {"a": "1,5", "b": 'say "x"\nno'}
    assert rows[1].number == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the columns must be a, b; found none"),
        ("a\n1\n", "the columns must be a, b; found 'a'"),
        ("a,b,c\n1,2,3\n", "the columns must be a, b; found 'a, b, c'"),
        ("a,a\n1,2\n", "the columns must be a, b; found 'a, a'"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n\n3\n", "row 4: 2 cells needed, found 1"),
        ("a,b\n1,2,3\n", "row 2: 2 cells needed, found 3"),
        ('a,b\n1,"2\n', "row 2: not valid CSV"),
        ('a,b\n"1"2,3\n', "row 2: not valid CSV"),
        ("a,b\n1," + "x" * 200_000 + "\n", "row 2: not valid CSV: field larger"),
    ],
)
def test_a_table_of_another_shape_is_refused(write, text, message):
    with pytest.raises(InputError, match=f"t.csv: {message}"):
        list(read_rows(write("t.csv", text), ("a", "b")))


@pytest.mark.parametrize("cell", ["", " ", "x", "nan", "inf", "-inf", "-1", "1e999", "1 2", "1,5"])
def test_numbers_are_finite_and_not_negative(cell):
    for read in (Row.number_of, Row.positive, Row.whole):
        with pytest.raises(InputError, match=r"file\.csv: row 7: x: a .* needed, found"):
            read(row_of(cell), "x")


def test_positive_and_whole_refuse_what_is_not():
    for cell in ("0", "0.0", "-0"):
        assert row_of(cell).number_of("x") == 0
        with pytest.raises(InputError, match="above 0"):
            row_of(cell).positive("x")
    for cell in ("0", "1.5", str(2**63), "9" * 5000, "0x10"):
        with pytest.raises(InputError, match="number"):
            row_of(cell).whole("x")
    assert row_of("0").whole("x", at_least=0) == 0
    assert row_of(" 8.0 ").whole("x") == 8
    assert row_of(" ").whole_or_none("x") is None


@given(st.integers(1, 2**63 - 1))
def test_whole_numbers_are_exact(value):
    # A detour over floats rounds above 2^53.
    assert row_of(str(value)).whole("x") == value


def test_text_is_not_empty_and_one_of_the_allowed():
    assert row_of(" a ").text("x", ("a", "b")) == "a"
    with pytest.raises(InputError, match="one of a, b is needed, found 'c'"):
        row_of("c").text("x", ("a", "b"))
    with pytest.raises(InputError, match="text is needed, found ''"):
        row_of("").text("x")
