"""What the checks share: the project's files and what they include."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bench", "tests", "examples")
_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def files(*endings):
    """The project's C++ files with one of these endings, in a fixed order."""
    return sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in endings)


def all_includes(path):
    """(line number, included path as written, whether in quotes) of every include."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := _INCLUDE.match(line):
            yield number, found.group(1) or found.group(2), found.group(1) is not None


def includes(path):
    """(line number, included path as written) of every include in quotes."""
    return ((number, written) for number, written, in_quotes in all_includes(path) if in_quotes)


def resolve(path, written):
    """The project's file an include means, or None."""
    for folder in (path.parent, ROOT / "src", ROOT / "tests", ROOT):
        if (folder / written).is_file():
            return (folder / written).resolve()
    return None
