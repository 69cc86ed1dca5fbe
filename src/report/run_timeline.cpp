#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "host/call_log.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_axis.hpp"
#include "report/plot_chart.hpp"
#include "report/run_answer.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"
#include "report/time_axis.hpp"

namespace weft::report {

using measure::RankTimes;

namespace {

constexpr std::string_view kComputing = "#009e73", kInMpi = "#0072b2", kWaiting = "#f2cf8b";
constexpr double kWidth = 1000, kLeft = 62, kPlot = kWidth - kLeft - 8;
constexpr unsigned kMostRows = 64;

struct Shares {
  double computing = 0, in_mpi = 0, waiting = 0;  // of `alive`
  double alive = 0;                               // of the slice or the run
};

Shares shares(Time waiting, Time in_mpi, Time alive, bool has_mpi) {
  if (alive.value <= 0) return {};
  auto part = [&](Time t) {
    return std::clamp(static_cast<double>(t.value) / static_cast<double>(alive.value), 0.0, 1.0);
  };
  Shares s;
  s.waiting = part(waiting);
  // A rank waits within its calls, so what is left of them is work.
  s.in_mpi = has_mpi ? std::clamp(part(in_mpi) - s.waiting, 0.0, 1 - s.waiting) : 0;
  s.computing = 1 - s.waiting - s.in_mpi;
  s.alive = 1;
  return s;
}

class Timeline {
 public:
  Timeline(const measure::ProgramResult& result, const measure::RunDetails& details)
      : result_(result), times_(details.times), has_mpi_(!details.mpi.calls.empty()) {
    for (const host::RankResult& r : result.run.ranks) end_ = std::max(end_, r.end);
    unsigned ranks = std::min<unsigned>(times_.ranks(), static_cast<unsigned>(result.run.ranks.size()));
    step_ = (ranks + kMostRows - 1) / kMostRows;
    for (unsigned rank = 0; rank < ranks; rank += std::max(1u, step_)) rows_.push_back(rank);
    height_ = rows_.size() <= 16 ? 22 : rows_.size() <= 32 ? 16 : 11;
  }

  bool empty() const { return rows_.empty() || end_.value <= 0; }
  unsigned step() const { return step_; }

  std::string svg() const {
    double bottom = height_ * static_cast<double>(rows_.size());
    std::string out = fmt::format(
        "<svg class=\"chart lines\" viewBox=\"0 -4 {:.0f} {:.0f}\" role=\"img\" aria-label=\"what ranks did "
        "over "
        "time\">\n",
        kWidth, bottom + 48);
    for (std::size_t i = 0; i < rows_.size(); ++i) out += row(i);
    return out + time_axis({kLeft, bottom}, kPlot, end_) + "</svg>\n";
  }

  std::string legend() const {
    std::string out =
        "<div class=\"legend\">" + legend_key(kComputing, false, has_mpi_ ? "computing" : "running");
    if (has_mpi_) out += legend_key(kInMpi, false, "working in MPI");
    return out + legend_key(kWaiting, false, "waiting for others") + "</div>\n";
  }

 private:
  double x(double picoseconds) const { return kLeft + kPlot * picoseconds / static_cast<double>(end_.value); }

  Shares in_slice(unsigned rank, unsigned i) const {
    Time from{times_.slice().value * i}, until{times_.slice().value * (i + 1)};
    Time alive = std::min(until, result_.run.ranks[rank].end) - from;
    return shares(times_.in(RankTimes::Waiting, rank, i), times_.in(RankTimes::InMpi, rank, i), alive,
                  has_mpi_);
  }

  /// From the bottom: computing, in MPI, waiting; each a band of steps, drawn from its upper edge down to the
  /// bottom.
  std::string row(std::size_t i) const {
    unsigned rank = rows_[i];
    double top = height_ * static_cast<double>(i), inner = height_ - 3;
    Time alive = result_.run.ranks[rank].end;
    Shares all =
        shares(times_.total(RankTimes::Waiting, rank), times_.total(RankTimes::InMpi, rank), alive, has_mpi_);
    std::string note = fmt::format("rank {} on node {}: computing {}, in MPI {}, waiting {} of {}", rank,
                                   result_.run.ranks[rank].node, percent(all.computing), percent(all.in_mpi),
                                   percent(all.waiting), host::time_text(alive));
    std::string out = fmt::format("<g><title>{}</title>", escape_xml(note));
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>",
                       kLeft, top, x(static_cast<double>(alive.value)) - kLeft, inner, kWaiting);
    out += band(rank, top, inner, kInMpi, [](const Shares& s) { return s.computing + s.in_mpi; });
    out += band(rank, top, inner, kComputing, [](const Shares& s) { return s.computing; });
    out += "</g>\n";
    if (rows_.size() <= 16 || i % 4 == 0)
      out +=
          svg_text({kLeft - 8, top + inner / 2 + 4},
                   i == 0 ? fmt::format("rank {}", rank) : std::to_string(rank), 12, kFaintInk, Anchor::End);
    return out;
  }

  template <class Height>
  std::string band(unsigned rank, double top, double inner, std::string_view colour, Height height) const {
    std::string path;
    double last = 0;
    for (unsigned i = 0; i < RankTimes::kSlices; ++i) {
      double from = static_cast<double>(times_.slice().value) * i;
      if (from >= static_cast<double>(end_.value)) break;
      double now = height(in_slice(rank, i));
      if (now == last) continue;
      path += fmt::format("H{:.1f}V{:.1f}", x(from), top + inner * (1 - now));
      last = now;
    }
    if (path.empty()) return "";
    double right = x(static_cast<double>(result_.run.ranks[rank].end.value));
    return fmt::format("<path d=\"M{:.1f} {:.1f}{}H{:.1f}V{:.1f}Z\" fill=\"{}\"/>", kLeft, top + inner, path,
                       right, top + inner, colour);
  }

  const measure::ProgramResult& result_;
  const RankTimes& times_;
  bool has_mpi_;
  Time end_{0};
  unsigned step_ = 1;
  std::vector<unsigned> rows_;
  double height_ = 22;
};

}  // namespace

std::string timeline_section(const measure::ProgramResult& result, const measure::RunDetails& details) {
  Timeline timeline(result, details);
  if (timeline.empty()) return "";
  std::string lead = "A line for each rank; how high a colour stands is its share of that moment.";
  if (timeline.step() > 1) lead += fmt::format(" Every {}th rank is shown.", timeline.step());
  return html_section("timeline", "What the ranks did", lead, timeline.legend() + timeline.svg());
}

std::string summary_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                            const machine::Machine& machine) {
  const measure::MpiProfile& mpi = details.mpi;
  Shares sum;
  for (unsigned rank = 0; rank < details.times.ranks() && rank < result.run.ranks.size(); ++rank) {
    Shares s =
        shares(details.times.total(RankTimes::Waiting, rank), details.times.total(RankTimes::InMpi, rank),
               result.run.ranks[rank].end, !mpi.calls.empty());
    sum.computing += s.computing, sum.in_mpi += s.in_mpi, sum.waiting += s.waiting, sum.alive += s.alive;
  }
  if (sum.alive == 0) return "";
  std::string text =
      fmt::format("On average the ranks waited {} of the time", percent(sum.waiting / sum.alive));
  text += mpi.calls.empty()
              ? fmt::format(" and ran {}.", percent(sum.computing / sum.alive))
              : fmt::format(", worked in MPI {} and computed {}.", percent(sum.in_mpi / sum.alive),
                            percent(sum.computing / sum.alive));
  if (!mpi.calls.empty())
    text += fmt::format(" Most of the time in MPI went to {}.", abi::call_facts(mpi.calls.front().call).name);
  if (!mpi.collectives.empty()) {
    const measure::Collective& c = mpi.collectives.front().slowest;
    std::string size = c.bytes ? fmt::format(" of {}", bytes_text(c.bytes)) : "";
    text += fmt::format(" The slowest collective was {}{} over {}: {}.", abi::call_facts(c.call).name, size,
                        count_of(c.members, "rank"), rounded(c.took()));
  }
  std::string out;
  if (const std::string answer = answer_text(details.answer, machine); !answer.empty())
    out = fmt::format("<p class=\"summary answer\">{}</p>\n", escape_xml(answer));
  return out + fmt::format("<p class=\"summary\">{}</p>\n", escape_xml(text));
}

}  // namespace weft::report
