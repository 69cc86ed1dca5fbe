#!/usr/bin/env python3
"""Documents keep their word: links lead to files that exist, the C++ shown in full compiles, lines fit on a screen."""
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from check_headers import syntax_errors
from sources import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
WHOLE_FILE = re.compile(r"^```cpp\n(//.*?)^```", re.MULTILINE | re.DOTALL)  # a block that starts with a comment


def line_of(text, at):
    return text.count("\n", 0, at) + 1


MOST_LETTERS = 120
GENERATED = {"docs/reference.md"}


def long_lines(text):
    """Numbers of lines that should be wrapped: not tables, pictures, or what is shown as it is printed."""
    shown = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            shown = not shown
        elif not shown and len(line) > MOST_LETTERS and not line.startswith(("|", "<", "    ")) and " " in line.strip():
            yield number


def main():
    documents = [p for p in sorted(ROOT.rglob("*.md")) if not p.relative_to(ROOT).parts[0].startswith("build")]
    problems, programs = [], []
    for path in documents:
        text, name = path.read_text(), path.relative_to(ROOT)
        if name.as_posix() not in GENERATED:
            problems += [f"{name}:{number}: longer than {MOST_LETTERS} letters" for number in long_lines(text)]
        for link in LINK.finditer(text):
            target = link.group(1)
            if "://" not in target and not (path.parent / target).exists():
                problems.append(f"{name}:{line_of(text, link.start())}: there is no {target}")
        programs += [(f"{name}:{line_of(text, block.start())}", block.group(1)) for block in WHOLE_FILE.finditer(text)]
    with ThreadPoolExecutor() as pool:
        for (where, _), complaints in zip(programs, pool.map(syntax_errors, [code for _, code in programs])):
            if complaints:
                problems.append(f"{where}: does not compile:\n{complaints}")
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    print(f"documents: links of {len(documents)} lead somewhere, {len(programs)} whole programs compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
