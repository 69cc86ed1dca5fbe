// Figures that follow from a machine's description: counts, rates, distances.
#include <fmt/format.h>

#include "machine/description.hpp"
#include "machine/nic_parameters.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/validate/figure.hpp"
#include "topology/exanest_shape.hpp"
#include "topology/metrics.hpp"

namespace weft::measure {

namespace {

double gbps(DataRate rate) { return static_cast<double>(rate.value) * 1e-9; }

/// Settings of an experiment, and over them those of the user.
std::vector<std::string> with_user(const Trial& trial, std::vector<std::string> settings) {
  settings.insert(settings.end(), trial.settings().begin(), trial.settings().end());
  return settings;
}

const topology::CableType& first_cable(const machine::Machine& m) { return m.graph->cable_types().front(); }

void tianhe2(Trial& trial) {
  machine::Machine m = machine::build_graph(trial.description());
  trial.give("C15", "", m.graph->endpoints());
  trial.give("C41", "", m.graph->routers());
  trial.give("V-TH2-14", "", 2 * gbps(first_cable(m).raw_rate()) * m.description.router.ports * 1e-3);
  trial.give("V-TH2-15", "", gbps(first_cable(m).raw_rate()) / 56);
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/structure",
                               16,
                               "tianhe2",
                               {{"C15", "", "nodes of the largest system", "nodes", 18432, points_off(0),
                                 Basis::Structure, true, "section 3"},
                                {"C41", "", "router chips with 32 planes of leaf switches", "routers", 7296,
                                 points_off(0), Basis::Structure, true, "derived from section 3"},
                                {"V-TH2-14", "", "bandwidth of a router, both ways", "Tb/s", 5.376,
                                 percent_off(0.1), Basis::Structure, true, "section 2.1.1"},
                                {"V-TH2-15", "", "rate of a port, of 56 Gb/s", "times", 2, percent_off(1),
                                 Basis::Structure, true, "section 2.1.1"}},
                               tianhe2});

void extoll_r1(Trial& trial) {
  machine::Machine m = machine::build_graph(trial.description());
  trial.give("V-EX1-05", "raw", gbps(first_cable(m).raw_rate()));
  trial.give("V-EX1-05", "net", gbps(first_cable(m).rate()));
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/structure",
                               26,
                               "extoll-r1",
                               {{"V-EX1-05", "raw", "rate of a link", "Gb/s", 6.24, percent_off(0.5),
                                 Basis::Structure, true, "section V"},
                                {"V-EX1-05", "net", "rate of a link after its coding", "Gb/s", 5,
                                 percent_off(0.5), Basis::Structure, true, "table I"}},
                               extoll_r1});

void tourmalet(Trial& trial) {
  machine::Machine m = machine::build_graph(trial.description());
  const topology::CableType& cable = first_cable(m);
  trial.give("V-EX2-01", "", gbps(cable.raw_rate()));
  const topology::RouterId chip = 0;
  unsigned links = m.graph->port_count(chip) - m.graph->endpoints() / m.graph->routers();
  trial.give("V-EX2-03", "", links * cable.lanes + machine::bus_lanes(m.description.host.bus));
}

WEFT_REGISTER(ExperimentKind, {"extoll-tourmalet/structure",
                               40,
                               "extoll-tourmalet",
                               {{"V-EX2-01", "", "rate of a link", "Gb/s", 100, percent_off(1),
                                 Basis::Structure, true, "003 section 2.4.4: about 100 Gb/s"},
                                {"V-EX2-03", "", "transceivers of the chip", "lanes", 100, points_off(0),
                                 Basis::Structure, true, "003 section 5.2"}},
                               tourmalet});

void deep(Trial& trial) {
  machine::Machine m = machine::build_graph(trial.description());
  trial.give("V-EX2-02", "raw", gbps(first_cable(m).raw_rate()));
  trial.give("V-EX2-02", "net", gbps(first_cable(m).rate()));
  trial.give("C32", "", m.graph->endpoints());
}

WEFT_REGISTER(ExperimentKind, {"deep-booster/structure",
                               41,
                               "deep-booster",
                               {{"V-EX2-02", "raw", "rate of a link of the FPGA cards", "Gb/s", 16,
                                 percent_off(0.5), Basis::Structure, true, "003 section 5.1.2"},
                                {"V-EX2-02", "net", "the same after its coding", "Gb/s", 12.8,
                                 percent_off(0.5), Basis::Structure, true, "003 section 5.1.2"},
                                {"C32", "", "booster nodes", "nodes", 384, points_off(0), Basis::Structure,
                                 true, "003 section 5.4"}},
                               deep});

void greenice(Trial& trial) {
  machine::Machine m = machine::build_graph(trial.description());
  topology::Distances d = topology::measure_distances(*m.graph, *m.faults);
  trial.give("C38", "diameter", d.diameter());
  trial.give("C38", "mean distance", d.mean());
  trial.give("C38", "cables", m.graph->cables());
  trial.give("V-NAA-05", "", m.graph->endpoints() * m.description.processor.peak_gflops() * 1e-3);
}

WEFT_REGISTER(ExperimentKind,
              {"greenice/structure",
               42,
               "greenice",
               {{"C38", "diameter", "cables between the nodes furthest apart", "cables", 5, points_off(0),
                 Basis::Structure, true, "derived from 003 section 5.4.5"},
                {"C38", "mean distance", "cables between two nodes on average", "cables", 2.58,
                 percent_off(0.5), Basis::Structure, true, "derived from 003 section 5.4.5"},
                {"C38", "cables", "cables of the 4 x 2 x 4 torus", "cables", 80, points_off(0),
                 Basis::Structure, true, "derived from 003 section 5.4.5"},
                {"V-NAA-05", "", "peak of the machine", "TFLOP/s", 32, percent_off(1), Basis::Structure, true,
                 "003 section 6.2.1"}},
               greenice});

/// What a blade, a chassis and a rack hold, for table 1.
void track(Trial& trial, const char* id) {
  machine::Machine m = machine::build_graph(trial.description());
  trial.give("C20", id, m.graph->endpoints());
  const auto& shape = *m.graph->shape_as<topology::ExanestShape>();
  const unsigned cores = m.description.processor.sockets * m.description.processor.cores;
  auto counts = [&](const char* place, unsigned fpgas) {
    trial.show(fmt::format("{} FPGAs per {}", id, place), fpgas);
    trial.show(fmt::format("{} cores per {}", id, place), fpgas * cores);
  };
  counts("blade", shape.qfdbs_per_mezzanine() * shape.fpgas_per_qfdb);
  counts("chassis", shape.chassis_fpgas());
  counts("rack", shape.rack_fpgas());
}
void track1(Trial& trial) {
  track(trial, "Track-1");
  machine::Description d = trial.description();
  trial.give("V-EXN-08", "", topology::ExanestShape::kQfdbLinks * gbps(d.cables.front().raw_rate()) / 8);
}
void track2(Trial& trial) { track(trial, "Track-2"); }

WEFT_REGISTER(ExperimentKind, {"exanest-track1/structure",
                               31,
                               "exanest-track1",
                               {{"C20", "Track-1", "FPGAs of a rack", "FPGAs", 432, points_off(0),
                                 Basis::Structure, true, "table 1"},
                                {"V-EXN-08", "", "ten links of a quad board together", "GB/s", 20,
                                 percent_off(0.5), Basis::Structure, true, "section 2"}},
                               track1});
WEFT_REGISTER(ExperimentKind, {"exanest-track2/structure",
                               32,
                               "exanest-track2",
                               {{"C20", "Track-2", "FPGAs of a rack", "FPGAs", 3840, points_off(0),
                                 Basis::Structure, true, "table 1"}},
                               track2});

void apenet(Trial& trial) {
  machine::Machine m = trial.machine();
  // Four nodes are a ring in each dimension: 1 is one hop from 0, and 2 is two.
  lab::PairSetup near, far;
  near.engine = far.engine = "flit";
  far.nodes = {{0, 2}};
  double hop = lab::message_latency_ns(m, far, 8) - lab::message_latency_ns(m, near, 8);
  double cable = static_cast<double>(first_cable(m).flight_time(first_cable(m).length).value) * 1e-3;
  trial.give("V-APE-01", "", hop - cable, "two hops less one, less the cable; flit by flit");
  trial.give("V-APE-02", "", gbps(first_cable(m).raw_rate()));
  trial.give("V-APE-07", "", gbps(m.description.host.bus_rate()) / 8);
  trial.give("C27", "", gbps(first_cable(m).rate()));
  const topology::RouterId card = 0;
  trial.show("APElink+ links", m.graph->port_count(card) - m.graph->endpoints() / m.graph->routers());
}

/// The paper's test bed: transceivers of 6 Gb/s on a development kit. Words of 128 bit have a clock that
/// follows from the rate of a link and its coding.
void apenet_test_bed(Trial& trial) {
  constexpr double kWordBits = 128;
  auto word_mhz = [&](const topology::CableType& cable) {
    return static_cast<double>(cable.rate().value) / kWordBits * 1e-6;
  };
  machine::Machine kit = machine::build_graph(
      machine::describe(trial.machine_name(), with_user(trial, {"cable.default.lane_rate=6Gbps"})));
  machine::Machine card = machine::build_graph(trial.description());
  trial.give("V-APE-03", "", gbps(first_cable(kit).raw_rate()), "four lanes of 6 Gb/s, which is assumed");
  trial.give("V-APE-06", "", word_mhz(first_cable(kit)),
             "the clock of 128 bit words at that rate, after its coding");
  trial.give("V-APE-05", "", word_mhz(first_cable(card)),
             "the same at 8.5 Gb/s on each lane, the most the transceivers can");
}

WEFT_REGISTER(ExperimentKind,
              {"apenet-plus/test-bed",
               36,
               "apenet-plus",
               {{"V-APE-03", "", "rate of a link that the test bed can test", "Gb/s", 24, percent_off(0.5),
                 Basis::Structure, true, "section 3.3"},
                {"V-APE-06", "", "clock up to which the latency is stable", "MHz", 160, percent_off(10),
                 Basis::Structure, true, "section 3.3"},
                {"V-APE-05",
                 "",
                 "clock up to which the recovered clock is stable",
                 "MHz",
                 400,
                 percent_off(10),
                 Basis::Structure,
                 true,
                 "section 3.3",
                 {},
                 Figure::Open{
                     "400 MHz of 128 bit words are 51.2 Gb/s, more than four lanes of 8.5 Gb/s carry: it "
                     "must be another clock, and which one is not said",
                     "which clock the paper means"}}},
               apenet_test_bed});

WEFT_REGISTER(ExperimentKind, {"apenet-plus/structure",
                               35,
                               "apenet-plus",
                               {{"V-APE-01", "", "latency of a router", "ns", 60, percent_off(5),
                                 Basis::Calibrated, true, "section 3.2"},
                                {"V-APE-02", "", "rate of a link", "Gb/s", 34, percent_off(0.5),
                                 Basis::Structure, true, "table 1"},
                                {"V-APE-07", "", "host bandwidth, each way", "GB/s", 4, percent_off(1),
                                 Basis::Structure, true, "table 1"},
                                {"C27", "", "rate of a link after its coding", "Gb/s", 27.2, percent_off(0.5),
                                 Basis::Structure, true, "derived; the coding is assumed"}},
                               apenet});

}  // namespace

}  // namespace weft::measure
