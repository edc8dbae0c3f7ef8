"""The rehearsal of examples/compose, without a container around it."""

from pathlib import Path
from xml.etree import ElementTree

from tests.deployment_files import COMPOSE, compose, image_environment, parts_of
from tests.end_to_end.program import run

REHEARSAL = compose()["services"]["rehearsal"]


def test_the_program_that_is_mounted_passes_and_the_report_is_where_it_should_be(
    tmp_path: Path,
) -> None:
    places = {
        target: str(tmp_path) if source == "." else str(COMPOSE.parent / source)
        for source, target in map(parts_of, REHEARSAL["volumes"])
    }
    words = REHEARSAL["command"]
    for target, place in places.items():
        words = [each.replace(target, place) for each in words]
    given = {**image_environment(), **REHEARSAL["environment"], "POLL_SECONDS": "0.05"}
    kept = {name: given[name] for name in given if name != "PATH"}
    done = run(tmp_path, *words, **kept)
    assert done.code == 0, done.out + done.err
    report = tmp_path / "rehearsal.xml"
    assert ElementTree.parse(report).getroot().tag == "testsuites"
