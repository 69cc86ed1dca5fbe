#!/usr/bin/env python3
"""Every header compiles alone: whoever includes it needs nothing else first.

The build does not show it, because it reads precompiled headers first. One that passed is not compiled again until it,
something it includes, or the compiler changes. Headers may be named; without names all are looked at.
"""
import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sources import ROOT, files, includes, resolve

COMPILER = os.environ.get("CXX", "g++")
BUILD = ROOT / os.environ.get("WEFT_BUILD_DIR", "build")
# As a compiler cache: by content, so that it serves every checkout of whoever runs it.
PASSED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft" / "header-checks"
KEPT_DAYS = 30  # after it last passed
CONFIGURED = BUILD / "configured-headers"  # what the build makes of *.hpp.in
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-I.", "-Isrc", "-Itests", f"-I{CONFIGURED}", '-DWEFT_VERSION="0"']


def closure(header):
    """The header and everything of the project that it includes, directly or not."""
    seen, ahead = {header}, [header]
    while ahead:
        path = ahead.pop()
        for _, written in includes(path):
            found = resolve(path, written)
            if found and found not in seen:
                seen.add(found)
                ahead.append(found)
    return sorted(seen)


def shown(header):
    return str(header.relative_to(ROOT) if header.is_relative_to(ROOT) else header)


def stamp(header, compiler):
    text = hashlib.sha256(compiler + " ".join(FLAGS).encode() + shown(header).encode())
    for path in closure(header):
        text.update(path.read_bytes())
    return PASSED / text.hexdigest()


def syntax_errors(code):
    """The compiler's complaints about a program, empty where there are none."""
    result = subprocess.run([COMPILER, *FLAGS, "-x", "c++", "-"], input=code, cwd=ROOT, text=True, capture_output=True)
    return "" if result.returncode == 0 else result.stderr


def compile_alone(header):
    return syntax_errors(f'#include "{shown(header)}"\n')


def main():
    compiler = subprocess.run([COMPILER, "--version"], capture_output=True, check=True).stdout
    PASSED.mkdir(parents=True, exist_ok=True)
    CONFIGURED.mkdir(parents=True, exist_ok=True)
    for template in files(".in"):
        (CONFIGURED / template.stem).write_bytes(template.read_bytes())
    named = [Path(name).resolve() for name in sys.argv[1:]]
    headers = named or files(".hpp")
    stamps = {header: stamp(header, compiler) for header in headers}
    changed = [header for header in stamps if not stamps[header].exists()]
    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, complaints in zip(changed, pool.map(compile_alone, changed)):
            if complaints:
                failures += 1
                print(f"{shown(header)} does not compile alone:\n{complaints}", file=sys.stderr)
            else:
                stamps[header].touch()
    for header in headers:
        if header not in changed:
            stamps[header].touch()
    for old in PASSED.iterdir():
        if time.time() - old.stat().st_mtime > KEPT_DAYS * 86400:
            old.unlink(missing_ok=True)
    if failures:
        return 1
    print(f"headers: {len(headers)} compile alone ({len(changed)} compiled now)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
