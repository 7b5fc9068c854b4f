"""Measures operations of kazoo on a server: `python3 speed.py HOST:PORT [SECONDS]`.

For each operation and each number of requests under way, prints the operations per second and the time of one (half of
them are faster, and 99 of 100). SECONDS is the time of each measurement, 3 if it is missing.
"""

import sys
import threading
import time
import uuid

from kazoo.client import KazooClient

DATA = b"x" * 100


def begin(client, root, kind, name):
    """Sends one request; returns its asynchronous result."""
    if kind == "create":
        return client.create_async(f"{root}/c-{name}", DATA)
    if kind == "get":
        return client.get_async(f"{root}/read")
    if kind == "set":
        return client.set_async(f"{root}/read", DATA)
    transaction = client.transaction()
    transaction.create(f"{root}/m-{name}", DATA)
    transaction.delete(f"{root}/m-{name}")
    return transaction.commit_async()


def measure(client, root, kind, under_way, seconds):
    """Returns the times of all operations, in seconds."""
    free = threading.Semaphore(under_way)
    times, failures = [], []

    def done(begun, result):
        times.append(time.perf_counter() - begun)
        error = result.exception
        if error is None and kind == "multi":
            # kazoo returns the errors of a transaction among its results.
            error = next((it for it in result.value if isinstance(it, Exception)), None)
        if error is not None:
            failures.append(error)
        free.release()

    end = time.perf_counter() + seconds
    number = 0
    while True:
        free.acquire()
        begun = time.perf_counter()
        if begun >= end:
            free.release()
            break
        result = begin(client, root, kind, f"{under_way}-{number}")
        result.rawlink(lambda result, begun=begun: done(begun, result))
        number += 1
    for _ in range(under_way):
        free.acquire()
    if failures:
        raise failures[0]
    return times


def spelled(seconds):
    """Spells a time with its unit."""
    if seconds >= 1:
        return f"{seconds:.1f}s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f}ms"
    return f"{seconds * 1e6:.1f}µs"


def main():
    server = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:2181"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3
    client = KazooClient(hosts=server)
    client.start()
    root = f"/speed-{uuid.uuid4().hex}"
    client.create(root)
    client.create(f"{root}/read", DATA)
    print("operation under way    per second        p50        p99")
    for kind in ("create", "get", "set", "multi"):
        for under_way in (1, 16, 256):
            times = sorted(measure(client, root, kind, under_way, seconds))
            at = [times[min(len(times) * part // 100, len(times) - 1)] for part in (50, 99)]
            rate = len(times) / seconds
            print(f"{kind:9} {under_way:9} {rate:13.0f} {spelled(at[0]):>10} {spelled(at[1]):>10}", flush=True)
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
