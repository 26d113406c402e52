"""Comments on each rank: its identity, cores and GPU mask, with their sources; pure.

The modules declare the source of each value in their heads (``ranks``). A module that
comes later replaces the source of an earlier one.
"""

from collections.abc import Iterator

from envcfg.job.plan.plan import Plan
from envcfg.job.script.launch_line import is_bound_by_user
from envcfg.job.script.module_choice import masks_of, plan_modules
from envcfg.job.script.modules import module
from envcfg.job.script.settings import comment_lines
from envcfg.profile.conditions import FACTS, IN_JOB
from envcfg.profile.job_facts import Reason

# The notes on settings that the user's options or the image exclude.
_EXCLUDED = frozenset({"network-left-open", "bundle-left-out"})


def rank_comments(plan: Plan) -> str:
    """Return comments on the ranks of a script, and on settings that are left out."""
    lines = ["Each rank has:", *_identity(plan)]
    if left_out := [*_left_out(plan)]:
        lines += ["Settings of the profile that are left out, and why:", *left_out]
    return "".join(comment_lines(line, "") for line in lines)


def _identity(plan: Plan) -> Iterator[str]:
    """Yield the source of each variable and binding of a rank."""
    sources: dict[str, str] = {}
    for name in plan_modules(plan):
        if text := " ".join(module(name).declared("ranks")):
            sources |= dict(row.split(" ", 1) for row in text.split(", "))
    layer, masks = plan.visibility, masks_of(plan)
    if layer:
        sources["GPU mask"] = f"{layer.variable}{_source(layer.reason)}"
    if is_bound_by_user(plan):
        sources["cores"] = "by an option of this job"
    elif masks:
        sources["cores"] += _source(masks.reason)
    if "MASTER_ADDR" in {setting.name for setting in plan.settings}:
        sources["MASTER_ADDR"] = "set below"
    yield from (f"- {name}: {text}" for name, text in sources.items())


def _source(reason: Reason) -> str:
    return f" ({reason.source}, {reason.date})"


def _left_out(plan: Plan) -> Iterator[str]:
    """Yield the settings of the profile that the job does not get, by their reason."""
    reasons = {
        note.subject: note.message for note in plan.notes if note.rule in _EXCLUDED
    }
    given = {setting.name for setting in plan.settings} | reasons.keys()
    facts = {name: fact.default for name, fact in FACTS.items()}
    facts |= {name: fact.value for name, fact in plan.facts.items()}
    for setting in filter(None, plan.profile.env.values()):
        if setting.name not in given:
            tested = {
                test.fact for case in setting.cases for test in case.when
            } - IN_JOB
            texts = (f"{name}={facts[name] or 'unknown'}" for name in sorted(tested))
            reasons[setting.name] = ", ".join(texts)
    for reason in dict.fromkeys(reasons.values()):
        names = ", ".join(name for name in reasons if reasons[name] == reason)
        yield f"- {names}: {reason}"
