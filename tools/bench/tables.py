#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Turn the JSON of the benchmarks into the tables of Documentation/performance.rst.

    tables.py build/bench
"""

import json
import pathlib
import sys


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


def peers(data):
    """One row a size, one column a collective: how many times faster hcomm is."""
    colls = list(dict.fromkeys(r["coll"] for r in data["results"]))
    sizes = sorted({r["size"] for r in data["results"]})
    ratio = {(r["coll"], r["size"]): f"{r['ratio']:.2f}" for r in data["results"]}
    table(f"All collectives, fp32, {data['ranks']} ranks of one node: times of "
          f"{data['mpi']} over those of hcomm", ["size"] + colls,
          [[size_text(size)] + [ratio.get((coll, size), "") for coll in colls]
           for size in sizes])


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
    parts = {"allreduce": allreduce, "fabric": fabric, "launch": launch,
             "idle": idle, "build": build}
    found = 0
    for name, show in parts.items():
        path = pathlib.Path(directory) / f"{name}.json"
        if path.exists():
            show(json.loads(path.read_text()))
            found += 1
    for path in sorted(pathlib.Path(directory).glob("peers-*.json")):
        peers(json.loads(path.read_text()))
        found += 1
    if not found:
        sys.exit(f"tables: no results in {directory}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tables.py DIRECTORY")
    main(sys.argv[1])
