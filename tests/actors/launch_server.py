"""Runs a server with one echo stage and the stub as its serving process: `launch_server.py PORT DATA_DIR`.

More arguments are those of the stub.
"""

import sys
from pathlib import Path

from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.launcher import LaunchPlan, StagePlan, launch

if __name__ == "__main__":
    plan = LaunchPlan(
        port=int(sys.argv[1]),
        data_dir=Path(sys.argv[2]),
        stages=(StagePlan(name="echo", engine="echo", settings={"delay_ms": 0}),),
        settings={"greeting": "hello"},
        serve_argv=(sys.executable, str(Path(__file__).with_name("serving_stub.py")), *sys.argv[3:]),
    )
    try:
        sys.exit(launch(plan))
    except LaunchError as error:
        sys.exit(f"{error.code}: {error}")
