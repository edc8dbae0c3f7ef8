"""Reference pages, generated from the program.

Run by `scripts/reference`; a test fails if the pages are out of date.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import cast
from unittest.mock import patch

from forewarn.agent.telemetry.metrics import AGENT_METRICS, PREFIX
from forewarn.cli import main as main_
from forewarn.config.settings import SETTINGS, Setting
from forewarn.server.app import make_app
from forewarn.server.control.context import Services
from forewarn.server.control.routes.journal import JournalStreams
from forewarn.server.metrics.catalog import ServiceMetrics

FOLDER = Path(__file__).parent / "reference"


def pages() -> Mapping[str, str]:
    """Return the text of each page by its file name."""
    contents = {
        "settings.md": ("Service settings", _settings()),
        "commands.md": ("Commands", _commands()),
        "api.md": ("Control API", _api()),
        "metrics.md": ("Metrics", _metrics()),
        "agent-metrics.md": ("Metrics of the agent", _agent_metrics()),
    }
    notice = "Made by `scripts/reference`; do not edit."
    return {
        name: "\n".join([f"# {title}", "", notice, "", *lines])
        for name, (title, lines) in contents.items()
    }


def _settings() -> Iterator[str]:
    yield "You can set each setting as a flag of `forewarn serve`, as an environment"
    yield "variable, or in the TOML file specified with `--config`. Flags take"
    yield "precedence over environment variables, which take precedence over the file."
    yield ""
    yield "The control API's token comes from `FOREWARN_TOKEN`, or from the `token`"
    yield "file in the state directory. The state directory is `$FOREWARN_STATE_DIR` if"
    yield "that variable is set, and otherwise `$XDG_STATE_HOME/forewarn` or"
    yield "`~/.local/state/forewarn`."
    yield ""
    yield "| flag | environment variable | key in the file | default | description |"
    yield "|---|---|---|---|---|"
    for setting in SETTINGS:
        yield _setting(setting)
    yield ""


def _setting(setting: Setting) -> str:
    flag = f"`{setting.option}`" if setting.metavar is not None else ""
    section, _, name = setting.key.partition(".")
    default = setting.shown_default or f"`{_shown(setting.default)}`"
    cells = (flag, f"`{setting.variable}`", f"`[{section}] {name}`", default)
    return f"| {' | '.join(cells)} | {setting.help} |"


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _commands() -> Iterator[str]:
    yield "Errors are printed to standard error. The exit codes are:"
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    yield "| 0 | success |"
    yield "| 1 | failure, rejected request, or failed check (`health`, `rehearse`) |"
    yield "| 2 | usage error |"
    yield "| 130 | Ctrl-C, except where this is the usual way to stop (`serve`) |"
    yield "| 141 | the program that reads the output has exited, for example `head` |"
    for command in main_.COMMANDS:
        yield from _help(command)
    yield ""


def _help(*words: str) -> Iterator[str]:
    """Show the help of a command and of its subcommands."""
    text = _output(*words, "--help")
    yield ""
    yield f"{'#' * (len(words) + 1)} forewarn {' '.join(words)}"
    yield ""
    yield "```text"
    yield text
    yield "```"
    _, _, listed = text.partition("\n  COMMAND\n")
    for word in re.findall(r"^    (\w+)\b", listed, re.MULTILINE):
        yield from _help(*words, word)


def _output(*words: str) -> str:
    output = StringIO()
    environment = patch.dict(os.environ, {"COLUMNS": "80"}, clear=True)
    with environment, redirect_stdout(output):
        if main_.main(words):
            raise RuntimeError(f"forewarn {' '.join(words)} failed")
    return output.getvalue().rstrip()


def _api() -> Iterator[str]:
    spec = make_app(cast(Services, None), JournalStreams()).openapi()
    yield spec["info"]["description"]
    yield ""
    yield "| method | path | description |"
    yield "|---|---|---|"
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            text = " ".join(operation["description"].split())
            yield f"| {method.upper()} | `{path}` | {text} |"
    yield ""
    yield from _schema("Announcement", spec["components"]["schemas"]["Announcement"])


def _schema(name: str, schema: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield "| key | meaning |"
    yield "|---|---|"
    for key, about in schema["properties"].items():
        text = cast(Mapping[str, object], about).get("description", "")
        yield f"| `{key}` | {text} |"
    yield ""


def _metrics() -> Iterator[str]:
    yield "`GET /metrics` on the control plane returns these metrics in the Prometheus"
    yield "text format or as OpenMetrics ([how to use them](../how-to/monitor.md)). The"
    yield "request needs a token with the role viewer or higher. Counters and"
    yield "histograms start over when the service restarts. Durations are measured with"
    yield "the service's clock unless the description says otherwise. The `process_...`"
    yield "metrics come from the Prometheus client library."
    yield ""
    yield "| metric | type | labels | description |"
    yield "|---|---|---|---|"
    for metric in ServiceMetrics().table:
        name = f"{metric.name}_total" if metric.kind == "counter" else metric.name
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{name}` | {metric.kind} | {labels} | {metric.help} |"
    yield ""


def _agent_metrics() -> Iterator[str]:
    yield "The agent exports these metrics over HTTP or in a file; see"
    yield "[Monitor the agent](../how-to/monitor-the-agent.md). Counters and histograms"
    yield "restart at zero when the agent starts. Times and durations are on the"
    yield "service's clock. Only `blind_seconds`, and the downtime of a restart in"
    yield "`impact_seconds`, are real seconds. Each metric has at most 256 series."
    yield ""
    yield "| metric | type | labels | description |"
    yield "|---|---|---|---|"
    for metric in AGENT_METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{PREFIX}{metric.name}` | {metric.kind} | {labels} | {metric.help} |"
    yield ""


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
