"""Drives the window with real events: starts it under Xvfb and openbox, finds things by name in the state file that
the window keeps (trainyard-desktop --state FILE), clicks and types with xdotool, and counts clicks and seconds.

    with Desk("build/dev/bin/trainyard-desktop") as desk:
        desk.click("Open a config")
        desk.dialog("Open")
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


class Missed(Exception):
    """Something that was waited for did not happen; the message says what was there instead."""


def free_display():
    for number in range(90, 990):
        if not os.path.exists(f"/tmp/.X{number}-lock") and not os.path.exists(f"/tmp/.X11-unix/X{number}"):
            return f":{number}"
    raise Missed("no display is free")


class Desk:
    def __init__(self, program, arguments=(), size=(1600, 1000), patience=None):
        self.program, self.arguments, self.size = str(program), list(arguments), size
        self.patience = patience or float(os.environ.get("PATIENCE", 60))
        self.clicks = self.keys = 0
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="desk-"))
        self.state_file = self.work / "state.json"
        self.processes = []

    def __enter__(self):
        display = free_display()
        runtime = self.work / "runtime"
        runtime.mkdir(mode=0o700)
        self.environment = dict(os.environ, DISPLAY=display, XDG_RUNTIME_DIR=str(runtime), HOME=str(self.work),
                                XDG_CONFIG_HOME=str(self.work / "config"), QT_QPA_PLATFORM="xcb")
        try:
            width, height = self.size
            self.start("Xvfb", display, "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp")
            self.until(lambda: os.path.exists(f"/tmp/.X11-unix/X{display[1:]}"), "a display")
            self.start("openbox")
            self.until(self.managed, "a window manager")
            self.begin = time.monotonic()
            self.start(self.program, "--fresh", "--size", f"{width}x{height - 40}", "--state", str(self.state_file),
                       *self.arguments)
            self.until(self.activated, "the window to have the keyboard")
        except BaseException:
            self.__exit__()
            raise
        return self

    def managed(self):
        # One that came before the display took connections has left again.
        if self.processes[-1].poll() is not None:
            self.start("openbox")
        return self.xdotool("get_desktop", check=False).returncode == 0

    def activated(self):
        state = self.state()
        if state is not None and not state["active"]:
            self.xdotool("search", "--onlyvisible", "--name", "Trainyard", "windowactivate", "--sync", check=False)
        return state is not None and state["active"]

    def __exit__(self, error=None, *_):
        # What was there instead, for whoever mends it: STUCK=FILE.png.
        if error is not None and "STUCK" in os.environ:
            self.picture(os.environ["STUCK"])
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def start(self, *words):
        self.processes.append(subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL))

    def xdotool(self, *words, check=True):
        return subprocess.run(["xdotool", *map(str, words)], env=self.environment, check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def until(self, happened, what):
        end = time.monotonic() + self.patience
        while not happened():
            if time.monotonic() > end:
                raise Missed(f"waited {self.patience:g} s for {what}")
            time.sleep(0.02)

    def seconds(self):
        return time.monotonic() - self.begin

    def state(self):
        """What the window shows now; None before it has shown anything."""
        try:
            return json.loads(self.state_file.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def wait(self, wanted, what="the window", patience=None):
        """The first state of which it is so."""
        end = time.monotonic() + (patience or self.patience)
        while True:
            state = self.state()
            if state is not None and wanted(state):
                return state
            if time.monotonic() > end:
                seen = {key: value for key, value in (state or {}).items() if key != "widgets"}
                raise Missed(f"waited for {what}; the window says {json.dumps(seen)[:1500]}")
            time.sleep(0.02)

    def find(self, name, kind=None):
        """Where the first thing of that name (or button of that text) is; a name may be given by its beginning with a '*' at the end."""
        def named(entry):
            names = [entry["name"]] + ([entry.get("text")] if entry["kind"].endswith("Button") else [])
            same = entry["name"].startswith(name[:-1]) if name.endswith("*") else name in names
            return same and (kind is None or entry["kind"] == kind) and entry["enabled"]

        state = self.wait(lambda s: any(map(named, s["widgets"])), f'"{name}"')
        return next(filter(named, state["widgets"]))

    def scroll_to(self, name, over, kind=None):
        """Turns the wheel over a place until the thing of that name is in sight."""
        self.xdotool("mousemove", "--sync", *over)
        for _ in range(250):
            found = self.find(name, kind)
            if not found["seen"]:
                self.xdotool("click", 5)
                time.sleep(0.06)
                continue
            time.sleep(0.3)  # a page that is just filled grows once more
            if found == self.find(name, kind):
                return
        raise Missed(f'"{name}" does not come into sight')

    def click(self, name, kind=None):
        """What a press before has set off may still move it: a person, too, waits until it stands still."""
        def stands(state):
            before = self.find(name, kind)
            time.sleep(0.1)
            return before["seen"] and before == self.find(name, kind) and self.state()["settled"]

        self.wait(stands, f'"{name}" in sight')
        x, y, width, height = self.find(name, kind)["rect"]
        self.click_at(x + width // 2, y + height // 2)

    def dialog(self, title):
        """Waits until the dialog is there and has the keyboard."""
        return self.wait(lambda s: s["dialog"] == title and s["focus"] is not None, f'the dialog "{title}"')

    def click_at(self, x, y):
        self.xdotool("mousemove", "--sync", x, y)
        self.xdotool("click", 1)
        self.clicks += 1

    def point(self, name, across=0.5, down=0.5, kind=None):
        """A place within the thing of that name, as shares of its sides."""
        x, y, width, height = self.find(name, kind)["rect"]
        return round(x + across * width), round(y + down * height)

    def text(self, name, kind=None):
        """What the thing says; a canvas says what assistive tools are told."""
        return self.find(name, kind).get("text", "")

    def says(self, name, words, patience=None):
        """The state in which a thing of that name has the words in its text."""
        return self.wait(lambda s: any(entry["name"] == name and words in entry.get("text", "")
                                       for entry in s["widgets"]), f'"{words}" in "{name}"', patience)

    def drag(self, start, end, steps=8):
        self.xdotool("mousemove", "--sync", *start, "mousedown", 1)
        for i in range(1, steps + 1):
            self.xdotool("mousemove", "--sync", *(round(a + (b - a) * i / steps) for a, b in zip(start, end)))
            time.sleep(0.016)
        self.xdotool("mouseup", 1)
        self.clicks += 1

    def settled(self, patience=None):
        return self.wait(lambda s: s["settled"] and not s["stale"], "the window to settle", patience)

    def key(self, *keys):
        self.xdotool("key", *keys)
        self.keys += len(keys)

    def type(self, text):
        self.xdotool("type", "--delay", 5, text)
        self.keys += len(text)

    def choose_file(self, path):
        """Types the path into the dialog for files that is open, and opens it; the moment of the key that did."""
        def typed(state):
            return any(entry.get("text") == str(path) for entry in state["widgets"])

        self.type(str(path))
        self.wait(typed, f"{path} in the dialog")
        for _ in range(3):  # the first Return may only close the list of completions
            begin = time.monotonic()
            self.key("Return")
            try:
                self.wait(lambda s: s["dialog"] == "", "the dialog to close", patience=2)
                return begin
            except Missed:
                continue
        raise Missed(f"the dialog stays open with {path}")

    def picture(self, file):
        """The whole screen as PNG, for people to look at."""
        subprocess.run(["import", "-window", "root", str(file)], env=self.environment, check=True)


def tell(name, passed, text):
    """One line of a story; False makes it fail."""
    print(f"{'ok  ' if passed else 'MISS'} {name}: {text}", flush=True)
    return passed


def finish(results):
    sys.exit(0 if all(results) else 1)
