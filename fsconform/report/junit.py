"""junit.xml: one test case per cell. Violated = failure, inconclusive = error, observed = passed, n/a = skipped."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as Xml

from fsconform.report.accusations import Accusation, accusations_of
from fsconform.report.asides import search_line
from fsconform.report.digest import outcomes_text, rate_of
from fsconform.report.escaping import visible
from fsconform.report.verdict_text import sentence, status_line
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict

_ELEMENTS = {Verdict.VIOLATED: "failure", Verdict.INCONCLUSIVE: "error", Verdict.NOT_APPLICABLE: "skipped"}


def junit_text(record: RunRecord) -> str:
    """The text of junit.xml. Valid XML 1.0: every character outside it stands as a visible escape."""
    accusations = {accusation.title: accusation for accusation in accusations_of(record)}
    root = Xml.Element("testsuites", name="fsconform")
    by_family: dict[str, list[CellResult]] = {}
    for result in record.cells:
        by_family.setdefault(result.cell.family, []).append(result)
    for family, results in by_family.items():
        _add_suite(root, record, family, (_cell_case(result, accusations) for result in results))
    if record.search.rounds:
        _add_suite(root, record, "search", _search_cases(record))
    if record.inconclusive or record.interrupted:
        _add_suite(root, record, "run", [_run_case(record)])
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", f"{record.duration_s:.3f}")
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(root: Xml.Element, record: RunRecord, name: str, cases: Iterable[Xml.Element]) -> None:
    suite = Xml.SubElement(root, "testsuite", name=name, timestamp=visible(record.started[:19]))
    properties = Xml.SubElement(suite, "properties")
    if root.find("testsuite/properties") is properties:  # the first suite says what all of them mean
        for verdict in record.applications:
            told = f"{verdict}: {verdict.why}"
            Xml.SubElement(properties, "property", name=f"application {visible(verdict.name)}", value=visible(told))
    facts = {"profile": record.profile, "seed": str(record.seed), "command": record.command, "model": record.model_note}
    for key, value in facts.items():
        Xml.SubElement(properties, "property", name=key, value=visible(value))
    suite.extend(cases)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for count, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{element}"))))


def _case(classname: str, name: str) -> Xml.Element:
    return Xml.Element("testcase", classname=visible(classname), name=visible(name), time="0")


def _cell_case(result: CellResult, accusations: dict[str, Accusation]) -> Xml.Element:
    case = _case(result.cell.property_id, result.cell.id)
    if element := _ELEMENTS.get(result.verdict):
        node = Xml.SubElement(case, element, message=visible(result.judgement.reason) or result.verdict.value)
        if element != "skipped":
            node.set("type", result.verdict.value)
        if result.cell.id in accusations:
            node.text = _accusation_text(accusations[result.cell.id])
    lines = [f"{result.verdict.value}: {visible(result.judgement.reason)}", f"promise: {visible(str(result.promise))}"]
    lines += [f"rate: {rate_of(result)}", f"outcomes: {outcomes_text(result)}"]
    Xml.SubElement(case, "system-out").text = "\n".join(lines)
    return case


def _accusation_text(accusation: Accusation) -> str:
    events = [f"{m.when}  {m.where}  {m.what}  {m.result}" for m in accusation.timeline]
    return "\n".join(
        [f"expected: {accusation.expected}", f"got: {accusation.got}", f"where: {accusation.where}", accusation.story,
         *accusation.program, *events, f"again: {accusation.again}"]
    )  # fmt: skip


def _search_cases(record: RunRecord) -> list[Xml.Element]:
    cases = []
    told = [accusation for accusation in accusations_of(record) if accusation.title.startswith("search: ")]
    for accusation in told:
        case = _case(accusation.property_id, accusation.title)
        Xml.SubElement(case, "failure", message=accusation.got, type="violated").text = _accusation_text(accusation)
        cases.append(case)
    if not told:
        cases.append(_case("search", "search"))
    Xml.SubElement(cases[-1], "system-out").text = search_line(record)
    return cases


def _run_case(record: RunRecord) -> Xml.Element:
    case = _case("run", "interrupted" if record.interrupted else "conclusive")
    node = Xml.SubElement(case, "error", message=sentence(record), type=status_line(record))
    node.text = visible(record.how_to)
    return case
