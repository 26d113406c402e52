"""With what a script ends if its programs fail, on every way through it.

The programs that the job is for are taken to fail each time, the usual small ones to
succeed. Statements are followed in the tree of the grammar, and branches on every way that
they leave open: a test of what is not known goes both ways. What cannot be followed ends
all of them, so that nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from envcfg.lint.branch import halves, is_statement
from envcfg.lint.grammar import chars_of, word_spans
from envcfg.lint.text import Flat
from envcfg.lint.walk import Frame, Handler, Program, UnclearError, Ways
from envcfg.lint.way import FAILS, Way, behind

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_ROUNDS = 12  # of a loop
_READ = re.compile(r"\b[A-Za-z_]\w*\b(?!\+?=)")
_IN_DOCUMENT = ("heredoc_start", "heredoc_body", "heredoc_end", "file_redirect")


def endings(
    flat: Flat,
    programs: Mapping[int, Program],
    succeed: Collection[str],
    options: frozenset[str],
    reached: set[int],
) -> Ways:
    """Return every way through a script to its end; none where it cannot be followed.

    Args:
        programs: what commands start, by the offset at which each begins.
        succeed: names of programs that do.
        options: of the shell, by the first line.
        reached: takes the offsets of the programs that have failed on any way.
    """
    names = {*_READ.findall(flat.chars)}
    frame = Frame(flat, programs, succeed, _HANDLERS, {}, reached, names)
    try:
        ways = frame.text(flat, Way(options=options))
        return [end for each in ways for end in frame.trapped(each)]
    except (UnclearError, RecursionError):
        return []


def _on_assignment(frame: Frame, node: Node, way: Way) -> Ways:
    ways = _substituted(frame, node, way.ends(0, "an assignment"))
    said = chars_of(frame.flat, node)
    if frame.is_read(said):
        ways = [each.assigns(said, way) for each in ways]
    return frame.judged(ways)


def _substituted(frame: Frame, node: Node, way: Way) -> Ways:
    """Follow the substitution in an assignment, which has its status, if there is one."""
    for each in node.children:
        if each.type == "command_substitution":
            return frame.subshell(each.children, way)
    return [way]


def _on_declaration(frame: Frame, node: Node, way: Way) -> Ways:
    spans = word_spans(node.children, frame.flat.chars)
    name, *said = [frame.flat.chars[begin:end] for begin, end in spans]
    said = [each for each in said if frame.is_read(each)]
    ways = [way]
    for each in node.children:
        ways = [end for one in ways for end in _substituted(frame, each, one)]
    return [behind(name, said, each) for each in ways]


def _on_test(frame: Frame, node: Node, way: Way) -> Ways:
    said = chars_of(frame.flat, node).split()
    return frame.judged([behind(said[0], said[1:], way)])


def _on_compound(frame: Frame, node: Node, way: Way) -> Ways:
    if node.children[0].type != "((":
        return frame.sequence(node.children, [way])
    value, after = way.compute(chars_of(frame.flat, node)[2:-2])
    return frame.judged([after.tests(value)])


def _on_subshell(frame: Frame, node: Node, way: Way) -> Ways:
    return frame.judged(frame.subshell(node.children, way))


def _on_list(frame: Frame, node: Node, way: Way) -> Ways:
    true, false, ended = frame.choose(node.children[:1], way)
    goes, stays = (true, false) if node.children[1].type == "&&" else (false, true)
    return ended + stays + frame.sequence(node.children[-1:], goes)


def _on_pipeline(frame: Frame, node: Node, way: Way) -> Ways:
    """Follow each part in a shell of its own, then take the status that counts."""
    parts = [each for each in node.children if each.is_named]
    is_negated = parts[0].type == "negated_command"
    if is_negated:
        parts[0] = parts[0].children[-1]
    rows: list[tuple[Way, tuple[int | None, ...]]] = [(way, ())]
    for part in parts:
        rows = [
            (end, (*statuses, end.status))
            for begin, statuses in rows
            for end in frame._replace(tested=True).subshell([part], begin)
        ]
    found: Ways = []
    for end, statuses in rows:
        status = statuses[-1]
        if status is None and end.by:
            status = 0  # what only reads the output
        after = end.ends(status, end.by)
        if "pipefail" in way.options:
            failed = [each for each in (*statuses[:-1], status) if each != 0]
            after = after.ends(failed[-1] if failed else 0)
        elif status == 0 and FAILS in statuses:
            after = after.ends(0, "|")
        for number, each in enumerate((*statuses[:-1], status)):
            after = after.sets(f"PIPESTATUS[{number}]", each)
        found.append(_not(after) if is_negated else after)
    return found if is_negated else frame.judged(found)


def _on_negated(frame: Frame, node: Node, way: Way) -> Ways:
    return [*map(_not, frame._replace(tested=True).sequence(node.children, [way]))]


def _not(way: Way) -> Way:
    return way if way.leaves or way.status is None else way.ends(not way.status, "!")


def _on_if(frame: Frame, node: Node, way: Way) -> Ways:
    found: Ways = []
    left = [way]
    for clause in (node, *node.children):
        if clause.type == "else_clause":
            return found + frame.sequence(clause.children, left)
        if clause is node or clause.type == "elif_clause":
            condition, body = halves(clause)
            failing: Ways = []
            for each in left:
                true, false, ended = frame.choose(condition, each)
                failing += false
                found += ended + frame.sequence(body, true)
            left = failing
    return found + [each.ends(0, "if") for each in left]


def _on_loop(frame: Frame, node: Node, way: Way) -> Ways:
    """Follow a loop until nothing new comes of it.

    Each round begins with the ways that the one before left, and drops those that it has
    seen. A loop ends by its test, by "break", or by what leaves the script; without a
    round its status is 0. A "for" with words has at least one round.
    """
    head = [each for each in node.children if each.is_named and each.type != "do_group"]
    body = [each for each in node.children if each.type == "do_group"]
    current, behind, seen = [way], Ways(), set[Way]()
    asks, begun = frame.asks(node), set[Way]()
    for _ in range(_MOST_ROUNDS):
        inside: Ways = []
        for each in current:
            true, false = [each], [each]
            if node.type == "while_statement":
                true, false, ended = frame.choose(head, each)
                behind += ended
                if true and false:  # it may wait for what is in the background
                    true = [one._replace(running=frozenset()) for one in true]
                    false = [one._replace(running=frozenset()) for one in false]
            if node.children[0].type == "until":
                true, false = false, true
            elif node.type == "for_statement":
                name, *words = [chars_of(frame.flat, each) for each in head]
                value = each.value(words[-1] if words else name)
                true = [each.sets(name, value)]
                has_words = bool(words) and not {*"$`*?"} & {*"".join(words)}
                false = false if seen or not (has_words or value is not None) else []
            for one in true:
                key = one if asks else one.forgets()
                inside += [one] if key not in begun else []
                begun.add(key)
            last = each if seen else each.ends(0, "a loop")
            behind += [one.ends(last.status, last.by) for one in false]
        seen |= {*current}
        current = []
        for each in frame.sequence(body, inside):
            stays = each._replace(leaves="")
            if each.leaves in ("exit", "return"):
                behind.append(each)
            elif each.leaves == "break":
                behind.append(stays)
            elif stays not in seen:
                current.append(stays)
        if not current:
            break
    return [*dict.fromkeys(behind)]


def _on_case(frame: Frame, node: Node, way: Way) -> Ways:
    found = [way.ends(0, "case")]
    for item in node.children:
        if item.type == "case_item":
            body = [each for each in item.children if is_statement(each)]
            ended = frame.sequence(body, [way])
            if chars_of(frame.flat, item).lstrip("(").partition(")")[0].strip() == "*":
                return found[1:] + ended
            found += ended
    return found


def _on_function(frame: Frame, node: Node, way: Way) -> Ways:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        raise UnclearError
    frame.functions[chars_of(frame.flat, name)] = (body, frame.flat)
    return [way.ends(0, "a function")]


def _on_redirected(frame: Frame, node: Node, way: Way) -> Ways:
    documents = (each for each in node.children if each.type == "heredoc_redirect")
    inside = [each for part in documents for each in part.children if each.is_named]
    rest = [each.type for each in inside if each.type not in _IN_DOCUMENT]
    body = node.child_by_field_name("body")
    if rest and (rest != ["pipeline"] or "pipefail" in way.options):
        raise UnclearError  # the grammar has put the rest of the line in there
    ways = frame.run(body, way) if body else [way.ends(0)]
    return [each.ends(0, "|") for each in ways] if rest else ways


_HANDLERS: Mapping[str, Handler] = {
    "command": Frame.command,
    "variable_assignment": _on_assignment,
    "variable_assignments": _on_compound,
    "declaration_command": _on_declaration,
    "unset_command": _on_declaration,
    "test_command": _on_test,
    "compound_statement": _on_compound,
    "do_group": _on_compound,
    "subshell": _on_subshell,
    "list": _on_list,
    "pipeline": _on_pipeline,
    "negated_command": _on_negated,
    "if_statement": _on_if,
    "while_statement": _on_loop,
    "for_statement": _on_loop,
    "c_style_for_statement": _on_loop,
    "case_statement": _on_case,
    "function_definition": _on_function,
    "redirected_statement": _on_redirected,
}
