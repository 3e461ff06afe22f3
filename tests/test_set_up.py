"""What `make setup` says to machines that it cannot set up, or not wholly."""

import re
import tomllib
from pathlib import Path

import bootstrap
import pytest

ROOT = Path(bootstrap.ROOT)
GLIBC = ("glibc", "2.36")


def test_this_kind_of_machine_gets_the_embedded_models():
    assert bootstrap.why_no_embedded_models("linux", "x86_64", GLIBC, ["sse", "avx2"]) == ""
    assert bootstrap.why_no_embedded_models("linux", "x86_64", ("glibc", "2.34"), []) == ""


@pytest.mark.parametrize(
    ("system", "machine", "libc", "flags", "said"),
    [
        ("darwin", "arm64", ("", ""), [], "darwin on arm64"),
        ("linux", "aarch64", GLIBC, [], "linux on aarch64"),
        ("linux", "x86_64", ("glibc", "2.31"), ["avx2"], "glibc 2.31"),
        ("linux", "x86_64", ("", ""), ["avx2"], "another C library"),
        ("linux", "x86_64", GLIBC, ["sse"], "AVX2"),
    ],
)
def test_other_machines_are_told_what_they_lack(system, machine, libc, flags, said):
    assert said in bootstrap.why_no_embedded_models(system, machine, libc, flags)


def test_an_old_python_is_told_so():
    with pytest.raises(bootstrap.CannotSetUp, match=r"3\.11 or later is needed, this is 3\.9"):
        bootstrap.check_python((3, 9))


def test_an_unknown_option_is_refused(capsys):
    assert bootstrap.main(["--gpu"]) == 1
    assert "--gpu" in capsys.readouterr().err


def test_the_stamp_changes_with_the_dependencies_and_not_with_the_rest():
    project = bootstrap.read_project()
    before = bootstrap.fingerprint(project, False, True)
    project["tool"]["ruff"]["line-length"] = 1
    project["dependency-groups"]["dev"] = []
    assert bootstrap.fingerprint(project, False, True) == before
    project["project"]["dependencies"].append("more")
    assert bootstrap.fingerprint(project, False, True) != before


def test_everything_that_is_asked_for_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    asked = project["project"]["dependencies"] + extras["cascade"] + extras["personaplex"]
    asked += project["dependency-groups"]["dev"] + list(bootstrap.DATA_ONLY)
    asked += [*bootstrap.MOSHI, *bootstrap.MOSHI_ALONE]
    pinned = re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text())
    assert {re.match(r"[\w.-]+", one).group().lower() for one in asked} <= set(pinned)
