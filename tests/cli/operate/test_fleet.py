"""Tests of `forewarn fleet`."""

import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import Json, a_group, a_vm, page
from tests.cli.support.service import Service

from forewarn.cli import main
from forewarn.core.fleet_file import read_fleet

Capture = pytest.CaptureFixture[str]

FLEET = """\
[[hosts]]
name = "host-a"

[[vms]]
name = "web-0"
host = "host-a"
"""


SHOWN = """\
HOST    VMS
host-a  1
host-b  0

GROUP  KIND              VMS  EVENTS    LAST POLL  SETTINGS
db-0   standalone        1    always    never
lone   standalone        1    disabled  never
web    availability-set  2    enabled   3 min ago  terminate notice 300 s, auto…

VM     GROUP  HOST    UD  ADDRESSES          SETTINGS
db-0   db-0   host-a
lone   lone                                  windows
web-0  web            0                      spot, eviction: delete, deallocated
web-1  web            1   10.0.0.1, fe80::1
"""


def a_difference(**changed: object) -> Json:
    nothing: Json = {"hosts": [], "groups": [], "vms": []}
    difference: Json = {
        "added": nothing,
        "changed": nothing,
        "removed": nothing,
        "warnings": [],
    }
    return {**difference, **changed}


def a_file(directory: Path, text: str) -> str:
    path = directory / "fleet.toml"
    path.write_text(text)
    return str(path)


# --- apply -------------------------------------------------------------------


def test_a_fleet_file_is_sent_as_json(
    service: Service, tmp_path: Path, capsys: Capture
) -> None:
    names = [f"web-{number}" for number in range(8)]
    added = {"hosts": ["host-a"], "groups": [], "vms": names}
    removed = {"hosts": [], "groups": ["old"], "vms": []}
    warnings = ["host-a defeats the update domains"]
    answer = a_difference(added=added, removed=removed, warnings=warnings)
    service.respond("PUT", "/v1/fleet", answer)
    assert main.main(["fleet", "apply", a_file(tmp_path, FLEET), "--yes"]) == 0
    assert service.only("PUT").query == []
    assert service.only("PUT").body == {
        "hosts": [{"name": "host-a"}],
        "vms": [{"name": "web-0", "host": "host-a"}],
    }
    captured = capsys.readouterr()
    assert captured.out == (
        "added: 1 host (host-a), 8 VMs (web-0, web-1, web-2, web-3, web-4 and 3 more)\n"
        "removed: 1 group (old)\n"
    )
    assert captured.err == "forewarn: warning: host-a defeats the update domains\n"


def test_unchanged_fleet_changes_nothing(
    service: Service, tmp_path: Path, run: Cli
) -> None:
    service.respond("PUT", "/v1/fleet", a_difference())
    assert run("fleet apply", a_file(tmp_path, FLEET)) == "no changes\n"


def test_many_vms_are_removed_only_on_request(
    service: Service, tmp_path: Path, run: Cli
) -> None:
    service.respond("PUT", "/v1/fleet", a_difference())
    run("fleet apply", a_file(tmp_path, FLEET), "--remove", "--yes")
    assert service.only("PUT").query == [("remove", "true")]


def test_a_fleet_can_come_from_standard_input(
    service: Service, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    service.respond("PUT", "/v1/fleet", a_difference())
    stdin = io.TextIOWrapper(io.BytesIO(b'[[hosts]]\nname = "host-a"\n'))
    monkeypatch.setattr("sys.stdin", stdin)
    run("fleet apply - --yes")
    assert service.only("PUT").body == {"hosts": [{"name": "host-a"}]}


def test_removed_vms_require_confirmation(
    service: Service, tmp_path: Path, run: Cli
) -> None:
    removed = {"hosts": [], "groups": [], "vms": ["web-1", "web-2"]}
    service.respond("PUT", "/v1/fleet", a_difference(removed=removed))
    message = run("fleet apply", a_file(tmp_path, FLEET), code=2)
    assert "remove 2 VMs (web-1, web-2) from the fleet" in message
    assert service.only("PUT").query == [("dry_run", "true")]


CHANGES = {
    "added": {"hosts": [], "groups": [], "vms": ["web-3"]},
    "changed": {"hosts": [], "groups": ["web"], "vms": ["web-0"]},
    "removed": {"hosts": ["host-z"], "groups": [], "vms": []},
    "changes": [
        {
            "kind": "vm",
            "name": "web-0",
            "fields": [
                {"field": "host", "old": None, "new": "host-b"},
                {"field": "addresses", "old": ["10.0.0.1"], "new": []},
            ],
        },
        {
            "kind": "group",
            "name": "web",
            "fields": [{"field": "isolated", "old": False, "new": True}],
        },
    ],
}


@pytest.mark.parametrize("command", ["apply --dry-run", "diff"])
def test_what_would_change_is_shown_with_old_and_new_values(
    service: Service, tmp_path: Path, run: Cli, command: str
) -> None:
    service.respond("PUT", "/v1/fleet", a_difference(**CHANGES))
    out = run(f"fleet {command}", a_file(tmp_path, FLEET), code=command == "diff")
    assert out.splitlines() == [
        "CHANGE   KIND   NAME    FIELDS",
        "added    VM     web-3",
        "changed  group  web     isolated: false -> true",
        "changed  VM     web-0   host: none -> host-b; addresses: 10.0.0.1 -> none",
        "removed  host   host-z",
        "would add 1, change 2, remove 1",
    ]
    assert ("dry_run", "true") in service.only("PUT").query


def test_comparison_without_differences_exits_with_0(
    service: Service, tmp_path: Path, run: Cli
) -> None:
    service.respond("PUT", "/v1/fleet", a_difference())
    assert run("fleet diff", a_file(tmp_path, FLEET)) == "no changes\n"
    assert ("remove", "true") in service.only("PUT").query


def test_failed_comparison_exits_with_2(
    service: Service, tmp_path: Path, run: Cli
) -> None:
    service.refuse("PUT", "/v1/fleet", 403, "an admin is required")
    message = run("fleet diff", a_file(tmp_path, FLEET), code=2)
    assert message == "forewarn: an admin is required\n"


def test_comparison_of_many_vms_is_short(
    service: Service, tmp_path: Path, run: Cli
) -> None:
    names = [f"vm-{number}" for number in range(5000)]
    added = {"hosts": [], "groups": [], "vms": names}
    service.respond("PUT", "/v1/fleet", a_difference(added=added))
    lines = run("fleet diff", a_file(tmp_path, FLEET), code=1).splitlines()
    assert len(lines) < 110
    assert "and 4,900 more; for all, add -o json" in lines[-2]
    assert lines[-1] == "would add 5,000"


def test_a_refusal_names_the_file(service: Service, tmp_path: Path, run: Cli) -> None:
    detail = "fleet: [[vms]] 2 (web-1).zone: expected text, not 1"
    service.refuse("PUT", "/v1/fleet", 422, detail)
    file = a_file(tmp_path, FLEET)
    message = run("fleet apply", file, code=1)
    assert (
        message == f"forewarn: {file}: [[vms]] 2 (web-1).zone: expected text, not 1\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[[hosts]]\nname = host-a\n",
            ", line 2, column 8: not valid TOML: Invalid value",
        ),
        ("[[hosts]]\nname =", ", line 2: not valid TOML: Invalid value"),
        (
            '[[vms]]\nname = "a"\nzone = 2026-01-01\n',
            ": 2026-01-01 is a date or time; for a string, use",
        ),
    ],
)
def test_invalid_fleet_file_is_wrong_usage_with_file_and_line(
    service: Service, text: str, said: str, tmp_path: Path, run: Cli
) -> None:
    file = a_file(tmp_path, text)
    err = run("fleet apply", file, code=2)
    assert err.startswith(f"forewarn: {file}{said}")
    assert service.requests == []


def test_bytes_that_are_not_utf8_are_reported_by_line(tmp_path: Path, run: Cli) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'[[vms]]\nname = "caf\xe9"\n')
    assert (
        run("fleet apply", path, code=2)
        == f"forewarn: {path}, line 2: not valid UTF-8\n"
    )


def test_missing_fleet_file_is_wrong_usage(run: Cli) -> None:
    assert "cannot read /no/such/file: no such file" in run(
        "fleet apply /no/such/file", code=2
    )


# --- init and validate -------------------------------------------------------


def test_starter_file_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "`forewarn fleet validate fleet.toml`" in run("fleet init")
    expected = "fleet.toml is valid: 2 hosts, 2 groups, 3 VMs\n"
    assert run("fleet validate fleet.toml") == expected
    assert run("fleet init -") == (tmp_path / "fleet.toml").read_text()


def test_starter_file_shows_every_option_in_comments(run: Cli) -> None:
    text = run("fleet init -")
    options = [line for line in text.splitlines() if line.startswith("# ")]
    enabled = "\n".join(
        line.removeprefix("# ") if " = " in line and line in options else line
        for line in text.splitlines()
    )
    assert read_fleet(tomllib.loads(enabled)).groups["web"].isolated


def test_starter_file_never_replaces_a_file(tmp_path: Path, run: Cli) -> None:
    file = a_file(tmp_path, FLEET)
    assert "exists and was not changed" in run("fleet init", file, code=2)
    assert Path(file).read_text() == FLEET


def test_starter_file_is_not_left_incomplete_by_a_full_disk(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 0; exec {sys.executable} -m forewarn fleet init"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "forewarn: cannot write fleet.toml: file too large\n"
    assert [*tmp_path.iterdir()] == []


def test_all_problems_are_printed_with_lines(tmp_path: Path, run: Cli) -> None:
    file = a_file(
        tmp_path,
        '[[hosts]]\nname = "host-a"\n\n[[vms]]\nname = "web-0"\nhots = "host-a"\n\n'
        '[[vms]]\nname = "web-1"\nupdate_domain = "x"\n',
    )
    assert run("fleet validate", file, code=1).splitlines() == [
        f"forewarn: {file}, line 6: [[vms]] 1 (web-0).hots: unknown key; did you mean"
        ' "host"?',
        f"forewarn: {file}, line 10: [[vms]] 2 (web-1).update_domain: expected a whole"
        ' number from 0 to 999999, not "x"',
    ]


def test_references_are_checked_with_lines_and_suggestions(
    tmp_path: Path, run: Cli
) -> None:
    file = a_file(tmp_path, FLEET.replace('host = "host-a"', 'host = "hosta"'))
    assert run("fleet validate --json", file, code=1)
    shown = json.loads(run("fleet validate --json", file, code=1))
    assert shown["problems"] == [
        {
            "line": 6,
            "text": "VM web-0: host hosta is not declared in [[hosts]]; did you mean"
            ' "host-a"?',
        }
    ]


def test_invalid_toml_is_reported_with_its_line(tmp_path: Path, run: Cli) -> None:
    file = a_file(tmp_path, "[[vms]]\nname = \n")
    err = run("fleet validate", file, code=1)
    assert err.startswith(f"forewarn: {file}, line 2")


# --- show and export ---------------------------------------------------------


def serve_fleet(service: Service, *limited: Json) -> None:
    service.respond("GET", "/v1/fleet/limited", {"items": [*limited]})
    awkward = {"a b": 'say "hi"\\', "é": "tab\t, del\x7f, line\nend 😀"}
    web = a_group(
        "web",
        kind="availability-set",
        terminate_notice_seconds=300,
        auto_approve=["user-reboot"],
        isolated=True,
        eviction_policy="deallocate",
        enabled_since="2026-01-01T11:00:00Z",
        last_request="2026-01-01T11:57:00Z",
    )
    vms = [
        a_vm("db-0", host="host-a"),
        a_vm("lone", zone="1", os="windows"),
        a_vm(
            "web-0",
            group="web",
            update_domain=0,
            spot=True,
            eviction_policy="delete",
            deallocated=True,
            tags=awkward,
        ),
        a_vm("web-1", group="web", update_domain=1, addresses=["10.0.0.1", "fe80::1"]),
    ]
    groups = [a_group("db-0", enabled="always"), a_group("lone"), web]
    service.respond("GET", "/v1/hosts", page({"name": "host-a"}, {"name": "host-b"}))
    service.respond("GET", "/v1/groups", page(*groups))
    service.respond("GET", "/v1/vms", page(*vms))


def test_a_fleet_is_shown_in_tables(service: Service, run: Cli) -> None:
    serve_fleet(service)
    assert run("fleet show") == SHOWN


def test_wide_tables_contain_everything(service: Service, run: Cli) -> None:
    serve_fleet(service)
    shown = run("fleet show -o wide")
    assert "auto-approves user-reboot, isolated, eviction: deallocate\n" in shown
    assert "ZONE" in shown


def test_names_of_vms_can_be_printed(service: Service, run: Cli) -> None:
    serve_fleet(service)
    assert run("fleet show -o name").split() == ["db-0", "lone", "web-0", "web-1"]


def test_empty_fleet_shows_how_to_fill_it(service: Service, run: Cli) -> None:
    for noun in ("hosts", "groups", "vms"):
        service.respond("GET", f"/v1/{noun}", page())
    service.respond("GET", "/v1/fleet/limited", {"items": []})
    assert "forewarn fleet apply FILE" in run("fleet show")


def test_limited_vms_are_shown_after_the_fleet(service: Service, run: Cli) -> None:
    limited: Json = {
        "name": "web-0",
        "refused": 12,
        "limits": {"connections": 3, "approvals": 9},
        "last": "2026-01-01T12:00:00Z",
    }
    serve_fleet(service, limited)
    last = run("fleet show").removeprefix(SHOWN)
    assert last.startswith(
        "limited: VM web-0: 12 rejections (connections 3, approvals 9)"
    )


def test_export_omits_defaults(service: Service, run: Cli) -> None:
    serve_fleet(service)
    text = run("fleet export")
    assert text.startswith('[[hosts]]\nname = "host-a"\n\n[[hosts]]\n')
    assert '[[vms]]\nname = "lone"\nzone = "1"\nos = "windows"\n\n' in text
    groups = [group["name"] for group in tomllib.loads(text)["groups"]]
    assert groups == ["db-0", "web"]


def test_export_describes_the_same_fleet(service: Service, run: Cli) -> None:
    serve_fleet(service)
    shown = read_fleet(json.loads(run("fleet show --json")))
    exported = read_fleet(tomllib.loads(run("fleet export")))
    assert exported.vms == shown.vms
    assert "deallocated" not in run("fleet export")
    assert exported.hosts == shown.hosts
    assert {name: group.kind for name, group in exported.groups.items()} == {
        name: group.kind for name, group in shown.groups.items()
    }
    assert exported.groups["web"] == shown.groups["web"]


def test_json_export_is_accepted_by_the_api(service: Service, run: Cli) -> None:
    serve_fleet(service)
    toml = tomllib.loads(run("fleet export"))
    assert json.loads(run("fleet export --json")) == toml


def test_standalone_group_without_its_vm_is_exported(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/v1/hosts", page())
    service.respond("GET", "/v1/groups", page(a_group("waiting")))
    service.respond("GET", "/v1/vms", page())
    out = run("fleet export")
    assert out == '[[groups]]\nname = "waiting"\nkind = "standalone"\n'
