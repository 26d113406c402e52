"""The programs of a job, each of which has its own ranks; pure.

Two steps of a job are two programs, and so are two launchers in one: their ranks have the
same numbers, and meet at other ports.
"""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.hang.records import Evidence, RankView


def program_names(ranks: Sequence[RankView]) -> dict[tuple[str, int], str]:
    """Return the program of each process (host and pid); all empty where there is one.

    A port tells programs of one step apart only where a number is there twice: who starts
    ranks may give each another port, and then that is what is wrong.
    """
    ports: dict[tuple[str, int], set[str]] = {}
    for each in ranks:
        ports.setdefault((each.step, each.rank), set()).add(each.port)
    doubled = {step for (step, _), each in ports.items() if len(each) > 1}
    keys = {
        (each.host, each.pid): (each.step, each.port if each.step in doubled else "")
        for each in ranks
    }
    if len(set(keys.values())) < 2:
        return dict.fromkeys(keys, "")
    found = {}
    for who, (step, port) in keys.items():
        where = f"step {step}" if step else "the batch script"
        found[who] = f"{where}, port {port}" if port else where
    return found


def by_program(seen: Evidence) -> list[Evidence]:
    """Return what is known of each program of a job; of one, as it is.

    A node without ranks of a program says nothing of it; one that does not answer may hold
    some.
    """
    names = program_names(seen.ranks)
    programs = sorted(set(names.values()))
    if len(programs) < 2:
        return [seen]
    parts = []
    for program in programs:
        nodes = []
        for node in seen.nodes:
            ranks = tuple(r for r in node.ranks if names[r.host, r.pid] == program)
            if ranks or not node.answers:
                nodes.append(node._replace(ranks=ranks))
        behind = tuple(each for each in seen.behind if each.program == program)
        parts.append(seen._replace(nodes=tuple(nodes), behind=behind, program=program))
    return parts
