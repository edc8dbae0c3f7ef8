"""The rehearsal of examples/compose, run without a container."""

from pathlib import Path
from xml.etree import ElementTree

from tests.deployment_files import COMPOSE, compose, image_environment, parts_of
from tests.end_to_end.program import run

REHEARSAL = compose()["services"]["rehearsal"]


def test_the_mounted_program_passes_and_the_report_is_written(
    tmp_path: Path,
) -> None:
    places = {
        target: str(tmp_path) if source == "." else str(COMPOSE.parent / source)
        for source, target in map(parts_of, REHEARSAL["volumes"])
    }
    words = REHEARSAL["command"]
    for target, place in places.items():
        words = [word.replace(target, place) for word in words]
    environment = {
        **image_environment(),
        **REHEARSAL["environment"],
        "POLL_SECONDS": "0.05",
    }
    kept = {name: environment[name] for name in environment if name != "PATH"}
    done = run(tmp_path, *words, **kept)
    assert done.code == 0, done.out + done.err
    report = tmp_path / "rehearsal.xml"
    assert ElementTree.parse(report).getroot().tag == "testsuites"
