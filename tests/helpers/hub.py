"""A model hub on this machine, which speaks as much of the protocol of Hugging Face as a download needs."""

import json
import re
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "c" * 40


class Hub:
    """The networks by their names, and a gate in the middle of their weights.

    Parameters
    ----------
    networks : dict of str to Path

    """

    def __init__(self, networks):
        self.networks = {name: Path(folder) for name, folder in networks.items()}
        self.go_on = threading.Event()
        self.sent = []

    def answer(self, path):
        """Return what is at an address: its headers and its bytes; None if there is nothing."""
        if listed := re.fullmatch("/api/models/(.+?)", path):
            if (folder := self.networks.get(listed[1])) is not None:
                files = [{"rfilename": one.name, "size": one.stat().st_size} for one in folder.iterdir()]
                return {}, json.dumps({"id": listed[1], "sha": COMMIT, "siblings": files}).encode()
        elif wanted := re.fullmatch(f"/(.+)/resolve/(?:main|{COMMIT})/(.+)", path):
            folder = self.networks.get(wanted[1])
            if folder is not None and (file := folder / wanted[2]).is_file():
                return {"ETag": f'"{file.name}"'}, file.read_bytes()
        return None


@contextmanager
def serving_hub(networks, cache, monkeypatch):
    """Let the hub's library find these networks, and keep them in a folder of the test."""
    hub = Hub(networks)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.partition("?")[0]
            found = hub.answer(path)
            self.send_response(404 if found is None else 200)
            headers, content = found or ({"X-Error-Code": "EntryNotFound"}, b"")
            for name, value in {"X-Repo-Commit": COMMIT, "Content-Length": len(content), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            if self.command == "HEAD":
                return
            hub.sent.append(path.rpartition("/")[2])
            half = len(content) // 2
            with suppress(OSError):  # the download was cancelled
                self.wfile.write(content[:half])
                if path.endswith(".safetensors"):
                    hub.go_on.wait(60)
                self.wfile.write(content[half:])

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    try:
        yield hub
    finally:
        hub.go_on.set()
        server.shutdown()
        server.server_close()
