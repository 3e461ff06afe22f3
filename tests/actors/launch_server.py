"""Runs a server with one echo stage and the stub as its serving process: `launch_server.py PORT DATA_DIR`.

More arguments are those of the stub.
"""

import os
import sys
from pathlib import Path

from antiphon.actors.processes import service_manager
from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.fork_server import ForkServer
from antiphon.actors.processes.launcher import LaunchPlan, StagePlan, launch

if __name__ == "__main__":
    plan = LaunchPlan(
        port=int(sys.argv[1]),
        data_dir=Path(sys.argv[2]),
        stages=(StagePlan(name="echo", engine="echo", settings={"delay_ms": 0}),),
        settings={"greeting": "hello"},
    )
    stub = (sys.executable, str(Path(__file__).with_name("serving_stub.py")), *sys.argv[3:])
    inherited = {name: value for name, value in os.environ.items() if name != service_manager.VARIABLE}
    try:
        with ForkServer(inherited, stub) as forks:
            sys.exit(launch(plan, forks))
    except LaunchError as error:
        sys.exit(f"{error.code}: {error}")
