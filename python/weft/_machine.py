"""Machines, and what can be asked of them."""

import os
import tempfile

from weft import _command
from weft._results import Check, Figure, Replay, Run, Traffic, Validation


def machines():
    """The machines that come with Weft: name and what it is."""
    return {m["name"]: m["about"] for m in _command.ask_json(["list", "--json"])}


def machine(name, set=None):  # the name of the command's option
    """A machine by a profile's name or a description's path, with values of its description set otherwise."""
    return Machine(name, set)


def validate(machine=None, figures=(), set=None, progress=False, **options):
    """Published figures and ours: of a machine, or those named, such as 'V-TH2-03'; all without either."""
    words = ["validate"] + ([machine] if machine else []) + _command.settings("--set", set)
    for figure in figures:
        words += ["--figure", figure]
    told = _command.ask_json(words + _command.options(**options) + ["--json"], progress, expect=(0, 1))
    return Validation([Figure.of(one) for one in told])


class Machine:
    """A description and what is set on top of it; nothing runs until it is asked."""

    def __init__(self, name, set=None):
        self.name = os.fspath(name)
        self.settings = dict(set or {})

    def __repr__(self):
        return f"weft.machine({self.name!r}" + (f", set={self.settings!r})" if self.settings else ")")

    def set(self, values):
        """The same machine with further values set; this one stays as it is."""
        return Machine(self.name, {**self.settings, **values})

    def _words(self, verb):
        return [verb, self.name] + _command.settings("--set", self.settings)

    def facts(self):
        """What `weft show --json` tells: size, distances, bisection, cost, and every value with its unit."""
        return _command.ask_json(self._words("show") + ["--json"])

    def picture(self):
        """A drawing (SVG). A machine that is the last value of a notebook's cell is drawn there."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "machine.svg")
            _command.ask(self._words("show") + ["--picture", file])
            with open(file, encoding="utf-8") as text:
                return text.read()

    _repr_svg_ = picture

    def check(self, **options):
        """Proves the routing: every pair connected, paths as claimed, no deadlock. `if machine.check(): ...`"""
        return Check.of(_command.ask_json(self._words("check") + ["--json"] + _command.options(**options), expect=(0, 1)))

    def traffic(self, loads=None, pattern=None, pattern_set=None, source_set=None, out=None, progress=False, **options):
        """Synthetic traffic over a range of loads; options are those of `weft traffic`, such as packet=8 or seed=2."""
        words = self._words("traffic") + ["--json"] + _command.settings("--pattern-set", pattern_set)
        words += _command.settings("--source-set", source_set) + _command.options(pattern=pattern, **options)
        if loads is not None:
            words += ["--load", loads if isinstance(loads, str) else ",".join(repr(float(load)) for load in loads)]
        with tempfile.TemporaryDirectory() as folder:  # the command always writes its tables somewhere
            return Traffic.of(_command.ask_json(words + ["--out", os.fspath(out or os.path.join(folder, "out"))], progress,
                                                expect=(0, 1)))

    def replay(self, workload, workload_set=None, progress=False, **options):
        """A workload or a trace, with all its dependencies; options are those of `weft replay`, such as ranks=64."""
        words = self._words("replay") + [os.fspath(workload), "--json"] + _command.settings("--workload-set", workload_set)
        return Replay.of(_command.ask_json(words + _command.options(**options), progress, expect=(0, 1)))

    def run(self, program, ranks=1, progress=False, **options):
        """A program and its arguments, as a list, in virtual time; options are those of `weft run`, such as per_node=4.

        What ranks print goes to standard error, which `progress` shows. A program that fails is a WeftError."""
        program = [os.fspath(program)] if isinstance(program, (str, os.PathLike)) else [os.fspath(word) for word in program]
        words = self._words("run") + ["--json", "--ranks", str(ranks)] + _command.options(**options) + ["--"] + program
        return Run.of(_command.ask_json(words, progress))
