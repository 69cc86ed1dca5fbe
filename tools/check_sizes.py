#!/usr/bin/env python3
"""What fits in the head: no function over 70 lines, no class over 600 with all its methods.

Relies on the format of the sources (tools/static-checks checks it): what begins with a line that ends in '{' ends with a
line of the same indentation that begins with '}'.
"""
import re
import sys
from collections import Counter

from sources import ROOT, files

MOST_FUNCTION, MOST_CLASS = 70, 600
# Classes that are larger still, (folder, name): lines. There are none, and none is added.
TOO_LARGE = {}
NOT_A_FUNCTION = re.compile(
    r"^\s*(?:template\b.*>\s*)?(?:namespace|class|struct|union|enum|extern|typedef|using|case|default|else|do|try)\b")
CLASS = re.compile(r"^\s*(?:template\b.*>\s*)?(?:class|struct)\s+(?:alignas\(\w+\)\s+)?(\w+)[^;=()]*\{$")
METHOD = re.compile(r"(?<![\w:])(?:\w+::)*?(\w+)(?:<[^()]*>)?::~?(?:\w+|operator[^\s(]*)\(")
CONTROL = re.compile(r"^\s*(?:\}|if|for|while|switch|return|catch)\b|^\s*\}")


def blocks(lines):
    """(first line, last line, head) of every block whose head can be told from its indentation."""
    for i, line in enumerate(lines):
        if not line.rstrip().endswith("{") or line.lstrip().startswith(("//", "*", "#")):
            continue
        start = i
        # A head may be broken over lines, and a constructor's has its initialisers: up to where the one before it ends.
        while start > 0 and lines[start - 1].strip() and not re.search(r"[;{}:>]$|^\s*(//|#|\*)", lines[start - 1]):
            start -= 1
        indent = len(lines[start]) - len(lines[start].lstrip())
        for end in range(i + 1, len(lines)):
            if lines[end].startswith(" " * indent + "}"):
                yield start, end, " ".join(part.strip() for part in lines[start:i + 1])
                break


def check(path, classes):
    problems = []
    lines = path.read_text().splitlines()
    inside_class = Counter()
    for start, end, head in blocks(lines):
        length = end - start + 1
        named = CLASS.match(head)
        if named:
            inside_class[named[1]] += length
            continue
        if NOT_A_FUNCTION.match(head) or CONTROL.match(head) or "(" not in head or re.search(r"=\s*\{$|return \{$", head):
            continue
        if re.search(r"\]\s*(\([^()]*\))?\s*(mutable|noexcept|->.*)?\s*\{$", head) and not re.match(r"^\S+.*\)\s*\{$", head):
            continue  # a lambda is part of the function it stands in
        if length > MOST_FUNCTION:
            problems.append(f"{path.relative_to(ROOT)}:{start + 1}: {length} lines in one function, at most {MOST_FUNCTION}: {head[:80]}")
        method = METHOD.search(head)
        if method and not lines[start].startswith(" "):
            inside_class[method[1]] += length
    for name, length in inside_class.items():
        classes[path.parent, name] += length
    return problems


def main():
    problems, classes = [], Counter()
    for path in files(".cpp", ".hpp", ".c", ".h"):
        place = path.relative_to(ROOT)
        if place.parts[0] in ("src", "bench") and not path.stem.endswith("_test"):
            problems += check(path, classes)
    for (folder, name), length in classes.items():
        most = TOO_LARGE.get((folder.relative_to(ROOT).as_posix(), name), MOST_CLASS)
        if length > most:
            problems.append(f"{folder.relative_to(ROOT)}: class {name} has {length} lines, at most {most}")
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    (folder, name), length = max(classes.items(), key=lambda entry: entry[1])
    print(f"sizes: the largest class is {name} in {folder.relative_to(ROOT)}, {length} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
