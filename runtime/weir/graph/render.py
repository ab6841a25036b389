"""A compiled graph as text for people."""

from __future__ import annotations

from weir.graph.logical import LogicalOperator, OperatorKind, Partitioning
from weir.graph.physical import Chain, Edge, PhysicalGraph
from weir.protocol.snapshots import JsonValue


def render(graph: PhysicalGraph) -> str:
    """One block a chain, its inputs above its operators. A derived uid carries a star."""
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
        lines += ["", "* derived uid: give stateful operators their own (uid=...), so that their state is found again"]
    return "\n".join(lines) + "\n"


def _operators(graph: PhysicalGraph, chain: Chain, widths: tuple[int, int]) -> list[str]:
    lines = []
    for uid in chain.operators:
        operator = graph.operator(uid)
        cells = [_uid(operator).ljust(widths[0]), operator.kind.ljust(widths[1]), _details(operator)]
        if operator.kind is OperatorKind.AGGREGATE:
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
    """The name where it says more than the uid, then what the operator does."""
    name = operator.name
    if name in (operator.uid, operator.kind) or name.startswith(("read ", "write ", "aggregate by ")):
        name = ""
    config: JsonValue = operator.config
    does = ""
    if isinstance(config, dict):
        match operator.kind:
            case OperatorKind.SOURCE | OperatorKind.SINK:
                does = str(config.get("kind", ""))
            case OperatorKind.AGGREGATE:
                does = _aggregate(config)
            case _:
                shown = config.get("expressions") or config.get("function")
                does = ", ".join(str(item) for item in shown) if isinstance(shown, list) else str(shown or "")
    return "  ".join(part for part in (name, _short(does)) if part)


def _aggregate(config: dict[str, JsonValue]) -> str:
    specs = config.get("aggregates")
    if not isinstance(specs, list):
        return ""
    return ", ".join(
        f"{spec['output']}={spec['accumulator']}({spec.get('column') or ''})" for spec in specs if isinstance(spec, dict)
    )


def _short(text: str, characters: int = 72) -> str:
    return text if len(text) <= characters else text[: characters - 3] + "..."
