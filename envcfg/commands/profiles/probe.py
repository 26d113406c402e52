"""``envcfg profiles probe`` and ``confirm``: a profile is held against its system."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.commands.job_target import user_name
from envcfg.commands.options import add_same, add_table, made_by, read_step
from envcfg.commands.printing import say, tell
from envcfg.core.option import NO_DEFAULT, Option, Table, no_default, write_options
from envcfg.core.request_options import REQUEST
from envcfg.core.site import job_kind, scheduler_here
from envcfg.core.step import SAME, Step, step_values
from envcfg.errors import LibraryError, UsageError
from envcfg.interrupts import raise_signals
from envcfg.launchers import is_local
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import READ

if TYPE_CHECKING:
    from envcfg.core.seen import Seen
    from envcfg.parser import Parser
    from envcfg.profile.site.model import Site
    from envcfg.report.probe import Document
    from envcfg.safe_output import Output

_EXAMPLE = "envcfg profiles probe --container pytorch.sif"
_NODES = 2
_MINUTES = "10"


def add_options(parser: Parser) -> None:
    """Add the options: of a job, of a step, and where the report goes."""
    own: Table = {
        "the report": (
            Option(
                "--output",
                "its JSON; the page is written next to it (default: probe-PROFILE.json)",
                metavar="FILE.json",
                short="-o",
            ),
            Option("--force", "replace files that envcfg did not write", kind="switch"),
            no_default(REQUEST, SAME),
        )
    }
    add_same(parser)
    add_table(parser, {**REQUEST, **SAME, **own})
    container = parser.known_options["--container"]
    container.required, container.default = False, "none"


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Submit the job, or be the job."""
    step = read_step(options, _EXAMPLE)
    name = step.profile_name.rpartition(":")[2]
    plain = os.path.basename(name).removesuffix(".yaml")
    path = os.path.abspath(options.output or f"probe-{plain}.json")
    from envcfg.safe_output import Output, check_outputs

    outputs = [
        Output(each, "--output", "-o probe.json", step.inputs, force=options.force)
        for each in (path, f"{path.removesuffix('.json')}.html")
    ]
    check_outputs(outputs)
    say([*step.findings, *step.notes])
    if not job_kind() and scheduler_here() and not is_local(step.options.launcher):
        return _submit(options, step, path)
    return _look(options, step, outputs, catalog)


def _submit(options: argparse.Namespace, step: Step, path: str) -> int:
    """Submit the job that runs this command again on its first node."""
    from envcfg.commands.submission import send_job
    from envcfg.core.job import make_job

    values = vars(options)
    values["nodes"] = values["nodes"] or _NODES
    values["time"] = values["time"] or _MINUTES
    values["job_name"] = values["job_name"] or "envcfg-probe"
    words = write_options(SAME, step_values(step))
    command = ["envcfg", "profiles", "probe", NO_DEFAULT, "all", *words, "-o", path]
    command += ["--force"] if options.force else []
    made = made_by(options.argv, step)
    job = make_job(step, values, command, inline=False, made_by=made, is_direct=True)
    say(job.findings)
    options.output, options.dry_run, options.json = None, False, False
    code = send_job(options, job, step)
    if not code:
        hint = "envcfg profiles confirm PROFILE.yaml REPORT.json records the run"
        tell(f"when the job has ended, its report is {path}", hint)
    return code


def _look(
    options: argparse.Namespace, step: Step, outputs: list[Output], catalog: Catalog
) -> int:
    """Be the job: write the report, and fill in the profile of a cluster like none."""
    from envcfg.report.probe import probe_html, probe_json, probe_lines
    from envcfg.report.styled import put
    from envcfg.safe_output import write_outputs

    document, seen, site = _probe(options, step)
    texts = [probe_json(document)]
    try:
        texts.append(probe_html(document))
    except LibraryError as err:
        tell(f"the page is not written: {err.message}", err.hint)
    write_outputs([(o, text.encode()) for o, text in zip(outputs, texts, strict=False)])
    put(probe_lines(document))
    tell(f"the report is {' and '.join(o.name for o in outputs[: len(texts)])}")
    if step.profile.name.startswith(READ):
        from envcfg.core.here import fill_in
        from envcfg.core.measured import measured

        say(fill_in(catalog, step.profile.name, measured(site, seen)))
    return 1 if any(e["verdict"] == "contradicted" for e in document["values"]) else 0


def _probe(options: argparse.Namespace, step: Step) -> tuple[Document, Seen, Site]:
    """Run the steps on the nodes of this job; return the report, and what it is made of."""
    from envcfg.commands.preflight_steps import Steps, wanted_of
    from envcfg.core.holding import hold
    from envcfg.core.measured import asked_of, probe_document
    from envcfg.core.seen import Seen
    from envcfg.core.selection import open_catalog
    from envcfg.core.site import job_site, this_site
    from envcfg.launch.resolve import resolve
    from envcfg.launch.tasks import choose_launcher
    from envcfg.preflight.facts import VISIBLE, job_facts, node_facts
    from envcfg.preflight.judge import Seen as Answered
    from envcfg.preflight.judge import judge_all
    from envcfg.preflight.progress import Limits
    from envcfg.probe.probes import SITE
    from envcfg.profile.look.view import look_at

    wanted, limits = wanted_of(step), Limits()
    bare = step.options._replace(container=None, image_file=None, runtime=None)
    paths, words = asked_of(step.profile)
    asked = wanted._replace(devices=paths)
    on_nodes = Steps(step._replace(options=bare), asked, limits, options.argv)
    raise_signals()  # steps must be ended
    answers, ended = on_nodes.look_at_nodes(SITE, words)
    answered = Answered(answers, ended)
    if step.options.container is not None:
        in_image = Steps(step, wanted, limits, options.argv)
        answered = in_image.add(answered, diagnostics=False)
    raise_signals(False)
    report = judge_all(wanted, answered, needs_fast=False)
    # What is not there is held against the profile, and is no fault of a node.
    found = [each for some in report.nodes.values() for each in some]
    say(each for each in (*report.job, *found) if each.rule != "device-missing")
    site = this_site()
    folders = on_nodes.folders()
    whole = [answers[each] for each in wanted.hosts if each in answers]
    starter = choose_launcher(step.profile, step.options)[1]
    seen = Seen(
        job={
            "starter": ((starter,),),
            "visible": tuple((name,) for name in VISIBLE if name in os.environ),
            **job_site(site, wanted.hosts),
            **job_facts(report, answered.log),
        },
        nodes=tuple(node_facts(each, folders) for each in whole if each.is_whole),
    )
    # As the files say it: what is old, or the scheduler says otherwise, is held, too.
    catalog, name = open_catalog(), step.profile_name
    known = resolve(step.profile, step.profile_hash, step.options).facts
    facts = {each: fact.value for each, fact in known.items()}
    view = look_at(catalog.load(name), catalog.layers(name), facts)
    held, names = list(hold(view, seen)), _names(site, wanted.hosts)
    named = step.profile.name, step.profile_hash
    return probe_document(named, facts, seen, held, names), seen, site


def _names(site: Site, hosts: Sequence[str]) -> Mapping[str, str]:
    """Return what stands in the report for each name that it must not have."""
    names = {site.host: "host", site.host.partition(".")[0]: "host"}
    for number, host in enumerate(hosts, 1):
        names |= {host: f"node {number}", host.partition(".")[0]: f"node {number}"}
    names |= dict.fromkeys(site.accounts, "account")
    names[os.environ.get("SLURM_JOB_ACCOUNT", "")] = "account"
    return {**names, os.path.expanduser("~"): "~", f"/{user_name()}": "/user"}


def add_confirm(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``confirm``."""
    parser.add_argument("profile", metavar="PROFILE.yaml", help="the profile's file")
    parser.add_argument(
        "report", metavar="REPORT.json", help="what envcfg profiles probe wrote"
    )


def confirm(options: argparse.Namespace, catalog: Catalog) -> int:
    """Write the profile with its run."""
    from envcfg.core.confirmation import confirm
    from envcfg.safe_output import Output, check_outputs, write_outputs

    path, report = options.profile, options.report
    for name in (path, report):
        if not os.path.isfile(name):
            msg = f"{name}: no such file"
            raise UsageError(
                msg, hint="envcfg profiles confirm PROFILE.yaml REPORT.json"
            )
    output = Output(path, "PROFILE.yaml", path, [report], force=True)
    check_outputs([output])
    with open(report, "rb") as file:
        data = file.read()
    text = confirm(catalog, os.path.abspath(path), report, data)
    write_outputs([(output, text.encode())])
    tell(f"{path}: its section run is from {report}")
    return 0
