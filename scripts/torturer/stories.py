"""What happens to programs, disks and tables, told one by one: each story sets a stage, does its harm at a
moment it waits for, lets a person do what the program advises, and asks for bytes and bills."""

import os
import re
import shlex
import shutil
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from . import bench, bills
from .stage import RESUME, Stage

# What asks a person to say that something may be bought again.
CONSENT = ("--resubmit-unknown", "--forget-requests", "--redo", "--only-status failed", "cost settle")


class Skipped(Exception):
    """The machine cannot do it; says why."""


class Story:
    """One harm. `tell` does it; judging is the same for all."""

    def __init__(self, name, tell, short=True):
        self.name, self.tell, self.short = name, tell, short


def torture(stories, short):
    """Tells stories, two at a time; returns the figures and what went wrong."""
    chosen = [story for story in stories if story.short or not short]
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(outcome, chosen))
    wrong = [line for _, lines in ended for line in lines]
    skipped = Counter(why for why, _ in ended if why)
    figures = {"stories": len(chosen) - sum(skipped.values())}
    figures |= {
        "lost": sum("LOST" in line for line in wrong),
        "bought again": sum("BOUGHT" in line for line in wrong),
        "over the cap": sum("OVER" in line for line in wrong),
        "failed": sum(bool(lines) for _, lines in ended),
    }
    if skipped:
        figures["not tried"] = dict(skipped)
    return figures, wrong


def outcome(story):
    """Returns why a story could not be told, and what was wrong at its end."""
    began = time.monotonic()
    try:
        wrong = story.tell()
    except Skipped as why:
        return str(why), []
    except Exception as error:  # A story that breaks off has proven nothing.
        text = traceback.format_exc(limit=-2) if not isinstance(error, RuntimeError) else str(error)
        wrong = [f"broke off: {text}"]
    if os.environ.get("TORTURE_VERBOSE"):
        print(f"  {story.name}: {len(wrong)} wrong ({time.monotonic() - began:.1f} s)", flush=True)
    return None, [f"{story.name}: {line}" for line in wrong]


class Scene(Stage):
    """A stage in a scratch folder, and the person in front of it."""

    def __init__(self, algos, on=None, **does):
        self.root = None if on else bench.scratch("story")
        if self.root:
            os.chmod(self.root, 0o755)
        super().__init__((on or self.root) / "ws", algos, **does)

    def __exit__(self, *how):
        super().__exit__(*how)
        if self.root:
            shutil.rmtree(self.root, ignore_errors=True)

    def mend(self, *options, ran=None):
        """Starts again as the program advises, never with consent to buy again; returns the last end."""
        advised = [] if ran is None else advice(ran.err)
        for words in advised:
            bench.run(words)
        for _ in range(2):
            ran = self.run(*RESUME, *options)
        return ran

    def judge(self, name, **how):
        self.end_all()
        wrong = bills.judge(self, **how)
        if wrong:
            wrong[0] += f" (kept in {bills.keep(self, wrong, name)})"
        return wrong


def advice(text):
    """Returns the commands in a text that a person may follow without consent to anything."""
    found = []
    for command in re.findall(r"archi3d ((?:run worker|doctor|consolidate|registry) [^\n`;]*)", text):
        if not any(words in command for words in CONSENT):
            try:
                found.append([word for word in shlex.split(command) if word])
            except ValueError:
                continue
    return found
