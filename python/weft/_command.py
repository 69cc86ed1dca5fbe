"""The `weft` command: where it is, and how it is asked."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading


class WeftError(Exception):
    """What the command says when it cannot do as it was asked. `code` is its exit code: 2 where the input is wrong."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def command():
    """The command's path: $WEFT_COMMAND, that of the same installation or source tree, or the one on the PATH."""
    named = os.environ.get("WEFT_COMMAND")
    if named:
        return named
    here = pathlib.Path(__file__).resolve()
    for above in here.parents[2:6]:
        for place in ("bin/weft", "build/weft"):
            if os.access(above / place, os.X_OK) and (above / place).is_file():
                return str(above / place)
    found = shutil.which("weft")
    if found:
        return found
    raise WeftError("there is no weft command beside this package nor on the PATH; WEFT_COMMAND names one", 2)


def version():
    """What `weft --version` prints first: the version that results carry."""
    return ask(["--version"]).splitlines()[0].removeprefix("weft ")


def setting_text(value):
    """A value as a description has it: True is true, [4, 4] a list; texts such as '2us' stay as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(f'"{v}"' if isinstance(v, str) else setting_text(v) for v in value) + "]"
    return str(value)


def settings(option, values):
    words = []
    for key, value in (values or {}).items():
        words += [option, f"{key}={setting_text(value)}"]
    return words


def options(**values):
    """per_node=4 becomes --per-node 4; None is left out, True is a flag."""
    words = []
    for name, value in values.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, setting_text(value)]
    return words


def ask(words, progress=False, expect=(0,)):
    """Runs the command and returns what it prints. With `progress`, what it says meanwhile is shown as it comes."""
    with subprocess.Popen([command(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True) as process:
        said = []

        def listen():
            for line in process.stderr:
                said.append(line)
                if progress:
                    sys.stderr.write(line)

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            out = process.stdout.read()
            code = process.wait()
        except BaseException:  # as by Ctrl-C: no command is left behind
            process.terminate()
            raise
        finally:
            listener.join()
    if code not in expect:
        raise WeftError("".join(said).strip() or f"weft {words[0]} ended with code {code}", code)
    return out


def ask_json(words, progress=False, expect=(0,)):
    return json.loads(ask(words, progress, expect))
