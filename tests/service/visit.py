"""What an owner does first at a new server, with nothing but the standard library.

`python visit.py LINK FOLDER`: opens the one-time link, registers rows, has them anonymised, keeps
the file, its certificate and the key in a folder, and prints the job. It runs inside of a
container's root, where there are no tests.
"""

import http.client
import json
import pathlib
import sys
import time
from urllib.parse import urlencode, urlsplit


def main(link, folder):
    parts = urlsplit(link)
    server = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    headers = {"Origin": f"http://{parts.netloc}", "Sec-Fetch-Site": "same-origin"}

    def send(method, path, body=None, kind="application/json"):
        whole = {**headers, "Content-Type": kind} if body else headers
        server.request(method, path, body, whole)
        response = server.getresponse()
        return response, response.read()

    form = {"name": "Olga", "password": "a long password", "again": "a long password"}
    came, told = send("POST", parts.path, urlencode(form), "application/x-www-form-urlencoded")
    if came.status != 303:
        sys.exit(told.decode())
    headers["Cookie"] = came.headers["Set-Cookie"].partition(";")[0]
    rows = "age,town\n" + "".join(f"{20 + i % 5},t{i % 2}\n" for i in range(60))
    body = {"name": "rows", "source": rows, "owner": {"budget": {"budget": "1"}}}
    made, told = send("POST", "/api/v1/datasets", json.dumps(body))
    if made.status != 201:
        sys.exit(told.decode())
    wanted = {"promise": [{"definition": "KAnonymity", "k": 3}]}
    started, told = send("POST", "/api/v1/datasets/rows/releases", json.dumps(wanted))
    place = started.headers["Location"]
    for _ in range(600):
        told = json.loads(send("GET", place)[1])
        if told["state"] not in {"queued", "running"}:
            break
        time.sleep(0.5)
    print(json.dumps(told))
    kept = pathlib.Path(folder)
    kept.mkdir()
    id_ = (told["result"] or {}).get("release")
    for name, place in (
        ("release.csv", f"/api/v1/releases/{id_}/file"),
        ("certificate.json", f"/api/v1/releases/{id_}/certificate"),
        ("keys.json", "/.well-known/sfumato-keys.json"),
    ):
        (kept / name).write_bytes(send("GET", place)[1])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
