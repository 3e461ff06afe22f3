"""Clients of others, served as they were built: the official browser client of Moshi and PersonaPlex.

At its own path, /moshi/, beside our page; with `--only personaplex` at `/`, where it stands with its own
server, and of ours there is only what that server has, too. Its page asks for its parts at /assets in any
case.
"""

from __future__ import annotations

from pathlib import Path

from litestar import Router
from litestar.static_files import create_static_files_router
from litestar.types import ControllerRouterHandler

from .file_headers import with_headers
from .settings import Settings, SettingsError

OWN_PATH = "/moshi"
ASSETS = "/assets"
HEADERS = {
    # It compiles WebAssembly, makes workers of its own text, and styles itself.
    "content-security-policy": (
        "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval'; worker-src 'self' blob:; "
        "style-src 'self' 'unsafe-inline'; connect-src 'self' ws: wss: data:; media-src 'self' blob:; "
        "img-src 'self' data: blob:; font-src 'self' data:; frame-ancestors 'none'"
    ),
    "permissions-policy": "microphone=(self), camera=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


def check(settings: Settings) -> None:
    """Raises SettingsError where there is no such client."""
    if settings.static and not (Path(settings.static) / "index.html").is_file():
        raise SettingsError(
            f"static: there is no index.html in {settings.static}: give the folder that `npm run build` makes"
        )


def pages(settings: Settings) -> list[ControllerRouterHandler]:
    """The routes of the client's files; none where there is no client."""
    if not settings.static:
        return []
    root = Path(settings.static)
    own = "/" if settings.only else OWN_PATH
    routes = [_files(own, root, "moshi")]
    if (root / "assets").is_dir() and not settings.only:
        routes.append(_files(ASSETS, root / "assets", "moshi-assets"))
    return list(routes)


def _files(path: str, folder: Path, name: str) -> Router:
    return create_static_files_router(
        path=path, directories=[folder], html_mode=True, name=name, middleware=[with_headers(HEADERS)]
    )
