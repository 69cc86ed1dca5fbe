#!/usr/bin/env python3
"""Documents keep their word: links lead to files that exist, and the C++ shown in full compiles."""
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from check_headers import syntax_errors
from sources import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
WHOLE_FILE = re.compile(r"^```cpp\n(//.*?)^```", re.MULTILINE | re.DOTALL)  # a block that starts with a comment


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def main():
    documents = [p for p in sorted(ROOT.rglob("*.md")) if not p.relative_to(ROOT).parts[0].startswith("build")]
    problems, programs = [], []
    for path in documents:
        text, name = path.read_text(), path.relative_to(ROOT)
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
