"""The Fleet page: the location of VMs, and the impact of host maintenance."""

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import Serve
from tests.browser.portal_user import (
    PortalUser,
    ProfilePool,
    a_user,
    start_session,
)
from tests.server.support.service import RunningService, a_service

LONG = "n" * 80

#: host-a has two update domains of web; batch has spot VMs; quiet never polls.
FLEET = f"""\
hosts = [{{ name = "host-a" }}, {{ name = "host-b" }}, {{ name = "{LONG}" }}]
groups = [
  {{ name = "batch", kind = "scale-set", enabled = "always" }},
  {{ name = "quiet", kind = "cloud-service" }},
  {{ name = "web", kind = "availability-set", enabled = "always" }},
]
vms = [
  {{ name = "batch-0", group = "batch", host = "host-b", spot = true }},
  {{ name = "batch-1", group = "batch", host = "host-b", spot = true }},
  {{ name = "quiet-0", group = "quiet", host = "host-b" }},
  {{ name = "web-0", group = "web", host = "host-a", update_domain = 0 }},
  {{ name = "web-1", group = "web", host = "host-b", update_domain = 1 }},
  {{ name = "web-2", group = "web", host = "host-a", update_domain = 2 }},
  {{ name = "{LONG}", host = "{LONG}" }},
]
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a service whose fleet does not change."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.toml").write_text(FLEET)
    with a_service(folder, fleet=str(folder / "small.toml")) as service:
        service.as_vm("web-0")
        yield service


@pytest.fixture(scope="module")
def opened(profiles: ProfilePool, small: RunningService) -> Iterator[Page]:
    """Open a page for all read-only tests: opening one takes longer than they do."""
    with a_user(profiles) as user:
        yield user.open_page(small, "fleet")
    assert not user.watch.complaints, "\n".join(user.watch.complaints)


@pytest.fixture
def page(opened: Page) -> Page:
    """Go to another page and back, which clears the selection."""
    for name in ("now", "fleet"):
        opened.evaluate("(name) => { location.hash = `#/${name}`; }", name)
        opened.locator("h1", has_text=name.capitalize()).wait_for()
    opened.locator("[data-vm]").first.wait_for()
    opened.mouse.move(0, 0)
    return opened


def host(page: Page, name: str) -> Locator:
    """Find a host in the list next to the grid."""
    return page.get_by_role("region", name="Hosts").get_by_role("button", name=name)


def vm(page: Page, name: str) -> Locator:
    """Find the square of a VM."""
    return page.locator(f'.fleet-grid [aria-label^="{name},"]')


def highlighted_vms(page: Page) -> Sequence[str]:
    """Return the names of the highlighted VMs."""
    words = page.locator(".vm.lit").evaluate_all("all => all.map((one) => one.title)")
    return [title.partition(",")[0] for title in words]


def groups(page: Page) -> Sequence[str]:
    """Return the names of the groups in the order of their rows."""
    return page.locator(".fleet-head .name").all_inner_texts()


def test_each_vm_is_in_the_column_of_its_update_domain(page: Page) -> None:
    heads = page.get_by_role("columnheader")
    expect(heads).to_have_text(["Group", "UD 0", "UD 1", "UD 2"])
    places = [heads.nth(1 + n).bounding_box() for n in range(3)]
    squares = [vm(page, f"web-{n}").bounding_box() for n in range(3)]
    assert [box and box["x"] for box in squares] == [box and box["x"] for box in places]


def test_selecting_a_host_highlights_its_vms_and_shows_the_impact(
    page: Page,
) -> None:
    host(page, "host-a").click()
    expect(page.locator(".fleet-reach")).to_contain_text(
        "Maintenance on host-a would affect 2 VMs in 1 group."
    )
    expect(page.locator(".fleet-reach .defeated")).to_have_text(
        "web: update domains 0 and 2, 2 of 3 VMs;"
        " would lose two update domains at the same time"
    )
    assert highlighted_vms(page) == ["web-0", "web-2"]
    assert groups(page)[0] == "web"


def test_the_grid_can_show_only_groups_that_a_host_affects(page: Page) -> None:
    host(page, "host-b").click()
    page.get_by_label("Show only what maintenance on host-b affects").check()
    assert groups(page) == ["batch", "quiet", "web"]


def test_moving_through_the_hosts_by_keyboard_highlights_their_vms(page: Page) -> None:
    host(page, "host-a").focus()
    page.keyboard.press("ArrowDown")
    expect(host(page, "host-b")).to_be_focused()
    expect(page.locator(".vm.lit")).to_have_count(4)
    page.keyboard.press("Tab")
    expect(page.locator(".vm.lit")).to_have_count(0)


def test_arrow_keys_select_a_vm_and_enter_shows_its_details(
    page: Page,
) -> None:
    page.get_by_role("button", name="batch", exact=False).first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    details = page.get_by_role("region", name="VM batch-1")
    expect(details).to_contain_text("yes (can be evicted)")
    expect(vm(page, "batch-1")).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)


def test_vms_of_disabled_groups_stand_out(page: Page) -> None:
    expect(page.locator(".vm.disabled[data-vm]")).to_have_count(2)
    expect(vm(page, "quiet-0")).to_have_attribute(
        "title",
        "quiet-0, group quiet, no update domain, on host-b, Scheduled Events disabled",
    )
    expect(vm(page, "web-0")).not_to_have_class("vm not-polling")
    expect(vm(page, "web-1")).to_have_class("vm not-polling")


def test_the_search_finds_and_counts_vms(page: Page) -> None:
    page.get_by_label("Search").fill("host-b ud:none")
    expect(page.get_by_text("3 of 7 VMs")).to_be_visible()
    assert groups(page) == ["batch", "quiet"]
    expect(
        page.get_by_role("region", name="Hosts").get_by_role("button")
    ).to_have_count(1)


def test_rows_can_be_hosts(page: Page) -> None:
    page.get_by_label("By host").check()
    rows = page.get_by_role("row")
    expect(rows.nth(1)).to_contain_text("host-a")
    expect(rows.nth(1).locator(".vm")).to_have_text(["0", "2"])


def test_groups_without_update_domains_are_labeled(page: Page) -> None:
    rows = page.get_by_role("row").filter(has_text="no update domains")
    expect(rows.get_by_role("rowheader")).to_contain_text(["batch", LONG, "quiet"])


def test_a_long_host_name_leaves_room_for_the_impact(page: Page) -> None:
    host(page, LONG).click()
    label = f"Show only what maintenance on {LONG} affects"
    expect(page.get_by_label(label)).to_be_visible()
    reach = page.locator(".fleet-reach").bounding_box()
    assert reach
    assert reach["height"] < 200


@pytest.mark.full
def test_the_fleet_appears_together_with_its_marks(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.new_page(shared)
    held: list[Route] = []
    page.route("**/v1/overview?*", lambda route: held.append(route))
    start_session(page, shared.control, shared.token)
    with page.expect_response("**/v1/fleet/map"):
        page.goto(f"{shared.control}/portal/#/fleet")
    expect(page.get_by_text("Loading the fleet…")).to_be_visible()
    while held:
        held.pop().continue_()
    page.unroute("**/v1/overview?*")
    expect(host(page, "host-a")).to_be_visible()


@pytest.mark.full
def test_the_page_fits_a_phone(user: PortalUser, small: RunningService) -> None:
    page = user.open_page(small, "fleet", width=390)
    page.locator(f'[data-vm][aria-label^="{LONG}"]').click()
    expect(page.get_by_role("region", name=f"VM {LONG}")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_an_event_is_marked_on_its_vm_when_it_is_announced(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared, "fleet")
    vm(page, "db-0").click()
    details = page.get_by_role("region", name="VM db-0")
    expect(details).to_contain_text("None.")
    shared.announce(host="host-a")
    expect(vm(page, "db-0")).to_have_attribute("data-mark", "S")
    expect(host(page, "host-a")).to_contain_text("Scheduled")
    details.get_by_role("button", name="Reboot of host-a").click()
    assert "#/fleet/" in page.url


@pytest.mark.full
def test_a_removed_vm_is_no_longer_shown(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared, "fleet")
    vm(page, "lone").click()
    assert shared.request("DELETE", "/v1/vms/lone").status == 204
    expect(vm(page, "lone")).to_have_count(0)
    expect(page.get_by_text("This VM is no longer in the fleet.")).to_be_visible()


@pytest.mark.full
def test_only_the_visible_part_of_a_large_fleet_is_drawn(
    user: PortalUser, serve: Serve
) -> None:
    crowd = [f'[[groups]]\nname = "g{n}"\nkind = "scale-set"\n' for n in range(40)]
    crowd += [_vm(n, number) for n in range(40) for number in range(20 if n else 300)]
    service = serve(fleet='[[hosts]]\nname = "h"\n' + "".join(crowd))
    page = user.open_page(service, "fleet")
    first = page.get_by_role("row").filter(has_text="g0")
    expect(first.locator(".vm")).to_have_count(200)
    first.get_by_role("button", name="Show more VMs in g0 (100 hidden)").click()
    expect(first.locator(".vm")).to_have_count(300)
    host(page, "h").click()
    drawn = page.get_by_role("row").count()
    assert drawn < 40
    more = page.get_by_role("button", name=re.compile("^Show more [(]"))
    more.scroll_into_view_if_needed()
    expect(page.get_by_role("row").nth(drawn)).to_be_attached()


def _vm(group: int, number: int) -> str:
    return f'[[vms]]\nname = "g{group}-{number}"\ngroup = "g{group}"\nhost = "h"\n'


@pytest.mark.full
def test_an_empty_fleet_shows_instructions_even_on_a_phone(
    user: PortalUser, serve: Serve
) -> None:
    page = user.open_page(serve(fleet=""), "fleet", width=320)
    first = page.get_by_role("region", name="No VMs yet")
    expect(first).to_contain_text("forewarn fleet apply fleet.toml")
    inside = first.bounding_box()
    assert inside
    for button in first.get_by_role("button", name="Copy").all():
        box = button.bounding_box()
        assert box
        assert box["x"] + box["width"] < inside["x"] + inside["width"] < 320
