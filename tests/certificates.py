"""A certificate for this machine, as docs/tls.md says to make one."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

DOCUMENTED = Path(__file__).resolve().parent.parent / "docs" / "tls.md"


@dataclass(frozen=True)
class Files:
    certificate: Path
    key: Path

    @property
    def flags(self) -> tuple[str, ...]:
        return "--tls-certificate", str(self.certificate), "--tls-key", str(self.key)


def make(folder: Path) -> Files:
    """Run the documented command in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    found = re.search(r"^(openssl req .*?[^\\])$", DOCUMENTED.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    command = shlex.split(found.group(1).replace("\\\n", " "))
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return Files(folder / "localhost.crt", folder / "localhost.key")
