#!/usr/bin/env python3
"""Who may include whom, folder by folder and file by file.

  - A folder of src/ includes only itself and the folders before it in LAYOUT; sub-folders are folders of their own.
  - What programs link (lib) is apart: it includes itself, the C library and the declarations it shares with the simulator,
    and nothing includes it.
  - No header includes itself, over whatever others.
  - No two parts of a folder need each other, a part being a header and the source of the same name.
  - A file of the project is named from src/, in quotes: not in brackets, not relative.

Prints who includes whom, how often. --root names another tree: a test plants one violation of each kind in it.
"""
import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from sources import ROOT, all_includes

LAYOUT = ["base", "abi", "mpi", "collective", "event", "config", "power", "power/thermal", "power/bmc", "power/operate", "pcie", "node", "topology", "routing", "machine", "manage",
          "network/link", "network", "network/flit", "network/gpu", "network/flow", "network/ideal",
          "nic", "storage", "host", "guest", "guest/init", "workload",
          "measure/lab", "measure/traffic", "measure/run", "measure/stress", "measure/compare", "measure/predict", "measure/validate",
          "report", "live", "app"]
# Preloaded into programs: nothing of the simulator may come with it but what the two share, which needs neither.
APART = ["lib", "lib/offload", "lib/fi", "lib/native"]
SHARED = ["abi", "mpi", "collective"]
# Parts that still need each other, as sets of names: none, and none is added.
ENTANGLED = []


def is_test(path):
    """Tests look at their subject from above: they may include everything."""
    return path.stem.endswith("_test") or path.stem.startswith("test_")


def knots(graph):
    """The sets of nodes that reach each other (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            at = stack.index(node)
            found.append(set(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return [knot for knot in found if len(knot) > 1 or any(node in graph[node] for node in knot)]


def direction_problem(folder, target, written):
    """Why a file of `folder` must not include one of `target`, or nothing."""
    if folder in APART:
        if target in APART:
            return "" if APART.index(target) <= APART.index(folder) else f"{folder} must not include {target}"
        return "" if target in SHARED else f"{folder} is apart: of the simulator it includes only what they share, not {written}"
    if target in APART:
        return f"{folder} must not include {target}, which is apart"
    if folder in SHARED and target not in SHARED:
        return f"{folder} is shared with programs: it includes nothing of the simulator, not {written}"
    return "" if LAYOUT.index(target) <= LAYOUT.index(folder) else f"{folder} must not include {target}"


def check(source):
    problems, uses = [], Counter()
    headers, parts = defaultdict(set), defaultdict(set)
    known = LAYOUT + APART
    for path in sorted(p for p in source.rglob("*") if p.suffix in (".cpp", ".hpp", ".c", ".h")):
        name, folder = path.relative_to(source).as_posix(), path.parent.relative_to(source).as_posix()
        if is_test(path) or folder == ".":
            continue
        if folder not in known:
            problems.append(f"src/{name}:1: folder '{folder}' is not in the layout of tools/check_includes.py")
            continue
        for line, written, in_quotes in all_includes(path):
            where, ours = f"src/{name}:{line}", (source / written).is_file()
            if not in_quotes and not ours:
                continue  # the system's
            if not in_quotes:
                problems.append(f"{where}: <{written}>: a file of the project is included in quotes")
            if not ours:
                if in_quotes:
                    problems.append(f'{where}: "{written}": write includes from src/, as "folder/file.hpp"')
                continue
            target = Path(written).parent.as_posix()
            if target not in known:
                problems.append(f'{where}: "{written}": its folder is not in the layout')
                continue
            if problem := direction_problem(folder, target, written):
                problems.append(f"{where}: {problem}")
            uses[folder, target] += 1
            if path.suffix in (".hpp", ".h"):
                headers[name].add(written)
            part, other = name.rsplit(".", 1)[0], written.rsplit(".", 1)[0]
            if part != other and folder == target:
                parts[part].add(other)
    for knot in knots(headers):
        problems.append(f"src/{min(knot)}:1: headers include each other: {', '.join(sorted(knot))}")
    found = knots(parts)
    for knot in found:
        if knot not in ENTANGLED:
            problems.append(f"src/{min(knot)}: parts need each other: {', '.join(sorted(knot))}")
    if source == ROOT / "src":
        for knot in ENTANGLED:
            if knot not in found:
                problems.append(f"tools/check_includes.py: no longer so, take it out of ENTANGLED: {', '.join(sorted(knot))}")
    return problems, uses


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--root", type=Path, default=ROOT)
    problems, uses = check(arguments.parse_args().root.resolve() / "src")
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    print(f"includes: {sum(uses.values())}, all toward the start of the layout, none in a cycle")
    used = [folder for folder in LAYOUT + APART if any(folder in pair for pair in uses)]
    for folder in used:
        print(f"{folder:>17}: " + ", ".join(f"{target} {uses[folder, target]}" for target in used if uses[folder, target]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
