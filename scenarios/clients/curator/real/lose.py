#!/usr/bin/env python3
"""Loses chosen creates between a client and a real server: lose.py PORT SERVER_PORT NAME RULE... [--refuse SECONDS]

It listens at PORT and forwards ZooKeeper's protocol to SERVER_PORT, both on loopback. Creates whose path contains NAME are
counted, from 1. A rule is `2:never`, the connection ends before the server reads the second one, or `3:applied`, the server
carries the third one out and its reply is lost. After a loss, connections are refused for the given time.
"""
import argparse, socket, struct, threading, time

CREATES = (1, 15, 19, 21)  # create, create2, of containers, with a time to live

arguments = argparse.ArgumentParser()
arguments.add_argument("port", type=int)
arguments.add_argument("server_port", type=int)
arguments.add_argument("name")
arguments.add_argument("rules", nargs="+")
arguments.add_argument("--refuse", type=float, default=0)
arguments = arguments.parse_args()
rules = {int(number): outcome for number, outcome in (rule.split(":") for rule in arguments.rules)}
lock = threading.Lock()
count = 0
refused_until = 0


def whole(sock, length):
    data = b""
    while len(data) < length:
        part = sock.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def frame(sock):
    head = whole(sock, 4)
    return head + whole(sock, struct.unpack(">i", head)[0])


def answers(server, client, is_lost):
    try:
        while True:
            data = frame(server)
            if is_lost.is_set():
                break
            client.sendall(data)
    except (EOFError, OSError):
        pass
    client.close()


def outcome(data):
    """What becomes of a request, by the rules."""
    global count, refused_until
    if struct.unpack(">i", data[8:12])[0] not in CREATES or arguments.name.encode() not in data:
        return None
    with lock:
        count += 1
        found = rules.get(count)
        print(f"create {count}: {found or 'passes'}", flush=True)
        if found:
            refused_until = time.monotonic() + arguments.refuse
        return found


def serve(client):
    if time.monotonic() < refused_until:
        return client.close()
    server = socket.create_connection(("127.0.0.1", arguments.server_port))
    is_lost = threading.Event()
    threading.Thread(target=answers, args=(server, client, is_lost), daemon=True).start()
    try:
        server.sendall(frame(client))
        while True:
            data = frame(client)
            found = outcome(data)
            if found == "never":
                break
            if found == "applied":
                is_lost.set()
            server.sendall(data)
    except (EOFError, OSError):
        pass
    for sock in (client, server):
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        sock.close()


listener = socket.create_server(("127.0.0.1", arguments.port))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
