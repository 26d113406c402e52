"""What is asked of the scheduler: the rules of each system, their limits, the waste."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from envcfg.common.errors import UsageError
from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.job.request.charge import Shares, charge, free_shares
from envcfg.job.request.queue_limits import longest
from envcfg.job.request.request import Request, make_request
from envcfg.job.request.shape import RequestError, Signal, UserRequest, tasks_per_node
from envcfg.profile.catalog import Catalog
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import UNASKED

LUMI = {"--account": "project_1", "--job-name": "j"}
SMALL = {**LUMI, "--partition": "small-g"}
DEBUG = {"--account": "a", "--partition": "debug", "--job-name": "j"}
MAHTI = {"--account": "project_1", "--job-name": "j", "--partition": "gpumedium"}


def request_of(
    catalog: Catalog,
    name: str,
    launcher: str | None = None,
    ranks: int | None = None,
    **asked: Any,  # noqa: ANN401  # the fields of Asked
) -> Request:
    profile = catalog.load(name)
    plan = resolve(profile, "0" * 64, Options(launcher=launcher, ranks=ranks))
    return make_request(profile, plan, UserRequest(**asked))


def lines_of(request: Request) -> dict[str, str | None]:
    return {line.option: line.value for line in request.lines}


# profile, what is asked for, the lines that follow (None: no such line)
ASKED: dict[str, tuple[str, dict[str, Any], dict[str, str | None]]] = {
    "a whole node": ("lumi-g", {"other_options": LUMI}, {
        "--nodes": "1", "--gpus-per-node": "8", "--ntasks-per-node": "8",
        "--cpus-per-task": "7", "--mem": "480G", "--partition": "standard-g"}),
    "16 GPUs": ("lumi-g", {"gpus": 16, "other_options": LUMI}, {"--nodes": "2", "--gpus-per-node": "8"}),
    "2 GPUs": ("lumi-g", {"gpus": 2, "other_options": SMALL}, {
        "--nodes": "1", "--gpus-per-node": "2", "--mem": "120G", "--cpus-per-task": "7"}),
    "GPUs over nodes": ("lumi-g", {"gpus": 4, "nodes": 2, "other_options": SMALL}, {"--gpus-per-node": "2"}),
    "GPUs by the node": ("lumi-g", {"gpus": 6, "gpus_per_node": 3, "other_options": SMALL}, {"--nodes": "2"}),
    "torchrun": ("lumi-g", {"launcher": "torchrun", "other_options": LUMI}, {
        "--ntasks-per-node": "1", "--cpus-per-task": "56"}),
    "two ranks for a GPU": ("lumi-g", {"ranks": 16, "other_options": LUMI}, {
        "--ntasks-per-node": "16", "--cpus-per-task": "3"}),
    "a type of GPU": ("mahti", {"other_options": MAHTI}, {"--gres": "gpu:a100:4", "--mem": "490G"}),
    "local disk": ("puhti", {"nvme": 100, "other_options": {**MAHTI, "--partition": "gpu"}}, {
        "--gres": "gpu:v100:4,nvme:100"}),
    "memory comes with the GPU": ("roihu", {"other_options": {**MAHTI, "--partition": "gputest"}}, {
        "--gres": "gpu:gh200:4", "--mem": None, "--cpus-per-task": "72"}),
    "all comes with the GPU": ("setonix", {"other_options": {"--account": "p-gpu", "--job-name": "j"}}, {
        "--gpus-per-node": "8", "--mem": None, "--ntasks-per-node": None,
        "--cpus-per-task": None, "--exclusive": None}),
    "a network": ("frontier", {"other_options": LUMI}, {"--network": "disable_rdzv_get"}),
    "a disk for the caches": ("frontier", {"other_options": LUMI}, {"--constraint": "nvme"}),
    "a disk beside a constraint": ("frontier", {"other_options": {**LUMI, "--constraint": "a"}}, {"--constraint": "a&nvme"}),
    "a disk beside either": ("frontier", {"other_options": {**LUMI, "--constraint": "a|b"}}, {"--constraint": "(a|b)&nvme"}),
    "a disk that is asked for": ("frontier", {"other_options": {**LUMI, "--constraint": "a&nvme"}}, {"--constraint": "a&nvme"}),
    "a disk by its size": ("frontier", {"nvme": 100, "other_options": LUMI}, {"--constraint": "nvme"}),
    "a constraint": ("adastra-mi300a", {"other_options": LUMI}, {
        "--constraint": "MI300", "--exclusive": None, "--mem": "500G"}),
    "the usual constraint": ("perlmutter", {"other_options": {"--account": "m_g", "--job-name": "j"}}, {"--constraint": "gpu"}),
    "a constraint of one's own": ("perlmutter", {"other_options": {"--account": "m_g", "--constraint": "gpu&hbm80g", "--job-name": "j"}}, {
        "--constraint": "gpu&hbm80g"}),
    "a QOS": ("perlmutter", {"other_options": {"--account": "m_g", "--constraint": "gpu", "--job-name": "j"}}, {
        "--qos": "regular", "--exclusive": None}),
    "only one value is refused": ("alps-clariden", {"other_options": {"--job-name": "j"}}, {"--mem": "448G"}),
    "a signal": ("lumi-g", {"other_options": LUMI, "signal": Signal("USR1", 120), "seconds": 600}, {
        "--signal": "USR1@120", "--requeue": None, "--time": "00:10:00"}),
    "an array": ("lumi-g", {"other_options": {**LUMI, "--array": "0-9"}}, {
        "--array": "0-9", "--output": "%x-%A_%a.out"}),
    "what the user names": ("lumi-g", {"other_options": {**LUMI, "--output": "log"}}, {"--output": "log"}),
    "as it stands": ("lumi-g", {"other_options": LUMI, "extra": ("--reservation=x", "--hold")}, {
        "--reservation": "x", "--hold": None}),
    "by another way": ("perlmutter", {"other_options": {"--account": "m_g", "--constraint": "gpu", "--job-name": "j"},
                       "extra": ("--licenses=scratch",)}, {"--licenses": "scratch"}),
    "Flux": ("tuolumne", {"other_options": {"--account": "guests", "--job-name": "j"}}, {
        "--partition": "pbatch", "--exclusive": None, "-g": None, "--ntasks-per-node": None}),
    "PBS": ("polaris", {"other_options": DEBUG, "seconds": 60}, {
        "--filesystems": "home:eagle", "--system": "polaris", "--output": None, "--mem": None,
        "--gpus-per-node": None, "--cpus-per-task": None, "--exclusive": None}),
    "cores, not threads": ("jean-zay", {"other_options": {**LUMI, "--account": "a@h100"}}, {
        "--hint": "nomultithread", "--cpus-per-task": "24"}),
    "threads, by one's own choice": ("meluxina", {"other_options": {**LUMI, "--account": "p200001"},
                                     "extra": ("--hint=multithread",)}, {"--hint": "multithread"}),
    "other file systems": ("polaris", {"other_options": DEBUG, "extra": ("--filesystems=home",)}, {
        "--filesystems": "home"}),
    "GPUs of PBS": ("derecho", {"gpus": 2, "other_options": {**LUMI, "--partition": "develop"}}, {
        "--ngpus": "2", "--partition": "develop"}),
}  # fmt: skip
PRESENT = {("a constraint", "--exclusive"), ("a QOS", "--exclusive"), ("as it stands", "--hold"), ("Flux", "--exclusive"), ("PBS", "--output")}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_the_request_obeys_the_system(name: str, built_in: Catalog) -> None:
    profile, asked, expected = ASKED[name]
    lines = lines_of(request_of(built_in, profile, **asked))
    for option, value in expected.items():
        if value is None and (name, option) not in PRESENT:
            assert option not in lines
        else:
            assert lines[option] == value


def test_every_line_says_why(built_in: Catalog) -> None:
    for profile, asked, _ in ASKED.values():
        request = request_of(built_in, profile, **asked)
        assert all(line.why for line in request.lines)


# profile, what is asked for, what is said against it, the remedy
REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "no account": ("lumi-g", {}, "--account is missing: time is granted", "give your own, as in --account project_465000000"),
    "not such an account": ("setonix", {"other_options": {"--account": "paw"}}, "--account paw does not match *-gpu", "matches *-gpu"),
    "no partition": ("juwels-booster", {"other_options": LUMI}, "--partition is missing", "one of: booster, develbooster"),
    "no QOS": ("marenostrum5-acc", {"other_options": LUMI, "seconds": 60}, "--qos is missing", "one of: acc_debug, acc_ehpc, acc_interactive, or another like acc_*"),
    "no time": ("isambard-ai", {}, "--time is missing", "give --time"),
    "another constraint": ("perlmutter", {"other_options": {"--account": "m_g", "--constraint": "cpu"}}, "--constraint cpu does not match gpu*", "gpu*"),
    "a slip": ("lumi-g", {"other_options": {**LUMI, "--partition": "standrad-g"}}, "has no partition", "did you mean 'standard-g'"),
    "too many nodes": ("lumi-g", {"nodes": 5, "other_options": SMALL}, "5 nodes, but partition small-g gives a job 4 at most", "ask for less, or give --partition standard-g or --partition dev-g"),
    "too many GPUs": ("mahti", {"other_options": {**MAHTI, "--partition": "gpusmall"}}, "4 GPUs, but partition gpusmall gives a job 2", "ask for less"),
    "too long for its size": ("frontier", {"nodes": 91, "seconds": 7201, "other_options": LUMI}, "--time 02:00:01 is more than partition batch gives 91 nodes: 02:00:00", "ask for less, or choose another --partition"),
    "long and small": ("frontier", {"nodes": 64, "seconds": 10800, "other_options": LUMI}, "gives 64 nodes: 02:00:00", "or give --partition extended"),
    "large without its QOS": ("leonardo", {"nodes": 128, "other_options": LUMI}, "128 nodes, but partition boost_usr_prod gives a job 64 at most", "ask for less, or give --qos boost_qos_bprod"),
    "long without its QOS": ("leonardo", {"nodes": 2, "seconds": 172800, "other_options": LUMI}, "2-00:00:00 is more than partition boost_usr_prod gives: 1-00:00:00", "or give --qos boost_qos_lprod"),
    "too small for its QOS": ("leonardo", {"nodes": 2, "other_options": {**LUMI, "--qos": "boost_qos_bprod"}}, "2 nodes, but QOS boost_qos_bprod gives a job 65 at least", "ask for more, or leave out --qos"),
    "too long for its QOS": ("perlmutter", {"seconds": 3600, "other_options": {"--account": "m_g", "--constraint": "gpu", "--qos": "debug"}}, "--time 01:00:00 is more than QOS debug gives: 00:30:00", "--qos regular or --qos interactive"),
    "a partition that is not there": ("marenostrum5-acc", {"seconds": 60, "other_options": {**LUMI, "--partition": "gpp", "--qos": "acc_debug"}}, "has no partition gpp", "known: acc"),
    "too few GPUs": ("roihu", {"gpus": 2, "other_options": {**LUMI, "--partition": "gpularge"}}, "2 GPUs, but partition gpularge gives a job 4 at least", "ask for more, or give --partition gputest"),
    "too long": ("lumi-g", {"seconds": 172801, "other_options": LUMI}, "2-00:00:01 is more than partition standard-g gives: 2-00:00:00", "ask for less"),
    "more than a node's GPUs": ("lumi-g", {"gpus_per_node": 9, "other_options": LUMI}, "a node has 8", "8 at most"),
    "more than a node's cores": ("lumi-g", {"cpus_per_gpu": 8, "other_options": LUMI}, "a job can have 56 cores of a node", "7 here at most"),
    "more than a node's memory": ("lumi-g", {"mem_per_gpu": "64G", "other_options": LUMI}, "a job can have 480G", "60G here at most"),
    "uneven": ("lumi-g", {"gpus": 9, "other_options": LUMI}, "9 GPUs are no multiple of 8 GPUs per node", "--gpus-per-node M"),
    "uneven on the nodes of the user": ("lumi-g", {"gpus": 9, "nodes": 2, "other_options": LUMI}, "9 GPUs are not the same number on each of 2 nodes", "--gpus-per-node M"),
    "uneven over nodes": ("lumi-g", {"gpus": 3, "nodes": 2, "other_options": LUMI}, "3 GPUs are not", "--gpus-per-node M"),
    "fewer GPUs than nodes": ("lumi-g", {"gpus": 1, "nodes": 2, "other_options": LUMI}, "1 GPUs are not", "--gpus-per-node M"),
    "contradiction": ("lumi-g", {"gpus": 9, "gpus_per_node": 4, "other_options": LUMI}, "9 GPUs are no multiple of 4 GPUs per node", "--gpus-per-node M"),
    "no node known": ("slingshot-rocm", {}, "does not say how many GPUs", "--gpus-per-node"),
    "forbidden memory": ("setonix", {"mem_per_gpu": "10G", "other_options": {"--account": "p-gpu"}}, "--mem-per-gpu must not be given: memory comes", "leave out"),
    "forbidden cores": ("setonix", {"cpus_per_gpu": 4, "other_options": {"--account": "p-gpu"}}, "--cpus-per-gpu must not be given: cores come", "leave out"),
    "no local disk": ("lumi-g", {"nvme": 10, "other_options": LUMI}, "has no local disk", "leave out --nvme"),
    "its own options": ("lumi-g", {"extra": ("--mem=1G",), "other_options": LUMI}, "--request-arg=--mem", "give --mem-per-gpu"),
    "no option of sbatch": ("lumi-g", {"extra": ("--tres-per-tsk=gpu:1",), "other_options": LUMI}, "sbatch: unrecognized option '--tres-per-tsk=gpu:1'", "did you mean --tres-per-task?"),
    "no time of sbatch": ("lumi-g", {"extra": ("--time-min=24h",), "other_options": LUMI}, "sbatch: error: Invalid --time-min specification", "as in --time-min=30 (minutes), --time-min=24:00:00 or --time-min=2-00:00:00"),
    "its own flags": ("lumi-g", {"extra": ("--time=1",), "other_options": LUMI}, "--request-arg=--time", "give --time"),
    "masks": ("lumi-g", {"cpus_per_gpu": 4, "other_options": LUMI}, "leaves cores of a whole node out, but", "remove it"),
    "a late signal": ("lumi-g", {"signal": Signal("USR1", 600), "seconds": 600, "other_options": LUMI}, "--signal 600 s before", "longer"),
    "a signal that ends srun": ("lumi-g", {"requeue": True, "signal": Signal("TERM", 60), "other_options": LUMI}, "srun does not forward TERM", "USR1@60"),
    "a signal that ends torchrun": ("lumi-g", {"requeue": True, "signal": Signal("USR1", 60), "launcher": "torchrun", "other_options": LUMI}, "the signal ends torchrun itself", "--launcher srun"),
    "an array on Flux": ("tuolumne", {"other_options": {"--account": "a", "--array": "0-1"}}, "--array is Slurm's", "leave out --array"),
    "a list on PBS": ("polaris", {"other_options": {**DEBUG, "--array": "1,3"}}, "--array 1,3: PBS takes one range", "0-9:2"),
    "a number in PBS' output": ("polaris", {"other_options": {**DEBUG, "--output": "%x-%j.out"}}, "--log %x-%j.out: PBS fills in %x alone", "leave --log out"),
    "no value of qsub": ("polaris", {"other_options": DEBUG, "extra": ("-r=perhaps",)}, "qsub: illegal -r value", "-r y or -r n"),
    "no letter of qsub": ("polaris", {"other_options": DEBUG, "extra": ("-Y=1",)}, "qsub: invalid option -- 'Y'", "leave it out"),
    "no option of flux": ("tuolumne", {"other_options": {"--account": "a"}, "extra": ("--dry-run=1",)}, "argument --dry-run: ignored explicit argument", "--dry-run alone"),
    "a signal on PBS": ("polaris", {"signal": Signal("USR1", 60), "other_options": DEBUG}, "--signal is Slurm's, and this is PBS", "leave out --signal"),
    "a queue": ("polaris", {"other_options": {"--account": "a"}}, "--partition is missing: the queue decides", "one of: debug, debug-scaling, prod"),
    "too small for a queue": ("polaris", {"nodes": 9, "other_options": {**DEBUG, "--partition": "prod"}}, "9 nodes, but partition prod gives a job 10 at least", "ask for more, or give --partition "),
    "too long for its size on PBS": ("polaris", {"nodes": 24, "seconds": 10801, "other_options": {**DEBUG, "--partition": "prod"}}, "--time 03:00:01 is more than partition prod gives 24 nodes: 03:00:00", "ask for less"),
    "a letter of PBS": ("polaris", {"extra": ("-q=prod",), "other_options": DEBUG}, "--request-arg=-q: the request already contains it", "give --partition"),
    "a resource of PBS": ("polaris", {"extra": ("--walltime=1",), "other_options": DEBUG}, "--request-arg=--walltime", "give --time"),
    "a letter of Slurm": ("lumi-g", {"extra": ("-x=n1",), "other_options": LUMI}, "Slurm's options have long names here", "--reservation=NAME"),
    "a bank": ("tuolumne", {}, "--account is missing: time is granted to banks", "give --account"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_system_refuses_is_an_error_with_its_remedy(
    name: str, built_in: Catalog
) -> None:
    profile, asked, message, hint = REFUSED[name]
    asked.setdefault("other_options", {})
    asked["other_options"] = {"--job-name": "j", **asked["other_options"]}
    with pytest.raises(RequestError) as caught:
        request_of(built_in, profile, **asked)
    found = [each for each in caught.value.findings if message in each.message]
    assert found, caught.value.findings
    assert hint in found[0].fix
    assert "://" not in found[0].message  # who says so stands in the source


@pytest.mark.parametrize(
    ("value", "refused"), [("gpu*", False), ("small*", True), ("small-g", True)]
)
def test_a_value_that_must_not_be_is_refused_and_no_other(
    built_in: Catalog, value: str, refused: bool
) -> None:
    profile = built_in.load("lumi-g")
    some = next(rule for rule in profile.rules.values() if rule)
    against = some._replace(option="--partition", rule="must not", value=value)
    profile = profile._replace(rules={"--partition": against})
    plan = resolve(profile, "0" * 64, Options())
    if not refused:
        assert (
            make_request(profile, plan, UserRequest(other_options=SMALL)).partition
            == "small-g"
        )
        return
    with pytest.raises(RequestError, match="--partition must not be small-g"):
        make_request(profile, plan, UserRequest(other_options=SMALL))


def superchips(built_in: Catalog) -> Profile:
    """Return a system whose nodes have one GPU, for which nobody asks."""
    profile = built_in.load("infiniband-cuda")
    node = built_in.load("roihu").node
    assert node is not None
    assert profile.request is not None
    asking = profile.request._replace(gpus=UNASKED)
    return profile._replace(request=asking, node=node._replace(gpus=2))


def test_gpus_that_are_not_asked_for_have_no_line(built_in: Catalog) -> None:
    profile = superchips(built_in)
    plan = resolve(profile, "0" * 64, Options())
    request = make_request(
        profile, plan, UserRequest(nodes=2, other_options={"--job-name": "j"})
    )
    lines = lines_of(request)
    assert lines["--ntasks-per-node"] == "2"
    assert not [option for option in lines if "gpu" in option or "gres" in option]


def test_some_of_the_gpus_that_are_not_asked_for_cannot_be_had(
    built_in: Catalog,
) -> None:
    profile = superchips(built_in)
    plan = resolve(profile, "0" * 64, Options())
    with pytest.raises(RequestError, match="jobs cannot request GPUs here") as caught:
        make_request(
            profile, plan, UserRequest(gpus=1, other_options={"--job-name": "j"})
        )
    assert "--ranks 1" in str(caught.value.findings[0].fix)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [(1, 7200), (91, 7200), (92, 21600), (183, 21600), (184, 43200), (9999, None)],
)
def test_the_longest_time_is_that_of_the_size(
    built_in: Catalog, nodes: int, expected: int | None
) -> None:
    batch = built_in.load("frontier").partitions["batch"]
    assert batch is not None
    assert longest(batch, nodes) == expected
    assert longest(batch, None) == 43200
    limited = batch._replace(time="1-00:00:00")
    assert longest(limited, nodes) == (expected or 86400)
    assert longest(limited, None) == 86400


def test_a_qos_is_for_its_partitions_alone(built_in: Catalog) -> None:
    profile = built_in.load("marenostrum5-acc")
    acc = profile.partitions["acc"]
    assert acc is not None
    profile = profile._replace(partitions={"acc": acc, "b": acc._replace(name="b")})
    plan = resolve(profile, "0" * 64, Options())
    named = {**LUMI, "--partition": "b", "--qos": "acc_debug"}
    with pytest.raises(RequestError, match="QOS acc_debug is not for partition b"):
        make_request(profile, plan, UserRequest(other_options=named, seconds=60))


def test_what_is_said_is_as_reviewed(
    built_in: Catalog, request: pytest.FixtureRequest
) -> None:
    parts = []
    for name, (profile, asked, *_) in REFUSED.items():
        named = {"--job-name": "j", **asked.get("other_options", {})}
        with pytest.raises(RequestError) as caught:
            request_of(built_in, profile, **{**asked, "other_options": named})
        parts += [f"# {name}", *caught.value.lines()]
    for name, (profile, asked, _) in SAID.items():
        made = request_of(built_in, profile, seconds=3600, **asked)
        _, words = charge(built_in.load(profile), made)
        lines = [each.lines() for each in (*made.findings, *words)]
        parts += [f"# {name}", *(line for each in lines for line in each)]
    text = "\n".join(parts) + "\n"
    golden = Path(__file__).parent / "golden/request.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_all_that_is_wrong_is_said_at_once(built_in: Catalog) -> None:
    with pytest.raises(RequestError) as caught:
        request_of(
            built_in,
            "lumi-g",
            nodes=5,
            other_options={"--job-name": "j", "--partition": "small-g"},
        )
    assert len(caught.value.findings) == 2
    assert len([each for each in caught.value.lines() if "hint" in each]) == 2


def test_without_a_scheduler_wrap_is_the_remedy(built_in: Catalog) -> None:
    with pytest.raises(UsageError) as caught:
        request_of(built_in, "workstation")
    assert "envcfg wrap" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("nodes", "segment"),
    [(1, None), (2, "2"), (16, "16"), (18, "18"), (20, "10"), (32, "16"), (36, "18"), (19, None)],
)  # fmt: skip
def test_parts_of_a_job_lie_in_one_nvlink_domain(
    built_in: Catalog, nodes: int, segment: str | None
) -> None:
    made = request_of(built_in, "coreweave-gb200", nodes=nodes)
    assert {line.option: line.value for line in made.lines}.get("--segment") == segment


def test_a_segment_that_is_given_stays_the_only_one(built_in: Catalog) -> None:
    given = {"nodes": 16, "extra": ("--segment=8",)}
    made = request_of(built_in, "coreweave-gb200", **given)
    found = [line.value for line in made.lines if line.option == "--segment"]
    assert found == ["8"]


# profile, what is asked for, the rules of what is said (cost aside)
SAID: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "nothing": ("lumi-g", {"other_options": {**LUMI, "--partition": "standard-g"}}, []),
    "the largest of a size": ("frontier", {"nodes": 91, "other_options": LUMI}, []),
    "a QOS beyond its partition": ("leonardo", {"nodes": 65, "other_options": {**LUMI, "--qos": "boost_qos_bprod", "--partition": "boost_usr_prod"}}, ["billing-unknown"]),
    "a QOS that nobody knows": ("leonardo", {"other_options": {**LUMI, "--qos": "eufus", "--partition": "boost_usr_prod"}}, ["queue-unknown", "billing-unknown"]),
    "a partition that nobody knows": ("roihu", {"other_options": {**LUMI, "--partition": "gpu-medium"}}, ["queue-unknown"]),
    "taken": ("lumi-g", {"other_options": LUMI}, ["taken-from-profile"]),
    "taken, though others are like it": ("perlmutter", {"other_options": {"--account": "m_g", "--qos": "regular", "--job-name": "j"}}, ["taken-from-profile", "billing-unknown"]),
    "GPUs by task": ("lumi-g", {"other_options": SMALL, "extra": ("--gpus-per-task=1",)}, ["option-discouraged"]),
    "exclusive": ("isambard-ai", {"exclusive": True, "gpus": 1, "nodes": 1, "other_options": {"--job-name": "j"}}, ["option-discouraged", "gpus-idle"]),
    "14 cores": ("lumi-g", {"gpus": 1, "cpus_per_gpu": 14, "other_options": SMALL}, ["share-wasted"]),
    "9 cores": ("lumi-g", {"gpus": 1, "cpus_per_gpu": 9, "other_options": SMALL}, ["share-wasted"]),
    "8 cores": ("lumi-g", {"gpus": 1, "cpus_per_gpu": 8, "other_options": SMALL}, []),
    "100 GiB": ("lumi-g", {"gpus": 1, "mem_per_gpu": "100G", "other_options": SMALL}, ["share-wasted"]),
    "a GPU of a node": ("lumi-g", {"gpus": 1, "other_options": {**LUMI, "--partition": "standard-g"}}, ["gpus-idle"]),
    "torchrun's end": ("lumi-g", {"launcher": "torchrun", "signal": Signal("USR1", 60), "other_options": {**LUMI, "--partition": "standard-g"}}, ["agent-ended-by-signal"]),
    "torchrun's warning": ("lumi-g", {"launcher": "torchrun", "signal": Signal("TERM", 60), "other_options": {**LUMI, "--partition": "standard-g"}}, []),
    "NVMe": ("puhti", {"nvme": 100, "gpus": 1, "cpus_per_gpu": 10, "other_options": {**MAHTI, "--partition": "gpu"}}, []),
    "an array": ("lumi-g", {"gpus": 1, "other_options": {**SMALL, "--array": "0-9"}}, []),
    "two nodes": ("lumi-g", {"nodes": 2, "other_options": {**LUMI, "--partition": "standard-g"}}, []),
    "no billing": ("leonardo", {"other_options": LUMI}, ["taken-from-profile", "billing-unknown"]),
    "two nodes of a domain": ("coreweave-gb200", {"nodes": 2, "other_options": {"--job-name": "j"}}, ["billing-unknown"]),
    "19 nodes of domains of 18": ("coreweave-gb200", {"nodes": 19, "other_options": {"--job-name": "j"}}, ["segment-unknown", "billing-unknown"]),
    "domains that nobody asks for": ("azure-ndgb200", {"nodes": 2, "other_options": {"--job-name": "j"}}, ["segment-unknown", "billing-unknown"]),
    "no cores": ("infiniband-cuda", {"gpus_per_node": 8, "nodes": 2}, ["cores-unknown", "billing-unknown"]),
    "no cores for an agent": ("roce-cuda", {"gpus_per_node": 8, "launcher": "torchrun"}, ["cores-unknown", "billing-unknown"]),
    "no cores, whole nodes": ("infiniband-cuda", {"gpus_per_node": 8, "exclusive": True}, ["billing-unknown"]),
    "no cores, whole nodes by the profile": ("aws-p5", {}, ["billing-unknown"]),
    "cores": ("slingshot-rocm", {"gpus_per_node": 8, "cpus_per_gpu": 7}, ["billing-unknown"]),
    "cores of the profile": ("azure-ndgb200", {}, ["billing-unknown"]),
    "idle on Flux": ("tuolumne", {"gpus": 2, "other_options": {"--account": "g", "--job-name": "j"}}, ["taken-from-profile", "billing-unknown", "gpus-idle"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_worth_saying_is_said(name: str, built_in: Catalog) -> None:
    profile, asked, expected = SAID[name]
    request = request_of(built_in, profile, seconds=3600, **asked)
    _, words = charge(built_in.load(profile), request)
    found = [each.rule for each in (*request.findings, *words) if each.rule != "cost"]
    assert found == expected


@pytest.mark.parametrize("name", ["leonardo", "perlmutter", "lumi-g", "tuolumne"])
def test_a_value_that_is_taken_is_no_other_to_choose(
    name: str, built_in: Catalog
) -> None:
    named = {"--account": "p_g", "--job-name": "j"}
    request = request_of(built_in, name, seconds=60, other_options=named)
    notes = [each for each in request.findings if each.rule == "taken-from-profile"]
    assert notes
    for note in notes:
        option, _, value = note.subject.partition("=")
        assert value not in re.split(r"[\s,:]+", note.fix or "")
        if (name, option) == ("perlmutter", "--constraint"):
            assert "--constraint: 'gpu&hbm80g'" in (note.fix or "")


def test_14_cores_with_one_gcd_cost_two_shares(built_in: Catalog) -> None:
    request = request_of(
        built_in, "lumi-g", gpus=1, cpus_per_gpu=14, seconds=7200, other_options=SMALL
    )
    cost, words = charge(built_in.load("lumi-g"), request)
    assert cost is not None
    assert (cost.per_hour, cost.total) == (1, 2)
    assert words[0].message.startswith(
        "1 GPU-hours per hour, 2 for 02:00:00; 14 cores decide (the unit is one hour of "
    )
    assert words[1].message == "14 cores are billed as 2 GPUs, but the job has 1"
    assert words[1].fix is not None
    # The number of LUMI's courses; 8 are billed, and explained.
    assert words[1].fix.startswith(
        "request at most 7 cores, which come with 1 of the GPUs (8 "
    )


def test_the_free_share_is_what_jobs_can_use(built_in: Catalog) -> None:
    profile = built_in.load("lumi-g")
    assert profile.billing
    assert profile.node
    free = free_shares(profile, profile.billing, 2)
    assert free == {"cores": Shares(14, 16), "memory": Shares(120, 128)}
    bare = profile._replace(
        node=profile.node._replace(cores_per_gpu=None, memory_per_gpu=None)
    )
    free = free_shares(bare, profile.billing, 2)
    assert free == {"cores": Shares(16, 16), "memory": Shares(128, 128)}


def test_whole_nodes_of_a_shared_partition_are_asked_for_and_paid(
    built_in: Catalog,
) -> None:
    request = request_of(built_in, "lumi-g", other_options=SMALL)
    assert "--exclusive" in lines_of(request)  # the CPU masks need it
    cost, _ = charge(built_in.load("lumi-g"), request)
    assert cost is not None
    assert cost.per_hour == 4
    assert "--exclusive" not in lines_of(
        request_of(built_in, "lumi-g", gpus=4, other_options=SMALL)
    )


@pytest.mark.parametrize(
    ("profile", "named", "expected"),
    [
        ("mahti", MAHTI, {"SRUN_CPUS_PER_TASK"}),
        ("lumi-g", LUMI, {"SRUN_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE"}),
        ("setonix", {"--account": "p-gpu"}, {"SRUN_CPUS_PER_TASK", "SLURM_NNODES", "SLURM_GPUS_PER_NODE"}),
        ("tuolumne", {"--account": "guests"}, set()),
    ],
)  # fmt: skip
def test_srun_is_told_again_what_it_does_not_take_over(
    profile: str, named: dict[str, str], expected: set[str], built_in: Catalog
) -> None:
    request = request_of(built_in, profile, other_options={"--job-name": "j", **named})
    assert {each.name for each in request.repeats} == expected
    assert request.ranks == (8 if profile == "setonix" else None)


@pytest.mark.parametrize(
    ("launcher", "ranks", "tasks"),
    [
        ("srun", None, 8), ("srun", 16, 16), ("deepspeed", None, 8), ("jax", None, 8),
        ("torchrun", None, 1), ("torchrun", 4, 1), ("accelerate", None, 1), ("local", 2, 1),
    ],
)  # fmt: skip
def test_the_launcher_decides_on_the_tasks(
    launcher: str, ranks: int | None, tasks: int
) -> None:
    assert tasks_per_node(launcher, 8, ranks) == tasks


@pytest.mark.parametrize(
    ("profile", "named", "gpus", "ranks"),
    [
        ("polaris", DEBUG, None, None),  # as many as the profile has GPUs, by itself
        ("derecho", {**LUMI, "--partition": "develop"}, 2, 2),
        ("tuolumne", {"--account": "guests"}, 2, 2),
        ("lumi-g", SMALL, 2, None),  # srun learns it from the job
    ],
)
def test_a_starter_that_learns_no_tasks_from_the_job_is_told(
    built_in: Catalog,
    profile: str,
    named: dict[str, str],
    gpus: int | None,
    ranks: int | None,
) -> None:
    asked = {"--job-name": "j", **named}
    request = request_of(built_in, profile, gpus=gpus, other_options=asked)
    assert request.ranks == ranks
