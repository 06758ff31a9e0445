"""What an owner does first at a new server, with nothing but the standard library.

`python visit.py LINK`: opens the one-time link, registers rows, has them anonymised, and prints the
state of the job. It runs inside of a container's root, where there are no tests.
"""

import http.client
import json
import sys
import time
from urllib.parse import urlencode, urlsplit


def main(link):
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


if __name__ == "__main__":
    main(sys.argv[1])
