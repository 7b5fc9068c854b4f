"""Measures how often kazoo's Lock changes hands: `python3 handover.py HOST:PORT [SECONDS]`.

Each contender has a thread and a session of its own, and acquires and releases the lock in a loop. Prints the grants
per second of all contenders together. SECONDS is the time of each measurement, 10 if it is missing.
"""

import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient


def contend(client, path, end):
    """Returns the number of grants before the end."""
    lock = client.Lock(path)
    grants = 0
    while True:
        lock.acquire()
        is_over = time.perf_counter() >= end
        lock.release()
        if is_over:
            return grants
        grants += 1


def main():
    server = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:2181"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    root = f"/handover-{uuid.uuid4().hex}"
    print("contenders    per second")
    for contenders in (2, 8):
        path = f"{root}/lock-{contenders}"
        clients = [KazooClient(hosts=server) for _ in range(contenders)]
        for client in clients:
            client.start()
        clients[0].ensure_path(path)
        end = time.perf_counter() + seconds
        with ThreadPoolExecutor(contenders) as threads:
            programs = [threads.submit(contend, client, path, end) for client in clients]
            grants = sum(program.result() for program in programs)
        print(f"{contenders:10} {grants / seconds:13.0f}", flush=True)
        for client in clients:
            client.stop()
            client.close()


if __name__ == "__main__":
    main()
