"""The recipes of examples/agent, and the pages that show them."""

from pathlib import Path

import pytest
from tests.programs.installed import needs
from tests.programs.page import PAGE, copied
from tests.programs.recipe import RECIPES

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
    shown = PAGE.with_name(page)
    plan = copied("The agent's file", "toml agent.toml", shown)
    assert plan == (RECIPES / recipe / "agent.toml").read_text()
    script = copied("The hook", f"bash {hook}", shown)
    assert script == (RECIPES / recipe / hook).read_text()


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
