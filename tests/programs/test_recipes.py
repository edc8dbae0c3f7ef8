"""The recipes of examples/agent, and the pages that show them."""

from pathlib import Path

import pytest
from tests.programs.installed import needs
from tests.programs.page import PAGE
from tests.programs.recipe import RECIPES, an_environment

from forewarn.agent.config.file import read_plan
from forewarn.agent.config.preflight import check_machine

#: The page and the hook of each recipe.
PAGES = {
    "kubernetes": ("drain-a-kubernetes-node.md", "drain.sh"),
    "haproxy": ("take-a-vm-out-of-haproxy.md", "drain.sh"),
    "patroni": ("switch-over-postgresql.md", "switchover.sh"),
    "slurm": ("drain-a-slurm-node.md", "drain.sh"),
    "pacemaker": ("put-pacemaker-on-standby.md", "standby.sh"),
    "checkpoint": ("checkpoint-a-program.md", "checkpoint.sh"),
}


def test_every_recipe_has_a_page() -> None:
    assert {
        folder.name for folder in RECIPES.iterdir() if folder.is_dir()
    } == PAGES.keys()


@pytest.mark.parametrize("recipe", PAGES)
def test_the_page_of_a_recipe_shows_its_files(recipe: str) -> None:
    page, hook = PAGES[recipe]
    text = PAGE.with_name(page).read_text()
    for language, file in (("toml", "agent.toml"), ("bash", hook)):
        code = (RECIPES / recipe / file).read_text()
        assert f"\n```{language} {file}\n{code}```\n" in text


@needs("bash", "curl")
@pytest.mark.parametrize("recipe", PAGES)
def test_the_agent_accepts_the_file_of_a_recipe(recipe: str, tmp_path: Path) -> None:
    text = (RECIPES / recipe / "agent.toml").read_text()
    text = text.replace("/etc/forewarn", str(RECIPES / recipe))
    file = tmp_path / "agent.toml"
    file.write_text(text.replace("/var/lib/forewarn-agent", str(tmp_path)))
    plan = read_plan(file)
    assert plan.warnings == ()
    assert check_machine(plan) == []


@needs("bash")
@pytest.mark.parametrize("event", ["../outside", "a/b", "*", "a b", ""])
@pytest.mark.parametrize("recipe", ["haproxy", "kubernetes", "pacemaker", "slurm"])
def test_a_recipe_refuses_an_id_with_odd_characters(
    recipe: str, event: str, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    hook = f"{recipe}/{PAGES[recipe][1]}"
    environment = an_environment(tmp_path, hook, MARKS=str(marks), NODE="web-0")
    for command in ("socat", "kubectl", "pcs", "crm_attribute", "scontrol", "squeue"):
        environment.stub(command)
    for step in ("prepare", "undo"):
        finished = environment.run(step, event=event)
        assert finished.code == 1
        assert f"unsafe EventId: {event}" in finished.err
    assert environment.calls() == []
    assert not marks.exists()
