"""What a figure was measured on: printed above every table, because a figure without it says nothing."""

from __future__ import annotations

import os
import platform
import re
import time
from pathlib import Path

from msgspec import Struct


class Machine(Struct, frozen=True):
    """`load` is /proc/loadavg before the run: what else the machine was doing."""

    date: str
    cpu: str
    cores: int
    python: str
    load: str

    def __str__(self) -> str:
        what = f"{self.cpu}, {self.cores} cores, Python {self.python}"
        return f"{self.date}  {what}; load before the run {self.load}"


def machine() -> Machine:
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return Machine(
        date=time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        cpu=cpu.group(1) if cpu else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        load=Path("/proc/loadavg").read_text().rsplit(" ", 2)[0],
    )
