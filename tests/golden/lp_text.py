"""LP text in one order, whatever order PuLP 3.3 or 4.x writes it in.

Rows, terms and variables are sorted, a row is one line, and only variables that occur in the
objective or a row are listed.
"""

from __future__ import annotations

from collections import defaultdict

SENSES = ("Minimize", "Maximize")
VARIABLES = ("Bounds", "Generals", "Binaries")
HEADINGS = (*SENSES, "Subject To", *VARIABLES, "End")
OPERATORS = ("<=", ">=", "=")
NOTHING = "__dummy"
"""The variable that PuLP writes where a section would be empty."""


def normalised(text: str, comment: str, *, rows: bool = True) -> str:
    """Order an LP text; ``rows=False`` leaves the objective and its variables."""
    sections = _sections(text)
    (sense,) = (name for name in SENSES if name in sections)
    lines = [_ordered(statement) for statement in sections[sense]]
    if rows:
        lines += ["Subject To", *sorted(map(_ordered, sections["Subject To"]))]
    used = {word for line in lines for word in line.split()}
    for heading in VARIABLES:
        entries = [entry for entry in sections[heading] if used & set(_names(entry))]
        lines += [heading, *sorted(entries)] if entries else []
    return "\n".join([f"\\* {comment} *\\", sense, *lines, "End", ""])


def _sections(text: str) -> dict[str, list[str]]:
    """Statements by heading; an indented line continues a statement, save in the bounds."""
    sections: dict[str, list[str]] = defaultdict(list)
    heading = ""
    for line in text.splitlines():
        if line in HEADINGS:
            heading = line
        elif line.startswith(" ") and heading != "Bounds":
            sections[heading][-1] += line
        else:
            sections[heading].append(line.strip())
    return sections


def _names(statement: str) -> list[str]:
    return [word for word in statement.split() if word[0].isalpha()]


def _ordered(statement: str) -> str:
    """One row or objective with its terms in order of their variables."""
    name, _, body = statement.partition(":")
    words, right = body.split(), []
    if len(words) > 2 and words[-2] in OPERATORS:
        words, right = words[:-2], [words[-2], _short(words[-1])]
    terms, sign, size = [], "+", ""
    for word in words:
        if word in ("+", "-"):
            sign = word
        elif word[0].isdigit():
            size = f"{_short(word)} "
        elif word != NOTHING:
            terms.append((word, f"{sign} {size}{word}"))
            sign, size = "+", ""
    return " ".join([f"{name}:", *(term for _, term in sorted(terms)), *right])


def _short(number: str) -> str:
    return f"{float(number):.10g}"
