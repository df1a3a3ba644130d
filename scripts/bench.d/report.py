"""Turns figures into a page, a table of bars and a plot."""

import datetime
import math
import os
import platform
import subprocess
from pathlib import Path

INTRO = """# Benchmarks

Made by `scripts/bench`; run it again to remake this page. Everything is measured side by side in one
go on one machine, {repeat}, interleaved; the figures are medians. Other machines give other
figures, so the ratios are what counts. What was done to get here, and what is left, is in
[performance.md](performance.md).

![Cost of a job against the number of jobs](benchmarks.svg)
"""


def machine(tools, peers, missing, folder):
    """Collects what the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    disk = subprocess.run(["df", "--output=fstype", str(folder)], capture_output=True, text=True)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory, 1),
        "kernel": platform.release(),
        "file_system": (disk.stdout.split() or ["?"])[-1],
        "rustc": text_of(["rustc", "--version"]),
        "archi3d": text_of([str(tools.binary), "--version"]),
        "peers": {peer.name: peer.version for peer in peers},
        "left_out": missing,
        "load_average": round(os.getloadavg()[2], 1),
    }


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def text_of(command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def bars(results):
    """Lists what was promised, what was measured, and whether it was kept."""
    found = []

    def bar(measure, value, limit, unit, note=""):
        found.append({"measure": measure, "value": value, "limit": limit, "unit": unit,
                      "kept": value <= limit, "note": note})

    for count, tools in last(results.get("processes")):
        for peer, limit in [("xargs -P2", 1.5), ("GNU parallel --joblog", 0.5)]:
            if peer in tools:
                ratio = tools["archi3d"]["seconds"] / tools[peer]["seconds"]
                bar(f"a program a job, {count:,} jobs, 2 at a time", ratio, limit, f"× {peer}")
    runs = results.get("in_process") or {}
    middle = 10_000 if 10_000 in runs else max(runs, default=None)
    if middle:
        ratio = runs[middle]["dry run"]["seconds"] / runs[middle]["floor"]["seconds"]
        least = runs[middle]["dry run"]["seconds"] / runs[middle]["least"]["seconds"]
        bar(f"dry run, {middle:,} jobs, 2 at a time", ratio, 1.5, "× the same file operations alone",
            f"{least:.2f} × those without the looks")
    for count, tools in last(runs):
        cost = tools["dry run"]["ms_per_job"]
        own_floor = tools["floor"]["ms_per_job"] / runs[1_000]["floor"]["ms_per_job"]
        bar(f"cost of a job at {count:,} jobs", cost / runs[1_000]["dry run"]["ms_per_job"], 1.2,
            "× its cost at 1,000", f"the file operations alone: {own_floor:.2f} ×")
        bar(f"peak memory, {count:,} jobs", tools["dry run"]["rss_mb"], 250, "MB")
    foreign = list((results.get("foreign") or {}).values())
    if foreign:
        none, most = foreign[0], foreign[-1]
        file = most["table"]["read"] + most["table"]["write"]
        bar(f"1,000 jobs inside {most['rows']:,} rows of other runs",
            (most["seconds"] - none["seconds"]) / file, 4,
            "× reading and writing the table, more than without them")
    for count, commands in (results.get("done") or {}).items():
        small = count <= 10_000
        bar(f"resume, {count:,} jobs done", commands["resume"]["seconds"], 0.15 if small else 1, "s")
    for count, commands in last(results.get("done")):
        bar(f"`run status`, {count:,} rows", commands["run status"]["seconds"], 0.15, "s")
    for count, fold in last(results.get("folds")):
        bar(f"one patch into {count:,} rows, durable", fold["fold"] / fold["write"], 1.5,
            "× writing and syncing such a file")
    if "start" in results:
        bar("start-up (`archi3d --version`)", results["start"]["seconds"] * 1000, 5, "ms")
    bar("release program", results["binary_mb"], 15, "MB")
    return found


def last(by_count):
    """Returns the entry of the largest size, if there is one."""
    return [max(by_count.items())] if by_count else []


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def figure(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 1 else f"{value:.2f}"


def markdown(results, options):
    repeat = "once" if options.repeat == 1 else f"{options.repeat} times over"
    parts = [INTRO.format(repeat=repeat)]
    parts.append("## What was promised\n")
    parts.append(table(
        ["measure", "bar", "measured", "kept"],
        [[one["measure"], f"{one['limit']} {one['unit']}",
          figure(one["value"]) + (f" ({one['note']})" if one["note"] else ""),
          "yes" if one["kept"] else "**no**"]
         for one in results["bars"]],
    ))
    parts.append(of_processes(results))
    parts.append(of_in_process(results))
    parts.append(of_foreign(results))
    parts.append(of_done(results))
    parts.append(of_folds(results))
    parts.append(of_machine(results["machine"]))
    return "\n".join(part for part in parts if part)


def cost_row(name, one, ours):
    return [name, figure(one["ms_per_job"]), figure(one["jobs_per_s"]), figure(one["rss_mb"]),
            figure(one["seconds"] / ours["seconds"])]


COST = ["ms a job", "jobs/s", "peak RSS (MB)", "time, archi3d = 1"]


def of_processes(results):
    text = ""
    for count, tools in (results.get("processes") or {}).items():
        text += f"### {count:,} jobs\n\n" + table(
            ["tool", *COST], [cost_row(name, one, tools["archi3d"]) for name, one in tools.items()]
        ) + "\n"
    return text and (
        "## (a) A program for every job, two at a time\n\nThe program makes a small model. xargs keeps "
        "nothing; the others note that a job is done; archi3d keeps journal, marker, registry row, log "
        "and hashes, and no result can be lost.\n\n" + text
    )


FLOORS = {"floor": "the file operations alone", "least": "those without the looks"}


def of_in_process(results):
    rows = []
    for count, tools in (results.get("in_process") or {}).items():
        for name, one in tools.items():
            label = FLOORS.get(name, name)
            rows.append([f"{count:,}", label, *cost_row(name, one, tools["dry run"])[1:]])
    return rows and (
        "## (b) Jobs without a program, and (f) what the disk charges\n\nThe file operations alone are those "
        "of a dry run in a loop on two threads, with nothing decided, hashed or put into words: every file, "
        "folder, lock, look, append, rename and shared sync, and the results read back "
        "(`examples/bench_floor.rs`). Without the looks they are what could not be spared even if no other "
        "program ever came near the folder.\n\n"
        + table(["jobs", "what", *COST[:3], "time, dry run = 1"], rows)
    )


def of_foreign(results):
    rows = [
        [f"{one['rows']:,}", figure(one["seconds"]), figure(one["rss_mb"]),
         figure(one["table"]["bytes"] / 1e6), figure(one["table"]["read"]), figure(one["table"]["write"])]
        for one in (results.get("foreign") or {}).values()
    ]
    return rows and "## (c) A run of 1,000 jobs inside other runs' rows\n\n" + table(
        ["foreign rows", "run (s)", "peak RSS (MB)", "table (MB)", "reading it (s)", "writing and syncing it (s)"],
        rows,
    )


def of_done(results):
    rows = [
        [f"{name}, {count:,} jobs done", figure(one["seconds"]), figure(one["rss_mb"])]
        for count, commands in (results.get("done") or {}).items()
        for name, one in commands.items()
    ]
    if "start" in results:
        rows.append(["`archi3d --version`", figure(results["start"]["seconds"]), figure(results["start"]["rss_mb"])])
    return rows and "## (d) Nothing to do\n\n" + table(["what", "s", "peak RSS (MB)"], rows)


def of_folds(results):
    rows = [
        [f"{count:,}", figure(one["bytes"] / 1e6), figure(1000 * one["read_and_index"]),
         figure(1000 * one["fold"]), figure(1000 * one["write"]), figure(one["fold"] / one["write"])]
        for count, one in (results.get("folds") or {}).items()
    ]
    return rows and "## (e) One patch into the table, durable\n\n" + table(
        ["rows", "table (MB)", "read and index (ms)", "patch, write, sync (ms)", "write, sync alone (ms)", "ratio"],
        rows,
    )


def of_machine(facts):
    lines = [
        f"* {facts['date']}, {facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB",
        f"* Linux {facts['kernel']}, {facts['file_system']}; load average at the end {facts['load_average']}",
        f"* {facts['archi3d']}, {facts['rustc']}",
        *(f"* {version}" for version in facts["peers"].values()),
        *(f"* left out: {reason}" for reason in facts["left_out"]),
    ]
    return "## The machine\n\n" + "\n".join(lines) + "\n"


COLOURS = ["#1b6ca8", "#7a7a7a", "#2e8b57", "#b5542d", "#8e44ad", "#c09a1a", "#a83232"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 210, 30, 55


def plot(results):
    """Draws the cost of a job against the number of jobs, both on logarithmic scales."""
    lines = {}
    for count, tools in (results.get("in_process") or {}).items():
        for name, one in tools.items():
            label = FLOORS.get(name) or {"dry run": "archi3d, dry run", "mock": "archi3d, mock"}[name]
            lines.setdefault(label, []).append((count, one["ms_per_job"]))
    for count, tools in (results.get("processes") or {}).items():
        for name, one in tools.items():
            label = "archi3d, a program a job" if name == "archi3d" else name
            lines.setdefault(label, []).append((count, one["ms_per_job"]))
    points = [point for line in lines.values() for point in line]
    scale = Scale(points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *scale.axes(),
    ]
    labels = []
    for number, (label, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        where = " ".join(f"{scale.x(count):.1f},{scale.y(cost):.1f}" for count, cost in line)
        dashes = ' stroke-dasharray="5 4"' if label in FLOORS.values() else ""
        parts.append(f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        for count, cost in line:
            parts.append(f'<circle cx="{scale.x(count):.1f}" cy="{scale.y(cost):.1f}" r="3" fill="{colour}"/>')
        labels.append((scale.y(line[-1][1]), colour, f"{label}: {figure(line[-1][1])} ms"))
    above = 0.0
    for y, colour, label in sorted(labels):
        above = max(y, above + 16)
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{above + 4:.1f}" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])


class Scale:
    """Where a point of the plot lies."""

    def __init__(self, points):
        counts, costs = [count for count, _ in points], [cost for _, cost in points]
        self.first, self.last = math.log10(min(counts)), math.log10(max(counts))
        self.low = math.floor(math.log10(min(costs)) * 2) / 2
        self.high = math.ceil(math.log10(max(costs)) * 2) / 2

    def x(self, count):
        share = (math.log10(count) - self.first) / ((self.last - self.first) or 1)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, cost):
        share = (math.log10(cost) - self.low) / ((self.high - self.low) or 1)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def axes(self):
        for exponent in range(math.ceil(self.first), math.floor(self.last) + 1):
            x = self.x(10**exponent)
            yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>'
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10**exponent:,}</text>'
        for cost in [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100]:
            if self.low <= math.log10(cost) <= self.high:
                y = self.y(cost)
                yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e4e4e4"/>'
                yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{cost:g}</text>'
        middle = (LEFT + WIDTH - RIGHT) / 2
        yield f'<text x="{middle}" y="{HEIGHT - 15}" text-anchor="middle">jobs</text>'
        yield f'<text x="{LEFT - 8}" y="{TOP - 12}" text-anchor="end">ms a job</text>'
