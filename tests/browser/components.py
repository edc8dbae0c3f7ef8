"""Single components of the portal on an empty page, connected to a real service."""

from playwright.sync_api import Page
from tests.browser.portal_user import PortalUser, start_session
from tests.server.support.service import RunningService

#: Renders one component, with its messages below it in `#said`.
_MOUNT = """async ([component, props, id]) => {
  const [buttons, view, { Api }, { Live }, { Model }] = await Promise.all(
    ["actions/buttons", "view", "service/api", "service/live", "service/model"].map(
      (name) => import(`./${name}.js`),
    ),
  );
  const { html, render, AppContext } = view;
  const model = new Model((draw) => requestAnimationFrame(draw), () => 0);
  const api = new Api((path, init) => fetch(path, init), () => {});
  model.session = await api.get("/v1/session");
  if (id) props.item = (await api.get(`/v1/overview?id=${id}`)).items[0];
  const said = document.createElement("p");
  const app = { model, api, live: new Live(api, model) };
  app.notify = (text) => (said.textContent = text);
  const root = document.getElementById("root");
  document.getElementById("said")?.remove();
  render(null, root);
  render(
    html`<${AppContext.Provider} value=${app}>
      <main id="main" tabindex="-1"><${buttons[component]} ...${props} /></main>
    <//>`,
    root,
  );
  document.body.append(said);
  said.id = "said";
}"""


def mounted(
    user: PortalUser,
    service: RunningService,
    component: str,
    *,
    of: str | None = None,
    token: str | None = None,
    **props: object,
) -> Page:
    """Show `component` of actions/buttons.js, for the operation `of` if given."""
    page = user.new_page(service)
    start_session(page, service.control, token or service.token)
    empty = {"body": "", "content_type": "text/javascript"}
    page.route("**/portal/*/app.js", lambda route: route.fulfill(**empty))
    page.goto(f"{service.control}/portal/")
    mount(page, component, of=of, **props)
    return page


def mount(
    page: Page, component: str, *, of: str | None = None, **props: object
) -> None:
    """Show `component` instead of the current one."""
    page.evaluate(_MOUNT, [component, props, of])
