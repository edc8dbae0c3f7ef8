"""JUnit's XML: what all that is written in it has in common; pure."""

from xml.etree import ElementTree as xml


def written(suite: xml.Element) -> str:
    """Write a file that has this one suite."""
    whole = xml.Element("testsuites")
    whole.append(suite)
    xml.indent(whole)
    text: str = xml.tostring(whole, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def xml_text(text: str) -> str:
    """Leave out what XML cannot hold."""
    return "".join(each for each in text if each in "\n\t" or each.isprintable())
