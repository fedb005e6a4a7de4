# SPDX-License-Identifier: GPL-2.0-only
"""What a hook's rule looks for in a stock file, and which of it is there.

This is for people: spatch alone decides whether a rule fits. Lines are compared token by token;
spatch's isomorphisms are not known here.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from swathe.kernel import changes

RULE = re.compile(r"^@([^@\n]*)@\n((?:(?!@).*\n)*)@@\n((?:(?!@).*\n?)*)", re.MULTILINE)
DECLARED = re.compile(r"^(\w+(?: \w+)*?) ([\w.]+(?:, [\w.]+)*)(?: = \{([\w, ]+)\})?;", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
C_TOKEN = re.compile(r"\w+|[^\w\s]")
SMPL_TOKEN = re.compile(r"\.\.\.|\\[(|)]|\w+|[^\w\s]")
DOTS = ("...", "<...", "...>", "<+...", "...+>")
ALTERNATIVE = {"(", "|", ")"}
# Regular expressions over tokens, each of which has a space after it: anything, what is in
# parentheses (in two pairs at most), an expression without and with commas.
ANY_CODE = r"(?:.*? )?"
INSIDE = r"\((?:[^;{}()]|\([^;{}()]*\))*\)"
EXPRESSION = rf"(?:[^;{{}}(),]|{INSIDE})+? "
ANY_LIST = rf"(?:(?:[^;{{}}()]|{INSIDE})+? )?"
KINDS = {"identifier": r"\w+ ", "type": r"[\w* ]+?", "expression": EXPRESSION,
         "statement": ANY_CODE}  # fmt: skip
SPECIAL = {r"\(": "(?:", r"\|": "|", r"\)": ")"}
WHOLE_FILE = "#include"
ALIKE, SHOWN = 0.5, 2


@dataclass(frozen=True)
class Anchor:
    """A line of context, or one that the rule removes; optional: in some alternatives only."""

    text: str
    pattern: re.Pattern[str]
    optional: bool


@dataclass(frozen=True)
class RuleAnchors:
    """One rule of a hook: its anchors, and the functions that they must be in."""

    functions: tuple[str, ...]
    anchors: tuple[Anchor, ...]


def rules(text: str, functions: Sequence[str]) -> list[RuleAnchors]:
    """Return the rules of a semantic patch; functions are those of the hook."""
    return [read_rule(declared, body, functions) for _, declared, body in RULE.findall(text)]


def read_rule(declared: str, body: str, functions: Sequence[str]) -> RuleAnchors:
    """Read a rule; the functions that it only calls are no places to look in."""
    known = metavariables(declared)
    heads = (line for line in body.splitlines() if not line.endswith(";"))
    named = set(C_TOKEN.findall("\n".join([declared, *heads])))
    own = tuple(name for name in functions if name in named) or (WHOLE_FILE,)
    return RuleAnchors(own, tuple(anchors(body, known)))


def metavariables(declared: str) -> dict[str, str]:
    """Return the regular expression of each metavariable; a symbol stands for itself.

    RULE.NAME is what an earlier rule has found.
    """
    found: dict[str, str] = {}
    for kind, names, values in DECLARED.findall(declared):
        if kind == "symbol":
            continue
        pattern = f"(?:{values.replace(', ', '|')}) " if values else KINDS.get(kind, ANY_CODE)
        found.update((name.rpartition(".")[2], pattern) for name in names.split(", "))
    return found


def anchors(body: str, known: Mapping[str, str]) -> Iterator[Anchor]:
    """Return the lines that the rule looks for, without the head of its function."""
    always, sometimes = alternatives(body)
    for text in [*always, *sometimes]:
        if not re.fullmatch(r"\w+\s?\(\.\.\.\) \{", text):
            yield Anchor(text, re.compile(pattern(text, known)), text in sometimes)


def alternatives(body: str) -> tuple[list[str], list[str]]:
    """Return the lines outside of disjunctions or in all alternatives, and those in some."""
    always: dict[str, None] = {}
    sometimes: dict[str, None] = {}
    choices: list[list[str]] = []
    for line in joined(body):
        if line == "(":
            choices = [[]]
        elif line == "|":
            choices.append([])
        elif line == ")":
            for text in chain.from_iterable(choices):
                everywhere = all(text in choice for choice in choices)
                (always if everywhere else sometimes)[text] = None
            choices = []
        elif choices:
            choices[-1].append(line)
        else:
            always[line] = None
    return list(always), [text for text in sometimes if text not in always]


def joined(body: str) -> Iterator[str]:
    """Return the lines that must be there before; what goes on over several lines is joined."""
    part = ""
    for line in body.splitlines():
        text = COMMENT.sub("", line[1:] if line[:1] == "-" else line).strip()
        if line.startswith("+") or not text or text in (*DOTS, "{", "}"):
            continue
        if line in ALTERNATIVE:
            yield from filter(None, (part, line))
            part = ""
            continue
        part = f"{part} {text}".strip().replace("( ", "(").replace(" )", ")")
        if part[0] == "#" or (part.count("(") == part.count(")") and not part[-1].isalnum()):
            yield part
            part = ""
    if part:
        yield part


def pattern(text: str, known: Mapping[str, str]) -> str:
    """Return a regular expression over tokens, each with a space after it."""
    parts = []
    before = ""
    for token in SMPL_TOKEN.findall(text):
        if token == "...":
            parts.append(ANY_CODE if before == "{" else ANY_LIST)
        else:
            parts.append(SPECIAL.get(token) or known.get(token) or f"{re.escape(token)} ")
        before = token
    return r"(?<!\S)" + "".join(parts)


def tokens(text: str) -> str:
    return "".join(f"{token} " for token in C_TOKEN.findall(COMMENT.sub(" ", text)))


def lines_of(text: str, function: str) -> dict[int, str]:
    """Return the lines of a function, by number."""
    lines = text.splitlines()
    numbered = enumerate(zip(lines, changes.owners(lines), strict=True), 1)
    return {n: line for n, (line, owner) in numbered if function in (owner, WHOLE_FILE)}


def nearest(anchor: Anchor, lines: Mapping[int, str]) -> Iterator[str]:
    """Return the lines that resemble the anchor most, with their numbers."""
    rated = sorted(
        (difflib.SequenceMatcher(None, anchor.text, line.strip()).ratio(), number)
        for number, line in lines.items()
    )
    for ratio, number in reversed(rated[-SHOWN:]):
        if ratio >= ALIKE:
            yield f"           like line {number}: {lines[number].strip()}"


def compare(rule: RuleAnchors, function: str, path: str, text: str) -> Iterator[str]:
    """Return a line about the function, and one for each anchor: whether it is there."""
    lines = lines_of(text, function)
    if not lines:
        yield absent(function, path, text)
        return
    where = path if function == WHOLE_FILE else f"{function}() of {path}"
    yield f"the rule looks in {where}, from line {min(lines)} on, for:"
    whole = tokens("\n".join(lines.values()))
    missing = 0
    for anchor in rule.anchors:
        there = anchor.pattern.search(whole) is not None
        missing += not there and not anchor.optional
        yield f"  {verdict(anchor, there)}  {anchor.text}"
        if not there and not anchor.optional:
            yield from nearest(anchor, lines)
    if not missing:
        yield "  none is missing: their number, their order or what is between them may differ"


def verdict(anchor: Anchor, there: bool) -> str:
    """An optional anchor is in some forms of the function only."""
    return "there  " if there else "absent " if anchor.optional else "MISSING"


def absent(function: str, path: str, text: str) -> str:
    names = set(changes.owners(text.splitlines()))
    alike = difflib.get_close_matches(function, names, SHOWN + 1)
    called = f" (it has {', '.join(alike)})" if alike else ""
    return f"{path} has no {function}(){called}: find it with grep -rn '{function}(' mm"


def report(rule_text: str, functions: Sequence[str], path: str, text: str) -> list[str]:
    """Return what the rules of a hook look for, and which of it the file has."""
    return [
        line
        for rule in rules(rule_text, functions)
        for function in rule.functions
        for line in compare(rule, function, path, text)
    ]
