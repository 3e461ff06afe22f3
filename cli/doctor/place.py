"""Where the server would be: its address, its certificate, its data."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .finding import Finding

if TYPE_CHECKING:
    from antiphon.web.settings import Settings

SOON_S = 14 * 24 * 3600.0
REMOTE = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")
"""Kinds of file systems on which locks and writes mean other things (docs/reliability.md)."""
VOLATILE = ("tmpfs", "ramfs")


def address(settings: Settings) -> Finding:
    told = f"{settings.host} port {settings.port}"
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(found[0], found[1]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(found[4])
            probe.listen(1)
    except OSError as error:
        do = "stop what listens there, or choose another: --host, --port"
        return Finding("address", "fail", f"{told}: {error.strerror}", do)
    return Finding("address", "ok", f"{told} is free")


def certificate(settings: Settings) -> Finding:
    from antiphon.web import tls
    from antiphon.web.settings import LOOPBACK, SettingsError

    try:
        made = tls.context(settings)
    except SettingsError as error:
        return Finding("TLS", "fail", str(error), "docs/tls.md")
    if made is None:
        if settings.host in LOOPBACK:
            return Finding("TLS", "ok", "none, and only this machine is let in")
        told = f"none, and {settings.host} is reachable from outside: keys and voices travel in the open"
        return Finding("TLS", "warn", told, "give a certificate, or put a proxy before it: docs/tls.md")
    if tls.key_is_exposed(settings):
        told = f"everybody on this machine can read {settings.tls_key}"
        return Finding("TLS", "warn", told, f"chmod 600 {settings.tls_key}")
    return _expiry(made, settings.tls_certificate)


def _expiry(server: ssl.SSLContext, path: str) -> Finding:
    do = "renew it, and restart the server"
    try:
        until = _end_of(server, path)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        return Finding("TLS", "fail", f"{path}: clients will not take it: {reason}", do)
    told = f"{path}, until {time.strftime('%Y-%m-%d', time.gmtime(until))}"
    if until - time.time() < SOON_S:
        return Finding("TLS", "warn", told, do)
    return Finding("TLS", "ok", told)


def _end_of(server: ssl.SSLContext, path: str) -> float:
    """When the certificate ends, as a client that trusts just it is told. Raises ssl.SSLError where it is no
    more to be trusted."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    trusting.load_verify_locations(path)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(back, there)
    ends = (client, server.wrap_bio(there, back, server_side=True))
    for end in ends * 2:
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
    shown = client.getpeercert() or {}
    return ssl.cert_time_to_seconds(str(shown["notAfter"]))


def data(settings: Settings) -> Finding:
    folder = Path(settings.data).absolute()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        do = f"let this user write there (it is user {os.geteuid()} now), or choose another: --data"
        return Finding("data folder", "fail", f"{nearest} cannot be written", do)
    told = str(folder) if nearest == folder else f"{folder}, to be made"
    kind = _file_system(nearest)
    if kind in REMOTE:
        told += f": {kind} is a network file system, and its locks are not those of this machine"
        return Finding("data folder", "fail", told, "keep logs on a local disk: --data")
    if kind in VOLATILE:
        told += f": {kind} is memory, and gone when the machine is switched off"
        return Finding("data folder", "warn", told, "keep logs on a disk: --data")
    return Finding("data folder", "ok", told)


def disk(settings: Settings) -> Finding:
    from antiphon.web.disk import free_bytes

    folder = Path(settings.data).absolute()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    free, least = free_bytes(nearest), settings.retention().min_free_bytes
    told = f"{free / 1e9:,.1f} GB free; an hour of talking takes up to 0.35 GB"
    if least is not None and free < least:
        told += f"; with less than {least / 1e9:g} GB no session begins"
        return Finding("disk", "fail", told, "make room (antiphon log erase, --max-data), or set --min-free")
    if least is not None and free < 5 * least:
        return Finding("disk", "warn", told, "say how long what is kept: --keep-audio, --max-data")
    return Finding("disk", "ok", told)


def _file_system(path: Path) -> str:
    """The kind of the file system under `path`; "" where nobody says."""
    try:
        lines = Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    mounts = [line.split()[1:3] for line in lines]
    under = [(at, kind) for at, kind in mounts if path.is_relative_to(at.replace("\\040", " "))]
    return max(under, key=lambda one: len(one[0]), default=("", ""))[1]
