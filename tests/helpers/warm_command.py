"""The command ``opengcd`` without seconds of imports: each call is a fork of a process that has imported everything.

``python warm_command.py SOCKET`` is that process. The command, which stands before the real one in
``PATH``, sends its arguments, folder, environment and standard streams there, and ends with the status it gets back.
Commands that run on, as servers do, are the real ones, because a signal would not reach the fork.
"""

import array
import json
import os
import shutil
import socket
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from tests.helpers.places import ROOT

REAL = {"app", "demo", "review", "serve"}
IMPORTED = (
    "opengcd.recognizer",
    "opengcd.workspace",
    "opengcd.bench",
    "opengcd.adapt",
    "torch._dynamo",
    "transformers",
)
"""What takes long to import; the optimisers of torch import ``torch._dynamo``."""
CLIENT = """#!{python} -IS
import array, json, os, socket, sys
if not sys.argv[1:] or sys.argv[1] in {real}:
    os.execv({command!r}, [{command!r}, *sys.argv[1:]])
there = socket.socket(socket.AF_UNIX)
there.connect({address!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
there.sendmsg([len(call).to_bytes(4, "big")], [rights])
there.sendall(call)
status = there.recv(1)
os._exit(status[0] if status else 1)
"""


@contextmanager
def warm_command(folder, environment):
    """The folder of the command, to be put before others in ``PATH``; it works as long as the context lasts."""
    address, command = folder / "socket", folder / "opengcd"
    real = shutil.which("opengcd", path=str(Path(sys.executable).parent))
    text = CLIENT.format(python=sys.executable, real=sorted(REAL), command=real, address=str(address))
    command.write_text(text)
    command.chmod(0o700)
    running = [sys.executable, __file__, str(address)]
    pipes = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(running, cwd=ROOT, env=environment, **pipes) as process:
        process.stdout.readline()  # it listens
        try:
            yield folder
        finally:
            process.terminate()


def serve(address):
    """Fork for each call."""
    for name in IMPORTED:
        import_module(name)
    from opengcd.cli import main

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(16)
        print("ready", flush=True)
        while True:
            there, _ = listening.accept()
            with there:
                if os.fork() == 0:
                    with suppress(BaseException):
                        if os.fork() == 0:  # so that nobody has to wait for it
                            listening.close()
                            answer(there, main)
                    os._exit(0)
            os.wait()


def answer(there, main):
    """Run one command in this process, and send its status."""
    head, ancillary, _, _ = there.recvmsg(4, socket.CMSG_LEN(3 * 4))
    streams = array.array("i", ancillary[0][2])
    raw = b""
    while len(raw) < int.from_bytes(head, "big"):
        raw += there.recv(2**20)
    arguments, folder, environment = json.loads(raw)
    for own, stream in enumerate(streams):
        os.dup2(stream, own)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["opengcd", *arguments]
    status = 1
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    there.sendall(bytes([status]))


if __name__ == "__main__":
    serve(sys.argv[1])
