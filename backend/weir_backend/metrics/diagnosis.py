"""Find the bottleneck of a job and chains that process no records. Pure.

The input consists of samples of slots. The counters in a sample start at zero with the deployment. Two samples of a slot give the load of each
subtask in the time between the samples. This time is called a window. A frame contains one window of each slot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import mean
from typing import Any, TypeAlias

from weir.protocol.lag import source_lags
from weir_backend.kit.durations import format_duration
from weir_backend.metrics.series import HIGH_ABOVE, LOW_ABOVE, TIMES, Sample, follows, pressure_of

BUSY_FROM = 0.9
"""A subtask is saturated if it is busy for at least this share of the time."""
SLOT_SATURATED_FROM = 0.9
"""A slot is saturated if its loop has work for at least this share of the time. In a saturated slot, the busiest subtask is saturated."""
SIBLINGS_RATIO = 0.7
"""A bottleneck is in a few subtasks only if the busy share of the other subtasks of the chain is less than ``SIBLINGS_RATIO`` times the busy share of
these few subtasks."""
WAITING_S = 5.0
"""Records wait in the input of a chain if the chain needs at least this time to process them. Slots report at different times, so the number of
waiting records can be wrong by the number of records that flow in two or three seconds."""
CURRENT = timedelta(seconds=45)
"""A slot whose newest sample is older than ``CURRENT`` is ignored."""
WINDOW_MIN = timedelta(seconds=10)
"""The load in a shorter window varies too much, for example because one batch takes seconds."""
STALLED_AFTER = timedelta(minutes=1)
LAG_COMPARED_AFTER = timedelta(seconds=50)
LAG_GROWTH_RATIO = 1.05
"""The lag grows if it is larger than ``LAG_GROWTH_RATIO`` times the lag at the time ``LAG_COMPARED_AFTER`` ago."""
LONG = timedelta(minutes=25)
"""Samples of the last half hour are read. If a bottleneck has existed for longer than ``LONG``, it may be older than these samples."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input edge of a chain. ``source`` is the index of the upstream chain."""

    source: int
    partitioning: str


@dataclass(frozen=True, slots=True)
class DeployedChain:
    """``sends`` is True if another chain reads the output of the chain."""

    operators: tuple[str, ...]
    parallelism: int
    inputs: tuple[Input, ...]
    sends: bool


def deployed_chains(chains: Any, edges: Any) -> dict[int, DeployedChain]:
    """Parse ``chains`` and ``edges`` of a physical graph. The graph comes from a driver, so invalid parts of the graph are ignored."""
    inputs: defaultdict[Any, list[Input]] = defaultdict(list)
    senders = set()
    for edge in _dicts(edges):
        inputs[edge.get("target")].append(Input(edge.get("source", -1), str(edge.get("partitioning"))))
        senders.add(edge.get("source"))
    return {
        one["index"]: DeployedChain(
            tuple(map(str, one["operators"])),
            int(one.get("parallelism", 0)),
            tuple(inputs[one["index"]]),
            one["index"] in senders,
        )
        for one in _dicts(chains)
        if type(one.get("index")) is int and isinstance(one.get("operators"), list) and one["operators"]
    }


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# ---- the diagnosis -----------------------------------------------------------------------------


class Cause(StrEnum):
    """Why only a few subtasks of a chain are saturated."""

    SKEWED_KEY = "skewed_key"
    HOT_SPLIT = "hot_split"
    UNEVEN_LOAD = "uneven_load"
    """The input is distributed evenly, so some records or some hosts are slower than others."""


_CAUSES = {
    Cause.SKEWED_KEY: "a skewed key is likely",
    Cause.HOT_SPLIT: "a hot split is likely",
    Cause.UNEVEN_LOAD: "its records or its host may be slower than others",
}


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The chain that limits the throughput of the job. Weir measures the time of chains, not of the operators in a chain.

    If only a few subtasks of the chain are saturated, ``subtasks`` contains these subtasks, and ``cause`` is the likely cause. If the whole chain is
    saturated, ``subtasks`` is empty. ``busy`` and ``siblings_busy`` are the mean busy shares of the saturated subtasks and of the other subtasks.
    ``slot_saturated`` is True if the subtasks are saturated because their slots are saturated. ``waiting_records`` is None if it is unknown how many
    records wait in the inputs. ``waiting_s`` is the time that the chain needs to process these records, or None if the chain processes no records.
    """

    chain: int
    operators: tuple[str, ...]
    is_source: bool
    is_sink: bool
    parallelism: int
    subtasks: tuple[int, ...]
    cause: Cause | None
    busy: float
    siblings_busy: float | None
    slot_saturated: bool
    input_backpressured: bool
    waiting_records: int | None
    waiting_s: float | None
    since: datetime


@dataclass(frozen=True, slots=True)
class Stall:
    """A chain that has processed no records since ``since``, although records wait for it."""

    chain: int
    operators: tuple[str, ...]
    is_source: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``lag_records`` is the sum over all sources, and ``lag_seconds`` the largest value. Each is None if no source reports it."""

    bottleneck: Bottleneck | None = None
    stall: Stall | None = None
    lag_records: float | None = None
    lag_seconds: float | None = None
    lag_grows: bool = False


def diagnose(samples: Sequence[Sample], chains: Mapping[int, DeployedChain], *, now: datetime) -> Diagnosis:
    """Return the diagnosis of a job. ``samples`` contains samples of one run, ordered by time."""
    slots: defaultdict[int, list[Sample]] = defaultdict(list)
    for sample in samples:
        slots[sample.slot].append(sample)
    current = [own for own in slots.values() if now - own[-1].at < CURRENT]
    frames = _Frames(current)
    records, seconds = source_lags(own[-1].metrics["gauges"] for own in current)
    before = [older.metrics["gauges"] for own in current if (older := _older(own)) is not None]
    grows = len(before) == len(current) and any(map(_grows, (records, seconds), source_lags(before)))
    return Diagnosis(
        bottleneck=_bottleneck(frames, chains),
        stall=_stall(frames, chains, {uid for uid, lag in records.items() if lag > 0}, now),
        lag_records=sum(records.values()) if records else None,
        lag_seconds=max(seconds.values()) if seconds else None,
        lag_grows=grows,
    )


def _older(own: Sequence[Sample]) -> Sample | None:
    """Return the newest sample that is old enough for a comparison of the lag."""
    limit = own[-1].at - LAG_COMPARED_AFTER
    return next((one for one in reversed(own) if one.at <= limit and follows(one, own[-1])), None)


def _grows(now: Mapping[str, float], before: Mapping[str, float]) -> bool:
    return any(uid in before and lag > LAG_GROWTH_RATIO * before[uid] + 1 for uid, lag in now.items())


# ---- load --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Load:
    """The load of a subtask in a window, which starts at ``begin``. ``busy``, ``pressure`` and ``utilisation`` (of the slot) are shares of
    the time. ``records_in`` and ``records_out`` are the counters at the end of the window."""

    index: int
    begin: datetime
    busy: float
    pressure: float
    utilisation: float
    is_busiest: bool
    records_in: int
    records_out: int
    records_in_per_s: float


_Frame: TypeAlias = Mapping[int, Sequence[_Load]]
"""Loads by chain."""


class _Frames:
    """The frames of one deployment, the newest first. The windows of a slot follow each other without gaps. A frame is computed when it is
    needed: without a bottleneck, only the newest frame is needed."""

    def __init__(self, slots: Iterable[Sequence[Sample]]) -> None:
        self._windows = [list(_windows(own)) for own in slots]
        self._computed: list[_Frame] = []

    def __iter__(self) -> Iterator[_Frame]:
        for place in range(max(map(len, self._windows), default=0)):
            if place == len(self._computed):
                self._computed.append(self._frame(place))
            yield self._computed[place]

    def newest(self) -> _Frame:
        return next(iter(self), {})

    def _frame(self, place: int) -> _Frame:
        found: defaultdict[int, list[_Load]] = defaultdict(list)
        for windows in self._windows:
            for chain, load in _loads(*windows[place]) if place < len(windows) else ():
                found[chain].append(load)
        return dict(found)


def _windows(own: Sequence[Sample]) -> Iterator[tuple[Sample, Sample]]:
    """Return the first and last sample of each window of a slot, the newest window first."""
    end = len(own) - 1
    for begin in range(len(own) - 2, -1, -1):
        if not follows(own[begin], own[end]):
            return
        if own[end].at - own[begin].at >= WINDOW_MIN:
            yield own[begin], own[end]
            end = begin


def _loads(before: Sample, sample: Sample) -> Iterator[tuple[int, _Load]]:
    took_s = (sample.at - before.at).total_seconds()
    utilisation = (sample.metrics["loop_busy_us"] - before.metrics["loop_busy_us"]) / 1e6 / took_s
    earlier = {(one["chain"], one["index"]): one for one in before.metrics["subtasks"]}
    pairs = [(earlier[key], one) for one in sample.metrics["subtasks"] if (key := (one["chain"], one["index"])) in earlier]
    busiest_us = max((one["busy_us"] - old["busy_us"] for old, one in pairs), default=0)
    for old, one in pairs:
        spent_us = {name: max(0, one[f"{name}_us"] - old[f"{name}_us"]) for name in TIMES}
        all_us = sum(spent_us.values())
        if all_us == 0 or one["records_in"] < old["records_in"]:
            continue
        yield (
            one["chain"],
            _Load(
                index=one["index"],
                begin=before.at,
                busy=spent_us["busy"] / all_us,
                pressure=pressure_of(
                    backpressured=spent_us["backpressured"] / all_us, queued=spent_us["queued"] / all_us, utilisation=utilisation
                ),
                utilisation=utilisation,
                is_busiest=spent_us["busy"] == busiest_us,
                records_in=one["records_in"],
                records_out=one["records_out"],
                records_in_per_s=(one["records_in"] - old["records_in"]) / took_s,
            ),
        )


def _waiting_records(frame: _Frame, chains: Mapping[int, DeployedChain], chain: int) -> int | None:
    """Return the number of records that the upstream chains have sent, but that ``chain`` has not read yet. Return None if a subtask has not
    reported."""
    own = chains[chain]
    sent = 0
    for edge in own.inputs:
        if edge.source not in chains or len(frame.get(edge.source, ())) != chains[edge.source].parallelism:
            return None
        copies = own.parallelism if edge.partitioning == "broadcast" else 1
        sent += copies * sum(load.records_out for load in frame[edge.source])
    if not own.inputs or len(frame.get(chain, ())) != own.parallelism:
        return None
    return max(0, sent - sum(load.records_in for load in frame[chain]))


def _input_pressure(frame: _Frame, own: DeployedChain) -> float:
    return max((load.pressure for edge in own.inputs for load in frame.get(edge.source, ())), default=0.0)


# ---- bottleneck --------------------------------------------------------------------------------


def _bottleneck(frames: _Frames, chains: Mapping[int, DeployedChain]) -> Bottleneck | None:
    found = _limiting_chain(frames.newest(), chains)
    if found is None:
        return None
    since = min(load.begin for load in frames.newest()[found.chain])
    for frame in frames:
        earlier = _limiting_chain(frame, chains)
        if earlier is None or earlier.chain != found.chain:
            break
        since = min(since, *(load.begin for load in frame[found.chain]))
    own = chains[found.chain]
    few = found.is_in_few_subtasks()
    return Bottleneck(
        chain=found.chain,
        operators=own.operators,
        is_source=not own.inputs,
        is_sink=not own.sends,
        parallelism=own.parallelism,
        subtasks=tuple(sorted(load.index for load in found.saturated)) if few else (),
        cause=_cause(own) if few else None,
        busy=mean(load.busy for load in found.saturated),
        siblings_busy=mean(load.busy for load in found.others) if few else None,
        slot_saturated=not found.busy,
        input_backpressured=found.input_backpressured,
        waiting_records=found.waiting_records,
        waiting_s=found.waiting_s,
        since=since,
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A chain with saturated subtasks. ``busy`` is True if the subtasks themselves are busy, and not only their slots."""

    chain: int
    busy: bool
    saturated: Sequence[_Load]
    others: Sequence[_Load]
    input_backpressured: bool
    waiting_records: int | None
    waiting_s: float | None

    def holds_up_its_input(self) -> bool:
        if self.input_backpressured:
            return True
        return bool(self.waiting_records) and (self.waiting_s is None or self.waiting_s >= WAITING_S)

    def is_in_few_subtasks(self) -> bool:
        if not self.others or len(self.saturated) > len(self.others):
            return False
        return mean(load.busy for load in self.others) < SIBLINGS_RATIO * mean(load.busy for load in self.saturated)


def _limiting_chain(frame: _Frame, chains: Mapping[int, DeployedChain]) -> _Candidate | None:
    """Return the saturated chain that limits the throughput, or None.

    A chain that reads from other chains limits the throughput only if it holds up its input. A source limits the throughput if no such
    chain exists.
    """
    candidates = []
    for chain, loads in frame.items():
        busy = [load for load in loads if load.busy >= BUSY_FROM]
        saturated = busy or [load for load in loads if load.utilisation >= SLOT_SATURATED_FROM and load.is_busiest]
        if not saturated or chain not in chains:
            continue
        waiting = _waiting_records(frame, chains, chain)
        rate = sum(load.records_in_per_s for load in loads)
        candidate = _Candidate(
            chain=chain,
            busy=bool(busy),
            saturated=saturated,
            others=[load for load in loads if load not in saturated],
            input_backpressured=_input_pressure(frame, chains[chain]) > LOW_ABOVE,
            waiting_records=waiting,
            waiting_s=waiting / rate if waiting is not None and rate > 0 else None,
        )
        if not chains[chain].inputs or candidate.holds_up_its_input():
            candidates.append(candidate)
    return max(
        candidates,
        key=lambda one: (one.holds_up_its_input(), one.busy, sum(load.busy for load in one.saturated), one.chain),
        default=None,
    )


def _cause(own: DeployedChain) -> Cause:
    if not own.inputs:
        return Cause.HOT_SPLIT
    return Cause.SKEWED_KEY if any(edge.partitioning == "hash" for edge in own.inputs) else Cause.UNEVEN_LOAD


# ---- stall -------------------------------------------------------------------------------------


def _stall(frames: _Frames, chains: Mapping[int, DeployedChain], lagging: set[str], now: datetime) -> Stall | None:
    """Return the busiest chain that has processed no records for at least ``STALLED_AFTER`` although records wait for it. ``lagging``
    contains the uids of the sources with lag."""
    found: list[tuple[float, Stall]] = []
    newest = frames.newest()
    for chain, loads in newest.items():
        own = chains.get(chain)
        since = _reads_nothing_since(frames, chain)
        if own is None or since is None or now - since < STALLED_AFTER or max(load.pressure for load in loads) > HIGH_ABOVE:
            continue
        waiting = _waiting_records(newest, chains, chain)
        if not own.inputs:
            held_up = not lagging.isdisjoint(own.operators)
        else:
            held_up = waiting > 0 if waiting is not None else _input_pressure(newest, own) > HIGH_ABOVE
        if held_up:
            stall = Stall(chain, own.operators, not own.inputs, since)
            found.append((max(load.busy for load in loads), stall))
    return max(found, key=lambda one: (one[0], one[1].chain))[1] if found else None


def _reads_nothing_since(frames: _Frames, chain: int) -> datetime | None:
    since = None
    for frame in frames:
        loads = frame.get(chain, ())
        if not loads or any(load.records_in_per_s > 0 for load in loads):
            break
        since = max(load.begin for load in loads)
    return since


# ---- text --------------------------------------------------------------------------------------


def bottleneck_sentence(diagnosis: Diagnosis, now: datetime) -> str:
    """Return the bottleneck as one sentence. The diagnosis must contain a bottleneck."""
    found = diagnosis.bottleneck
    assert found is not None, "only a diagnosis with a bottleneck has a sentence"
    where = ""
    if found.subtasks:
        indexes = [str(index) for index in found.subtasks]
        cause = f" ({_CAUSES[found.cause]})" if found.cause is not None else ""
        where = f" in subtask{'s' if len(indexes) > 1 else ''} {_listed(indexes)} of {found.parallelism}{cause}"
    lasts = _lasts(now - found.since)
    if found.slot_saturated:
        parts = [f"its slots are saturated{lasts}", f"it uses {_percent(found.busy)} of their time, more than any other operator"]
    else:
        siblings = f" (its other subtasks: {_percent(found.siblings_busy)})" if found.siblings_busy is not None else ""
        parts = [f"busy {_percent(found.busy)}{lasts}{siblings}"]
    waiting = ""
    if found.waiting_records and found.waiting_s is not None and found.waiting_s >= WAITING_S:
        waiting = f"{found.waiting_records:,} records wait, {format_duration(timedelta(seconds=found.waiting_s))} of work"
    if found.input_backpressured:
        parts.append("its input is backpressured" + (f" ({waiting})" if waiting else ""))
    elif waiting:
        parts.append(f"records wait in its input ({waiting})")
    if (lag := lag_text(diagnosis)) is not None:
        parts.append(f"the sources are {lag} behind")
    if len(found.operators) > 1:
        name = f"One of the chained operators {_listed(found.operators)}"
    else:
        name = _operator(found.operators[0], is_source=found.is_source, is_sink=found.is_sink)
    return f"{name} is the bottleneck{where}: {_and(parts)}."


def stall_sentence(stall: Stall, now: datetime) -> str:
    lasts, operators = format_duration(now - stall.since), stall.operators
    name = f"The chain of {_listed(operators)}" if len(operators) > 1 else _operator(operators[0], is_source=stall.is_source)
    if stall.is_source:
        return f"{name} has read no records for {lasts}, although its input has records."
    return f"{name} has processed no records for {lasts}, although records wait in its input."


def lag_text(diagnosis: Diagnosis) -> str | None:
    parts = []
    if diagnosis.lag_records:
        parts.append(f"{diagnosis.lag_records:,.0f} records")
    if diagnosis.lag_seconds:
        parts.append(format_duration(timedelta(seconds=diagnosis.lag_seconds)))
    return f"{parts[0]} ({parts[1]})" if len(parts) == 2 else parts[0] if parts else None


def _operator(uid: str, *, is_source: bool = False, is_sink: bool = False) -> str:
    """Return the name of an operator at the start of a sentence."""
    return f"Source {uid}" if is_source else f"Sink {uid}" if is_sink else uid


def _lasts(span: timedelta) -> str:
    if span < timedelta(minutes=1):
        return ""
    return f" for {'at least ' if span >= LONG else ''}{format_duration(span)}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _and(parts: Sequence[str]) -> str:
    return ", and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
