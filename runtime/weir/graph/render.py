"""A physical graph as text."""

from __future__ import annotations

from weir.graph.logical import LogicalOperator, Partitioning
from weir.graph.operator_kinds import OPERATOR_KINDS
from weir.graph.physical import Chain, Edge, PhysicalGraph
from weir.graph.state_checks import config_of


def render(graph: PhysicalGraph) -> str:
    """One block for each chain: its input edges, then its operators. A star marks a derived uid."""
    operators = graph.logical.operators
    widths = (
        max(len(_uid(operator)) for operator in operators),
        max(len(operator.kind) for operator in operators),
    )
    size = f"{_count(len(operators), 'operator')} in {_count(len(graph.chains), 'chain')} on {_count(graph.slots, 'slot')}"
    lines = [f"{graph.logical.job}: {size}"]
    for chain in graph.chains:
        lines += ["", f"chain {chain.index}, parallelism {chain.parallelism}"]
        lines += [f"  {_edge(graph, edge)}" for edge in graph.edges if edge.target == chain.index]
        lines += _operators(graph, chain, widths)
    if any(operator.uid_derived for operator in operators):
        lines += ["", "* derived uid: set uid=... on stateful operators, so that a changed graph finds their state"]
    return "\n".join(lines) + "\n"


def _operators(graph: PhysicalGraph, chain: Chain, widths: tuple[int, int]) -> list[str]:
    lines = []
    for uid in chain.operators:
        operator = graph.operator(uid)
        cells = [_uid(operator).ljust(widths[0]), operator.kind.ljust(widths[1]), _details(operator)]
        if OPERATOR_KINDS[operator.kind].keyed:
            cells.append(f"[{graph.max_parallelism[uid]} key groups]")
        if operator.site:
            cells.append(f"({operator.site})")
        lines.append(("  " + "  ".join(cell for cell in cells if cell)).rstrip())
    return lines


def _edge(graph: PhysicalGraph, edge: Edge) -> str:
    by = f" by {', '.join(edge.key)}" if edge.partitioning is Partitioning.HASH else ""
    loop = ", feedback" if edge.feedback else ""
    return f"<- chain {edge.source} ({graph.chains[edge.source].operators[-1]}), {edge.partitioning}{by}{loop}"


def _uid(operator: LogicalOperator) -> str:
    return operator.uid + ("*" if operator.uid_derived else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _details(operator: LogicalOperator) -> str:
    """Return the operator's configuration, preceded by its name if the name differs from the uid and the kind."""
    name = operator.name
    if name in (operator.uid, operator.kind) or name.startswith(("read ", "write ", "aggregate by ")):
        name = ""
    description = OPERATOR_KINDS[operator.kind].describe(config_of(operator))
    return "  ".join(part for part in (name, _shorten(description)) if part)


def _shorten(text: str, characters: int = 72) -> str:
    return text if len(text) <= characters else text[: characters - 3] + "..."
