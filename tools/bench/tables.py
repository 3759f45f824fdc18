#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Turn the JSON of the benchmarks into the tables of Documentation/performance.rst.

    tables.py build/bench
"""

import json
import pathlib
import sys

# from here on hcomm means to be no slower than any peer
LARGE = 64 << 10


def size_text(size):
    for unit in ("", "K", "M", "G"):
        if size < 1024 or size % 1024:
            return f"{size} {unit}iB" if unit else f"{size} B"
        size //= 1024
    return f"{size} TiB"


def table(title, head, rows):
    widths = [max(len(str(row[i])) for row in [head] + rows)
              for i in range(len(head))]
    rule = "  ".join("=" * w for w in widths)

    def line(row):
        return "  ".join(str(c).rjust(w) for c, w in zip(row, widths))

    print(f"{title}\n{'-' * len(title)}\n\n{rule}\n{line(head)}\n{rule}")
    for row in rows:
        print(line(row))
    print(f"{rule}\n")


def allreduce(data):
    table(f"AllReduce, fp32 sum, {data['ranks']} ranks of one node, "
          f"against {data['mpi']}",
          ["size", "hcomm µs", "MPI µs", "hcomm GB/s", "MPI GB/s", "ratio"],
          [[size_text(r["size"]), f"{r['hcomm_us']:.1f}", f"{r['mpi_us']:.1f}",
            f"{r['hcomm_busbw']:.3f}", f"{r['mpi_busbw']:.3f}",
            f"{r['ratio']:.2f}"] for r in data["results"]])


def name_of(run):
    """As a peer is called, and in short."""
    if run["network"]:
        return (f"{run['mpi']} over {run['network']}",
                run["mpi"][0].lower() + run["network"][0].lower())
    return run["mpi"], run["mpi"][0].lower()


def better_peers(runs):
    """The cells of one table: the ratio against the better peer, and which it is.

    Each peer ran beside hcomm in a run of its own: the better one is that which
    left hcomm the smaller ratio, whatever the machine did between the runs.
    """
    cells = {}
    for run in runs:
        for r in run["results"]:
            key = (r["coll"], r["size"])
            cells[key] = min(cells.get(key, (float("inf"), None)),
                             (r["ratio"], name_of(run)))
    return cells


def peers(where, runs):
    """One row a size, one column a collective; returns its cells."""
    cells = better_peers(runs)
    colls = list(dict.fromkeys(r["coll"] for run in runs for r in run["results"]))

    def text(coll, size):
        if (coll, size) not in cells:
            return ""
        ratio, (_, short) = cells[coll, size]
        return f"{ratio:.2f} {short}"

    names = " or ".join(f"{name} ({short})" for name, short in map(name_of, runs))
    table(f"All collectives, fp32, {where}: time of the better of {names} "
          "over that of hcomm", ["size"] + colls,
          [[size_text(size)] + [text(coll, size) for coll in colls]
           for size in sorted({size for _, size in cells})])
    return cells


def all_peers(directory):
    """The tables of all numbers of ranks and nodes, and what hcomm loses in them."""
    rows, found = [], 0
    for kind, count, where in (("peers", "ranks", "{} ranks of one node"),
                               ("nodes", "nodes", "{} nodes with one rank each")):
        runs = {}
        for path in sorted(pathlib.Path(directory).glob(f"{kind}-*.json")):
            data = json.loads(path.read_text())
            runs.setdefault(data[count], []).append(data)
        for n in sorted(runs):
            found += len(runs[n])
            rows += [[coll, where.format(n), size_text(size), ratio, name]
                     for (coll, size), (ratio, (name, _))
                     in peers(where.format(n), runs[n]).items()
                     if size >= LARGE and coll != "barrier"]
    losses = sorted((row for row in rows if row[3] < 1), key=lambda row: row[3])
    title = (f"Slower than the better peer at {size_text(LARGE)} and above: "
             f"{len(losses)} of {len(rows)}")
    if losses:
        table(title, ["collective", "where", "size", "ratio", "peer"],
              [row[:3] + [f"{row[3]:.2f}", row[4]] for row in losses])
    elif rows:
        print(f"{title}\n{'-' * len(title)}\n")
    return found


def fabric(data):
    table("Two nodes over Soft-RoCE, against ib_write_bw",
          ["size", "write MB/s", "oneway MB/s", "ratio", "write both MB/s",
           "allreduce MB/s", "ratio"],
          [[size_text(r["size"]), f"{r['ib_write_bw']:.1f}",
            f"{r['oneway']:.1f}", f"{r['oneway'] / r['ib_write_bw']:.2f}",
            f"{r['ib_write_bw_both']:.1f}", f"{r['allreduce']:.1f}",
            f"{2 * r['allreduce'] / r['ib_write_bw_both']:.2f}"]
           for r in data["results"]])


def build(data):
    table("Building a rank's program of a ring AllReduce",
          ["ranks", "size", "steps", "median ms", "worst ms"],
          [[data["ranks"], size_text(data["bytes"]), data["steps"],
            f"{data['median_ms']:.2f}", f"{data['worst_ms']:.2f}"]])


def launch(data):
    table("What a launch costs the kernel",
          ["launches", "ioctl calls", "other calls", "allocations by hcomm"],
          [[data["launches"], data["ioctls"], data["other_calls"],
            data["module_allocs"]]])


def idle(data):
    table(f"{data['communicators']} idle communicators of {data['ranks']} "
          f"ranks, {data['seconds']} s",
          ["", "CPU ms, all threads", "context switches", "interrupts",
           "module ran"],
          [["with them", f"{data['cpu_ms']:.1f}", f"{data['switches']:.0f}",
            f"{data['interrupts']:.0f}", data["ran"]],
           ["without", f"{data['cpu_ms_without']:.1f}",
            f"{data['switches_without']:.0f}",
            f"{data['interrupts_without']:.0f}", ""]])


def main(directory):
    parts = {"allreduce-*": allreduce, "fabric": fabric, "launch": launch,
             "idle": idle, "build": build}
    found = all_peers(directory)
    for name, show in parts.items():
        for path in sorted(pathlib.Path(directory).glob(f"{name}.json")):
            show(json.loads(path.read_text()))
            found += 1
    if not found:
        sys.exit(f"tables: no results in {directory}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tables.py DIRECTORY")
    main(sys.argv[1])
