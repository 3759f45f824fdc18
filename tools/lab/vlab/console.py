# SPDX-License-Identifier: GPL-2.0-only
"""Find kernel complaints in a console log."""

import re

# Lines that open a report. Fault injection announces itself with a stack
# trace that is no complaint, so traces alone do not count.
COMPLAINT = re.compile(
    r"""(
      \bBUG:\s | \bBUG\s\S+\s\( | \bkernel\ BUG\ at
    | \bWARNING:\s | \bOops\b | \bKernel\ panic\b
    | general\ protection\ fault | \bUnable\ to\ handle\b
    | \bKASAN:\s | \bUBSAN:\s | \bKFENCE:\s | \bODEBUG:\s | \bDMA-API:.*(error|warn|leak)
    | \brefcount_t:\s | list_(add|del)\ corruption
    | \bINFO:\ (task\ .*blocked|possible|suspicious|inconsistent|trying\ to\ register|rcu)
    | \brcu:\ INFO: | \bsoft\ lockup\b | \bworkqueue\ lockup\b
    | \bkmemleak:\ \d+\ new\ suspected
    | \binvalid\ opcode: | \bdouble\ fault: | \bbad\ page\ state\b
    | \bpage\ dumped\ because\b | segfault\ at\ .*\ in\ lab-agent
    )""", re.VERBOSE | re.IGNORECASE)

MAX_LINES = 80


def clean(raw):
    text = raw.decode(errors="replace").replace("\r", "")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def read(path, offset=0):
    try:
        with open(path, "rb") as log:
            log.seek(offset)
            return clean(log.read())
    except FileNotFoundError:
        return ""


def size(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def tail(path, lines=30):
    return "\n".join(read(path).splitlines()[-lines:])


def ending(path, lines=30):
    """The end of a log; if it is a panic, rather what led to that."""
    text = read(path).splitlines()
    for i, line in enumerate(text):
        if "Kernel panic" in line:
            return "\n".join(text[max(0, i - lines):i + 12])
    return "\n".join(text[-lines:])


def complaints(path, offset=0):
    """Each report as a list of lines: its opening line and what follows it."""
    found = []
    lines = read(path, offset).splitlines()
    i = 0
    while i < len(lines):
        if not COMPLAINT.search(lines[i]):
            i += 1
            continue
        report = [lines[i]]
        i += 1
        while i < len(lines) and len(report) < MAX_LINES:
            report.append(lines[i])
            i += 1
            if re.search(r"---\[ end ", report[-1]):
                break
            # A report without an end marker stops where its trace stops.
            if re.search(r"</TASK>", report[-1]):
                break
        found.append(report)
    return found
