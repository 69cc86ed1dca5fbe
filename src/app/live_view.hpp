// `--watch` of `run` and `traffic`: a page on this computer that shows them while they run.
#pragma once

#include <memory>
#include <optional>

#include "app/command_line.hpp"
#include "base/stopwatch.hpp"
#include "host/simulation.hpp"
#include "live/board.hpp"
#include "live/link_meter.hpp"
#include "live/page.hpp"
#include "live/server.hpp"
#include "measure/traffic/sweep.hpp"

namespace weft::app {

struct WatchPage {
  bool on = false;
  unsigned port = 0;
  void declare(CommandLine& app);
};

/// A run of programs, looked at between its turns.
class LiveRun {
 public:
  /// `expected`: how long a run of the same command took, in virtual time; 0: nobody knows.
  LiveRun(const WatchPage& watch, const machine::Machine& machine, const network::EngineKind& engine,
          const network::Network& network, const live::PageText& text, Time expected);

  /// After all who watch for other reasons.
  void attach(host::Simulation& simulation);
  /// Whenever the run asks whether it is to end: true where the page said so.
  bool look(const host::Simulation& simulation, bool (*interrupted)());
  /// The run is over; its last state.
  void end(const host::Simulation& simulation);

 private:
  std::string describe(const host::Simulation& simulation);
  void measure_links(Time now);

  const machine::Machine& machine_;
  const network::Network& network_;
  Time expected_;
  live::Board board_{1};
  live::Server server_;
  live::LinkMeter meter_;
  bool started_ = false;
  // Of engines that count flits: the time of one by cable, in picoseconds.
  std::vector<double> flit_time_;
  std::vector<std::uint64_t> sent_;
  // Of others: some of what was sent since the last look, one of `one_of_` each.
  void keep(measure::Transfer transfer);
  std::optional<measure::LinkLoads> loads_;
  std::vector<measure::Transfer> transfers_;
  std::uint64_t seen_ = 0, one_of_ = 1;
  Time then_{0};
  Stopwatch since_then_;
};

/// A sweep, each of whose points is looked at by the thread that runs it.
class LiveTraffic : public measure::SweepViewer {
 public:
  /// `interrupted` becomes true where the page says so.
  LiveTraffic(const WatchPage& watch, const machine::Machine& machine, const network::CycleFacts& facts,
              const live::PageText& text, std::atomic<bool>& interrupted);

  bool wants(std::size_t point) override;
  void see(std::size_t point, const measure::PointView& view) override;
  /// Some points have come to their end, of all there are.
  void done(const measure::TrafficPoint& point, std::size_t count);
  void end() { board_.end(); }

 private:
  struct Point {
    explicit Point(const machine::Machine& machine) : meter(machine) {}
    live::LinkMeter meter;
    std::vector<std::uint64_t> sent;
    network::Cycle then = 0;
    Stopwatch since_then;
  };
  network::CycleTime cycle_;
  std::vector<double> loads_, flit_time_;
  std::atomic<bool>& interrupted_;
  std::vector<std::unique_ptr<Point>> points_;
  live::Board board_;
  live::Server server_;
};

/// The virtual time of an earlier run of the same command whose results lie in a folder; 0: there is none.
Time time_of_earlier_run(const std::string& folder, const std::string& command);

}  // namespace weft::app
