"""Starts a double of a paid service on a free port of this machine.

    DOUBLE_KEY=… double.py fal --model cube.glb --ledger L --control C --port-file P [--hold FOLDER] [--tls CERT KEY]

With --tls it also listens as a proxy (port in P.proxy): whatever name is asked for, this double
answers, with the certificate that was given. So clients that insist on https and on real host
names can be tried unchanged.
"""

import argparse
import os
import socket
import ssl
import threading
import time

from base import Handler, Server
from fal import Fal
from others import Meshy, Replicate, Tripo

SERVICES = {double.service: double for double in (Fal, Tripo, Meshy, Replicate)}


def tunnel(listener, target):
    """Answers CONNECT to any name by a connection to `target`."""

    def pump(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve(client):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        inner = socket.create_connection(("127.0.0.1", target))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=pump, args=(client, inner), daemon=True).start()
        pump(inner, client)

    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def tell(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("service", choices=SERVICES)
    for name in ("model", "ledger", "control", "port-file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--hold", default="/nonexistent")
    parser.add_argument("--tls", nargs=2)
    parser.add_argument("--public", default="", help="the address it gives itself in answers")
    arguments = parser.parse_args()
    # Not in the process list: that is searched for it.
    arguments.key = os.environ["DOUBLE_KEY"]
    double = SERVICES[arguments.service](arguments)
    handler = type("Handler", (Handler,), {"double": double})
    server = Server(("127.0.0.1", 0), handler)
    double.base = arguments.public or f"http://127.0.0.1:{server.server_port}"
    if arguments.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*arguments.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        if not arguments.public:
            double.base = f"https://127.0.0.1:{server.server_port}"
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=tunnel, args=(listener, server.server_port), daemon=True).start()
        tell(arguments.port_file + ".proxy", str(listener.getsockname()[1]))

    def tick():
        while True:
            time.sleep(0.05)
            double.close_ended()

    threading.Thread(target=tick, daemon=True).start()
    tell(arguments.port_file, str(server.server_port))
    server.serve_forever()


main()
