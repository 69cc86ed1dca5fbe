#!/usr/bin/env python3
"""A folder of src/ includes only itself and the folders before it in the layout. Prints who includes whom, how often."""
import sys
from collections import Counter

from sources import ROOT, files, includes

LAYOUT = ["base", "config", "topology", "routing", "machine", "network", "nic", "host", "workload", "measure", "report",
          "lib", "app"]


def is_test(path):
    """Tests look at their subject from above: they may include everything."""
    return path.stem.endswith("_test") or path.stem.startswith("test_")


def main():
    problems, uses = [], Counter()
    for path in files(".cpp", ".hpp"):
        place = path.relative_to(ROOT).parts
        if place[0] != "src" or is_test(path):
            continue
        if place[1] not in LAYOUT:
            problems.append(f"{path.relative_to(ROOT)}:1: folder '{place[1]}' is not in the layout of tools/check_includes.py")
            continue
        for line, written in includes(path):
            where, target = f"{path.relative_to(ROOT)}:{line}", written.split("/")[0]
            if target not in LAYOUT:
                problems.append(f'{where}: "{written}": write includes from src/, as "folder/file.hpp"')
            elif LAYOUT.index(target) > LAYOUT.index(place[1]):
                problems.append(f"{where}: {place[1]} must not include {target}")
            uses[place[1], target] += 1
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    print(f"includes: {sum(uses.values())}, all toward the start of the layout")
    used = [folder for folder in LAYOUT if any(folder in pair for pair in uses)]
    print(" " * 10 + "".join(f"{folder:>10}" for folder in used))
    for folder in used:
        print(f"{folder:>10}" + "".join(f"{uses[folder, target] or '.':>10}" for target in used))
    return 0


if __name__ == "__main__":
    sys.exit(main())
