"""What the functions return: typed, with everything the command said under `data`."""

import dataclasses
from typing import Any, Dict, List, Optional


class Column(list):
    """A column of a Table."""

    def tolist(self):
        return list(self)


class Table(dict):
    """Columns by name: what frame() returns where pandas is not installed."""

    @property
    def columns(self):
        return list(self.keys())

    def __len__(self):
        return len(next(iter(self.values()))) if self.columns else 0

    def _repr_html_(self):
        cells = "".join("<tr>" + "".join(f"<td>{self[c][i]}</td>" for c in self) + "</tr>" for i in range(len(self)))
        return "<table><tr>" + "".join(f"<th>{c}</th>" for c in self) + f"</tr>{cells}</table>"


def frame_of(rows):
    """A pandas frame of these results, one row each; a Table where there is no pandas."""
    names = []
    rows = [{f.name: getattr(row, f.name) for f in dataclasses.fields(row) if f.metadata.get("column", True)} for row in rows]
    for row in rows:
        names += [name for name in row if name not in names]
    columns = {name: [row.get(name) for row in rows] for name in names}
    try:
        import pandas
    except ImportError:
        return Table({name: Column(values) for name, values in columns.items()})
    return pandas.DataFrame(columns)


def data():
    return dataclasses.field(repr=False, metadata={"column": False})


@dataclasses.dataclass(frozen=True)
class TrafficPoint:
    """A load, and what became of it. Loads and throughputs are shares: flits per endpoint and cycle."""

    offered: float
    accepted: float
    saturated: bool
    steady: bool
    stalled: bool
    mean_latency: Optional[float]  # seconds, from when a packet is made until its last flit is there
    median_latency: Optional[float]
    p99_latency: Optional[float]
    max_latency: Optional[float]
    mean_latency_cycles: Optional[float]
    mean_routers: Optional[float]  # crossed on the way
    accepted_rate: float  # bit/s of an endpoint
    packets: int
    measured_cycles: int
    data: Dict[str, Any] = data()


@dataclasses.dataclass(frozen=True)
class Link:
    """A link at one of the loads."""

    offered: float
    source: str
    target: str
    utilisation: float  # share of its cycles in which it carried a flit


@dataclasses.dataclass(frozen=True)
class Traffic:
    machine: str
    pattern: str
    seed: int
    endpoints: int
    cycle: float  # seconds
    flit_bytes: float
    points: List[TrafficPoint]
    data: Dict[str, Any] = data()

    @staticmethod
    def of(told):
        cycle = told["cycle_ns"] * 1e-9
        points = []
        for p in told["points"]:
            latency = p.get("packet_latency_cycles") or {}

            def seconds(name):
                value = latency.get(name)
                return None if value is None else value * cycle

            points.append(TrafficPoint(
                offered=p["offered"], accepted=p["accepted"], saturated=p["saturated"], steady=p["steady"], stalled=p["stalled"],
                mean_latency=seconds("mean"), median_latency=seconds("p50"), p99_latency=seconds("p99"), max_latency=seconds("max"),
                mean_latency_cycles=latency.get("mean"), mean_routers=p.get("mean_routers_crossed"),
                accepted_rate=p["accepted"] * told["flit_bytes"] * 8 / cycle, packets=latency.get("packets", 0),
                measured_cycles=p.get("measured_cycles", 0), data=p))
        return Traffic(machine=told["machine"], pattern=told["pattern"], seed=told["seed"], endpoints=told["endpoints"], cycle=cycle,
                       flit_bytes=told["flit_bytes"], points=points, data=told)

    def frame(self):
        """A row for each load."""
        return frame_of(self.points)

    def links(self):
        """A row for each load and link between routers."""
        return frame_of([Link(p.offered, link["from"], link["to"], link["utilisation"]) for p in self.points
                         for link in p.data.get("links", [])])


@dataclasses.dataclass(frozen=True)
class Job:
    workload: str
    ranks: int
    placement: str
    time: float  # seconds until its last rank was done
    messages: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Replay:
    machine: str
    engine: str
    finished: bool
    time: float  # seconds until the last job was done
    messages: int
    packets: int
    bytes: int
    jobs: List[Job]
    data: Dict[str, Any] = data()

    @staticmethod
    def of(told):
        jobs = [Job(j["workload"], j["ranks"], j["placement"], j["completion_ps"] * 1e-12, j["messages"], j["bytes"])
                for j in told["jobs"]]
        return Replay(told["machine"], told["engine"], told["finished"], told["completion_ps"] * 1e-12, told["messages"],
                      told["packets"], told["bytes"], jobs, told)

    def frame(self):
        """A row for each job."""
        return frame_of(self.jobs)


@dataclasses.dataclass(frozen=True)
class Rank:
    rank: int
    node: int
    end: float  # seconds
    waited: float
    exit_code: int


@dataclasses.dataclass(frozen=True)
class Run:
    machine: str
    engine: str
    time: float  # virtual seconds
    summary: str  # why it took as long, in a sentence or two
    ranks: List[Rank]
    data: Dict[str, Any] = data()

    @staticmethod
    def of(told):
        ranks = [Rank(r["rank"], r["node"], r["end_ns"] * 1e-9, r["waited_ns"] * 1e-9, r["exit_code"]) for r in told["ranks"]]
        return Run(told["machine"], told["engine"], told["virtual_time_ns"] * 1e-9, told.get("answer", {}).get("text", ""), ranks, told)

    def frame(self):
        """A row for each rank."""
        return frame_of(self.ranks)


@dataclasses.dataclass(frozen=True)
class Check:
    """Whether a machine's routing was proved. It is true where it was: `if m.check(): ...`."""

    machine: str
    routing: str
    holds: bool
    exact: bool
    connected: bool
    deadlock_free: bool
    longest_path_cables: int
    data: Dict[str, Any] = data()

    @staticmethod
    def of(told):
        return Check(told["machine"], told["routing"], told["holds"], told["exact"], told["connected"], told["deadlock_free"],
                     told["longest_path_cables"], told)

    def __bool__(self):
        return self.holds


@dataclasses.dataclass(frozen=True)
class Figure:
    """A published figure, and ours beside it. `error` is in `error_unit`: percent, or points where the figure is a percentage."""

    id: str
    point: str
    machine: str
    what: str
    unit: str
    published: float
    ours: Optional[float]
    error: Optional[float]
    tolerance: float
    error_unit: str
    within: bool
    basis: str  # structure, calibrated, derived or predicted
    data: Dict[str, Any] = data()

    @staticmethod
    def of(told):
        names = [f.name for f in dataclasses.fields(Figure) if f.name != "data"]
        return Figure(*[told[name] for name in names], told)


@dataclasses.dataclass(frozen=True)
class Validation:
    """Published figures and ours. It is true where all are within their tolerances."""

    figures: List[Figure]

    def __bool__(self):
        return all(figure.within for figure in self.figures)

    def frame(self):
        """A row for each figure."""
        return frame_of(self.figures)
