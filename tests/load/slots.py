# SPDX-License-Identifier: BSD-3-Clause
"""A service with so many slots, which finishes what it began whether or not anybody waits for it."""

import http.server
import queue
import threading
import time


class Slots(http.server.ThreadingHTTPServer):
    """Work waits in order of arrival; `service_s` says how long the n-th piece takes."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, slots, service_s):
        self.service_s = service_s
        self.lock = threading.Lock()
        self.now, self.peak, self.came = 0, 0, 0
        self.waiting = queue.SimpleQueue()
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        for _ in range(slots):
            threading.Thread(target=self.work, daemon=True).start()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()

    def work(self):
        while True:
            number, done = self.waiting.get()
            time.sleep(self.service_s(number))
            done.set()

    def handle_error(self, request, client_address):
        pass  # the client has gone, as clients do

    def wait(self):
        done = threading.Event()
        with self.lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
            self.waiting.put((self.came, done))
            self.came += 1
        done.wait()
        with self.lock:
            self.now -= 1


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.wait()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
