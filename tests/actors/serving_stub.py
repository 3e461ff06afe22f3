"""A serving process in a few lines: answers every connection with its pid and its plan, as JSON.

`serving_stub.py fails` ends at once instead.
"""

import json
import os
import socket
import sys

from antiphon.actors.processes.fork_server import serving_plan
from antiphon.actors.processes.lifeline import end_with_launcher

if __name__ == "__main__":
    plan = serving_plan()
    if sys.argv[1:] == ["fails"]:
        sys.exit(7)
    end_with_launcher(plan.lifeline_fd, lambda: None)
    answer = json.dumps({"pid": os.getpid(), "stages": plan.stages, "settings": plan.settings})
    with socket.socket(fileno=plan.listen_fd) as listening:
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(answer.encode())
