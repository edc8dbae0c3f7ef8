"""`forewarn agent`: where its endpoint comes from."""

from pathlib import Path

import pytest

from forewarn.agent import main as agent_main
from forewarn.agent.config.plan import Plan
from forewarn.cli.main import main

A, B = "http://10.0.0.1", "http://10.0.0.2"
NAMED, FOUND = f'endpoint = "{A}"\n', "discover = true\n"


@pytest.mark.parametrize(
    ("text", "words", "environment", "endpoint", "discover"),
    [
        ("", [], {}, None, False),
        (NAMED, [], {}, A, False),
        (FOUND, [], {}, None, True),
        (NAMED, ["--discover"], {}, None, True),
        (NAMED, ["--discover"], {"FOREWARN_ENDPOINT": B}, None, True),
        (FOUND, ["--endpoint", B], {}, B, False),
        (NAMED, [], {"FOREWARN_ENDPOINT": B}, B, False),
    ],
)
def test_flags_override_the_environment_which_overrides_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    words: list[str],
    environment: dict[str, str],
    endpoint: str | None,
    discover: bool,
) -> None:
    plans: list[Plan] = []
    monkeypatch.setattr(
        agent_main, "run_agent", lambda plan, *, is_dry: plans.append(plan)
    )
    monkeypatch.setattr("forewarn.cli.guest.agent.log_to_stderr", lambda *_: None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "agent.toml"
    file.write_text(f'{text}[[rules]]\napprove = "never"\n')
    assert main(["agent", "--config", str(file), *words]) == 0
    (plan,) = plans
    assert (plan.endpoint, plan.discover) == (endpoint, discover)
