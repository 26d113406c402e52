"""``envcfg profiles probe``: compare a profile with its system."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.backends.launchers import is_local
from envcfg.commands.job_target import user_name
from envcfg.commands.option_arguments import add_table, made_by, read_step
from envcfg.commands.printing import say, tell
from envcfg.common.interrupts import raise_signals
from envcfg.core.option import NO_DEFAULT, Option, Table, no_default, write_options
from envcfg.core.request_options import REQUEST
from envcfg.core.step import SAME, Step, step_values
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import READ
from envcfg.site.machine import job_kind, scheduler_here

if TYPE_CHECKING:
    from envcfg.commands.arguments.parser import Parser
    from envcfg.common.safe_output import Output
    from envcfg.report.probe_report import Document
    from envcfg.site.machine_facts import Site
    from envcfg.site.observations import Observations

_EXAMPLE = "envcfg profiles probe --container pytorch.sif"
# Two nodes are the fewest that use the network between nodes.
_NODES = 2
_MINUTES = "10"


def add_options(parser: Parser) -> None:
    """Add the options of a job, of a step, and of the report."""
    own: Table = {
        "the report": (
            Option(
                "--output",
                "its JSON (default: probe-PROFILE.json)",
                metavar="FILE.json",
                short="-o",
            ),
            Option("--force", "replace files that envcfg did not write", kind="switch"),
            no_default(REQUEST, SAME),
        )
    }
    add_table(parser, {**REQUEST, **SAME, **own})
    # Without an image, nodes can still be examined; only the collective is left
    # out.
    container = parser.known_options["--container"]
    container.required, container.default = False, "none"


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Submit the job, or run as the job."""
    step = read_step(options, _EXAMPLE)
    kind = step.profile.kind
    plain = "-".join([step.profile.name, *([kind.name] if kind else [])])
    path = os.path.abspath(options.output or f"probe-{plain}.json")
    from envcfg.common.safe_output import Output, check_outputs

    example = "-o probe.json"
    output = Output(path, "--output", example, step.inputs, force=options.force)
    # The check comes before the submission: a job should not fail after waiting in
    # the queue.
    check_outputs([output])
    say([*step.findings, *step.notes])
    # On a machine without a scheduler, the probe examines this machine.
    if not job_kind() and scheduler_here() and not is_local(step.options.launcher):
        return _submit(options, step, path)
    return _look(options, step, output, catalog)


def _submit(options: argparse.Namespace, step: Step, path: str) -> int:
    """Submit the job that runs this command again on its first node."""
    from envcfg.commands.submit_option import send_job
    from envcfg.core.job_request import make_job

    values = vars(options)
    values["nodes"] = values["nodes"] or _NODES
    # The job needs a name and a size; the user's values win.
    values["time"] = values["time"] or _MINUTES
    values["job_name"] = values["job_name"] or "envcfg-probe"
    words = write_options(SAME, step_values(step))
    # The defaults are already in the words, so the job must not read the files
    # again.
    command = ["envcfg", "profiles", "probe", NO_DEFAULT, "all", *words, "-o", path]
    command += ["--force"] if options.force else []
    origin = made_by(options.argv, step)
    job = make_job(step, values, command, place=None, made_by=origin, is_direct=True)
    say(job.findings)
    options.output, options.dry_run, options.json = None, False, False
    code = send_job(options, job, step)
    # The submission reuses code of envcfg job, whose options this command does not
    # have.
    if not code:
        tell(f"when the job has ended, its report is {path}")
    return code


def _look(
    options: argparse.Namespace, step: Step, output: Output, catalog: Catalog
) -> int:
    """Run as the job: write the report, and complete the profile of an unknown cluster."""
    from envcfg.common.safe_output import write_outputs
    from envcfg.report.probe_report import probe_json, probe_lines
    from envcfg.report.styled import put

    document, observations, site = _probe(options, step)
    write_outputs([(output, probe_json(document).encode())])
    put(probe_lines(document))
    tell(f"the report is {output.name}")
    # Only a generated profile is filled in. A written one belongs to its author.
    if step.profile.name.startswith(READ):
        from envcfg.site.measurement import measured
        from envcfg.site.unknown_cluster import fill_in

        say(fill_in(catalog, step.profile.name, measured(site, observations)))
    return 1 if any(e["verdict"] == "contradicted" for e in document["values"]) else 0


def _probe(
    options: argparse.Namespace, step: Step
) -> tuple[Document, Observations, Site]:
    """Run the steps on the nodes of this job; return the report and its sources."""
    from envcfg.commands.preflight_steps import Steps, wanted_of
    from envcfg.core.selection import open_catalog
    from envcfg.job.plan.resolve import resolve
    from envcfg.job.plan.tasks import choose_launcher
    from envcfg.nodes.preflight.preflight_judge import Answers, judge_all
    from envcfg.nodes.preflight.preflight_rows import VISIBLE, job_facts, node_facts
    from envcfg.nodes.preflight.progress import Limits
    from envcfg.nodes.probe.probes import SITE
    from envcfg.profile.look.value_list import look_at
    from envcfg.site.machine import job_site, this_site
    from envcfg.site.measurement import asked_of, probe_document
    from envcfg.site.observations import Observations
    from envcfg.site.profile_comparison import hold

    requirements, limits = wanted_of(step), Limits()
    # The nodes are examined outside the image, which may lack the tools.
    bare = step.options._replace(container=None, image_file=None, runtime=None)
    paths, words = asked_of(step.profile)
    request = requirements._replace(devices=paths)
    on_nodes = Steps(step._replace(options=bare), request, limits, options.argv)
    raise_signals()  # an interruption must end the steps
    answers, ended = on_nodes.look_at_nodes(SITE, words)
    answered = Answers(answers, ended)
    if step.options.container is not None:
        in_image = Steps(step, requirements, limits, options.argv)
        answered = in_image.add(answered)
    raise_signals(False)
    report = judge_all(requirements, answered, needs_fast=False)
    # A missing device contradicts the profile. It is not a fault of the node.
    findings = [finding for some in report.nodes.values() for finding in some]
    say(
        finding
        for finding in (*report.job, *findings)
        if finding.rule != "device-missing"
    )
    site = this_site()
    folders = on_nodes.folders()
    node_answers = [answers[host] for host in requirements.hosts if host in answers]
    starter = choose_launcher(step.profile, step.options)[1]
    # Only the names of variables are recorded, because values may be secret.
    observations = Observations(
        job={
            "starter": ((starter.name,),),
            "visible": tuple((name,) for name in VISIBLE if name in os.environ),
            **job_site(site, requirements.hosts),
            **job_facts(report, answered.log),
        },
        nodes=tuple(
            node_facts(node_answer, folders)
            for node_answer in node_answers
            # A cut answer could contradict values that are right.
            if node_answer.is_whole
        ),
    )
    # The unchanged files are compared, even old values and those that the scheduler
    # overrides.
    writable = bool(step.option_values["allow_writable"])
    catalog, name = open_catalog(writable=writable), step.profile_name
    known = resolve(step.profile, step.profile_hash, step.options).facts
    facts = {fact_name: fact.value for fact_name, fact in known.items()}
    view = look_at(catalog.load(name), catalog.layers(name), facts)
    comparisons, names = (
        list(hold(view, observations)),
        _names(site, requirements.hosts),
    )
    profile_id = step.profile.name, step.profile_hash
    return (
        probe_document(profile_id, facts, observations, comparisons, names),
        observations,
        site,
    )


def _names(site: Site, hosts: Sequence[str]) -> Mapping[str, str]:
    """Return a replacement for each name that the report must not contain."""
    names = {site.host: "host", site.host.partition(".")[0]: "host"}
    for number, host in enumerate(hosts, 1):
        # Both forms are replaced, because tools print the short or the full name.
        names |= {host: f"node {number}", host.partition(".")[0]: f"node {number}"}
    names |= dict.fromkeys(site.accounts, "account")
    names[os.environ.get("SLURM_JOB_ACCOUNT", "")] = "account"
    # The report is made to be published, so it must not show users or accounts.
    return {**names, os.path.expanduser("~"): "~", f"/{user_name()}": "/user"}
