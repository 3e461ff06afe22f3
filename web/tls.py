"""TLS: the server's certificate and its key, checked before anything starts."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

from .settings import Settings, SettingsError


def context(settings: Settings) -> ssl.SSLContext | None:
    """What the server identifies itself by; None: it speaks plain HTTP. Raises SettingsError."""
    if not settings.tls_certificate and not settings.tls_key:
        return None
    if not settings.tls_certificate or not settings.tls_key:
        raise SettingsError("settings: tls_certificate and tls_key belong together: give both")
    certificate = _text("tls_certificate", settings.tls_certificate)
    key = _text("tls_key", settings.tls_key)
    if "BEGIN CERTIFICATE" not in certificate:
        raise SettingsError(
            f"settings: tls_certificate: there is no PEM certificate in {settings.tls_certificate}"
        )
    if "PRIVATE KEY" not in key:
        raise SettingsError(f"settings: tls_key: there is no PEM private key in {settings.tls_key}")
    if "ENCRYPTED" in key:
        raise SettingsError(
            f"settings: tls_key: {settings.tls_key} is locked by a passphrase, "
            "and nobody is there to type it: write it without one (openssl pkey)"
        )
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.set_alpn_protocols(["http/1.1"])
    try:
        made.load_cert_chain(settings.tls_certificate, settings.tls_key)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            told = f"{settings.tls_key} is not the key of {settings.tls_certificate}"
        else:
            told = (
                f"{settings.tls_certificate} and {settings.tls_key} cannot be used: {error.reason or error}"
            )
        raise SettingsError(f"settings: tls_key: {told}") from error
    return made


def _text(name: str, path: str) -> str:
    try:
        return Path(path).read_text("ascii", "replace")
    except OSError as error:
        raise SettingsError(f"settings: {name}: {path}: {error.strerror}") from error


def key_is_exposed(settings: Settings) -> bool:
    """Whether other users of the machine can read the key."""
    return bool(settings.tls_key) and bool(Path(settings.tls_key).stat().st_mode & stat.S_IROTH)
