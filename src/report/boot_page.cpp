// The page of a run of Linux nodes.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "host/call_log.hpp"
#include "report/boot_report.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"
#include "report/plot_heat.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"
#include "report/time_axis.hpp"

namespace weft::report {

namespace {

constexpr std::string_view kBooting = "#f2cf8b", kUp = "#dfe7ee", kSending = "#0072b2", kAgain = "#d7191c";
constexpr double kWidth = 1000, kLeft = 74, kPlot = kWidth - kLeft - 8;
constexpr std::size_t kMostRows = 64;

class BootPage {
 public:
  explicit BootPage(const BootReport& report) : r_(report), nodes_(report.result.nodes) {
    for (const guest::NodeResult& node : nodes_) end_ = std::max(end_, node.end);
    step_ = std::max<std::size_t>(1, (nodes_.size() + kMostRows - 1) / kMostRows);
  }

  std::string html() const {
    return html_page(title(), head() + failures() + timeline() + matrix() + table() + storm() + ranks() +
                                  incidents() + captures() + configuration());
  }

 private:
  std::string title() const { return fmt::format("Linux on {}", r_.machine.description.identity.name); }

  std::string head() const {
    std::uint64_t frames = 0, bytes = 0, again = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      frames += nodes_[i].ethernet.frames_sent;
      bytes += nodes_[i].ethernet.bytes_sent;
      again += r_.traffic.sent_again(i);
    }
    return fmt::format(
        "<header>\n<p class=\"eyebrow\">Weft boot report</p>\n<h1>{}</h1>\n<p class=\"about\">{} on the {} "
        "engine: {} of virtual time, {} with {}; TCP sent {} again</p>\n</header>\n",
        escape_xml(title()), count_of(nodes_.size(), "Linux node"), escape_xml(r_.engine),
        escape_xml(host::time_text(r_.result.end)), count_of(frames, "frame"), bytes_text(bytes),
        again ? count_of(again, "segment") : "nothing");
  }

  std::string failures() const {
    std::string out;
    if (!r_.result.failure.empty())
      out += fmt::format("<div class=\"notice bad\"><b>{}</b></div>\n", escape_xml(r_.result.failure));
    for (const guest::NodeResult& node : nodes_) {
      if (node.failure.empty()) continue;
      std::string lines;
      for (const std::string& line : node.last_lines) lines += escape_xml(line) + "\n";
      out +=
          fmt::format("<div class=\"notice bad\"><b>{}: {}</b>{}</div>\n", escape_xml(node.name),
                      escape_xml(node.failure),
                      lines.empty() ? "" : "<p>The last lines of its console:</p>\n<pre>" + lines + "</pre>");
    }
    return out;
  }

  // --- Over time.

  double x(double picoseconds) const {
    return kLeft + kPlot * picoseconds / static_cast<double>(std::max<std::int64_t>(1, end_.value));
  }
  double x(Time t) const { return x(static_cast<double>(t.value)); }

  /// The most that a node sent in a slice: what the height of a row stands for.
  std::uint64_t most_in_a_slice() const {
    std::uint64_t most = 1;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (unsigned s = 0; s < guest::Slices::kSlices; ++s)
        most = std::max(most, r_.traffic.bytes_over_time().in(i, s));
    return most;
  }

  std::string row(std::size_t node, double top, double height, std::uint64_t most) const {
    const guest::NodeResult& n = nodes_[node];
    const guest::Slices& sent = r_.traffic.bytes_over_time();
    const double inner = height - 3, bottom = top + inner;
    // A node whose network never came up was booting all the time.
    const Time up = n.network_up.value ? n.network_up : n.end;
    auto box = [&](Time from, Time until, std::string_view colour) {
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>",
                         x(from), top, std::max(0.5, x(until) - x(from)), inner, colour);
    };
    std::string out =
        fmt::format("<g><title>{}</title>",
                    escape_xml(fmt::format("{}{} on node {}: network up after {}, off after {}; sent {}",
                                           n.name, n.accelerator.empty() ? "" : " (" + n.accelerator + ")",
                                           n.node, host::time_text(up), host::time_text(n.end),
                                           bytes_text(n.ethernet.bytes_sent))));
    out += box(up, n.end, kUp) + box({0}, up, kBooting);
    std::string path;
    for (unsigned s = 0; s < guest::Slices::kSlices; ++s) {
      const std::uint64_t bytes = sent.in(node, s);
      if (bytes == 0) continue;
      const double from = x(static_cast<double>(sent.width().value) * s);
      const double wide = std::max(1.0, x(static_cast<double>(sent.width().value) * (s + 1)) - from);
      // A single small frame is seen too.
      const double high = std::max(2.0, inner * static_cast<double>(bytes) / static_cast<double>(most));
      path += fmt::format("M{:.1f} {:.1f}v{:.1f}h{:.1f}v{:.1f}Z", from, bottom, -high, wide, high);
    }
    if (!path.empty()) out += fmt::format("<path d=\"{}\" fill=\"{}\"/>", path, kSending);
    out += marks(node, top) + "</g>\n";
    if (nodes_.size() / step_ <= 20 || node / step_ % 4 == 0)
      out += svg_text({kLeft - 8, top + inner / 2 + 4}, n.name, 12, kFaintInk, Anchor::End);
    return out;
  }

  /// Where TCP sent something again.
  std::string marks(std::size_t node, double top) const {
    const guest::Slices& again = r_.traffic.sent_again_over_time();
    std::string out;
    for (unsigned s = 0; s < guest::Slices::kSlices; ++s) {
      if (again.in(node, s) == 0) continue;
      const double at = x(static_cast<double>(again.width().value) * (s + 0.5));
      out += fmt::format("<path d=\"M{:.1f} {:.1f}l4 7h-8Z\" fill=\"{}\"><title>{} sent again</title></path>",
                         at, top, kAgain, count_of(again.in(node, s), "segment"));
    }
    return out;
  }

  std::string timeline() const {
    if (end_.value <= 0) return "";
    const std::size_t rows = (nodes_.size() + step_ - 1) / step_;
    const double height = rows <= 8 ? 34 : rows <= 20 ? 22 : 12;
    const std::uint64_t most = most_in_a_slice();
    const double bottom = height * static_cast<double>(rows);
    std::string svg = fmt::format(
        "<svg class=\"chart lines\" viewBox=\"0 -4 {:.0f} {:.0f}\" role=\"img\" aria-label=\"nodes over "
        "time\">\n",
        kWidth, bottom + 48);
    for (std::size_t i = 0; i < nodes_.size(); i += step_)
      svg += row(i, height * static_cast<double>(i / step_), height, most);
    svg += incident_lines(bottom) + time_axis({kLeft, bottom}, kPlot, end_) + "</svg>\n";
    std::string legend = "<div class=\"legend\">" + legend_key(kBooting, false, "booting") +
                         legend_key(kUp, false, "up") + legend_key(kSending, false, "sending") +
                         legend_key(kAgain, false, "sent again by TCP") + "</div>\n";
    const double seconds = static_cast<double>(r_.traffic.bytes_over_time().width().value) * 1e-12;
    std::string lead = fmt::format("A line for each node; a full line of blue is {} in {}.", bytes_text(most),
                                   host::time_text(seconds * 1e12));
    if (step_ > 1) lead += fmt::format(" Every {}th node is shown.", step_);
    return html_section("timeline", "Boot and traffic", lead, legend + svg);
  }

  std::string incident_lines(double bottom) const {
    std::string out;
    for (const network::Network::Incident& incident : r_.incidents)
      if (incident.at <= end_)
        out += fmt::format(
            "<path d=\"M{0:.1f} -4V{1:.1f}\" stroke=\"{2}\" stroke-dasharray=\"4 "
            "3\"><title>{3}</title></path>",
            x(incident.at), bottom, kDeadColour, escape_xml(incident.what));
    return out;
  }

  // --- Who and what.

  /// Bytes from each node to each; neighbours share a cell where there are many.
  std::string matrix() const {
    const std::size_t nodes = nodes_.size(), cells = (nodes + step_ - 1) / step_;
    std::vector<std::uint64_t> bytes(cells * cells);
    for (std::size_t from = 0; from < nodes; ++from)
      for (std::size_t to = 0; to < nodes; ++to)
        bytes[from / step_ * cells + to / step_] += r_.traffic.bytes(from, to);
    const std::uint64_t most = *std::max_element(bytes.begin(), bytes.end());
    if (most == 0) return html_section("matrix", "Who sends to whom", "Nobody sent anything to another.", "");
    const double edge = std::clamp(480.0 / static_cast<double>(cells), 6.0, 64.0),
                 size = edge * static_cast<double>(cells);
    std::string svg = fmt::format(
        "<svg viewBox=\"-64 -22 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" role=\"img\" aria-label=\"traffic "
        "matrix\">",
        size + 70, size + 28);
    for (std::size_t from = 0; from < cells; ++from)
      for (std::size_t to = 0; to < cells; ++to) {
        const std::uint64_t sum = bytes[from * cells + to];
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "fill=\"{}\"><title>{}</title></rect>",
            static_cast<double>(to) * edge, static_cast<double>(from) * edge, edge - 1, edge - 1,
            sum ? heat_colour(static_cast<double>(sum) / static_cast<double>(most)) : "#f2f4f6",
            escape_xml(fmt::format("{} to {}: {}", nodes_[from * step_].name, nodes_[to * step_].name,
                                   bytes_text(sum))));
      }
    for (std::size_t i = 0; i < cells; i += std::max<std::size_t>(1, cells / 8)) {
      const double middle = static_cast<double>(i) * edge + edge / 2;
      svg += svg_text({middle, -6}, std::to_string(i * step_), 11, kFaintInk, Anchor::Middle);
      svg += svg_text({-6, middle + 4}, nodes_[i * step_].name, 11, kFaintInk, Anchor::End);
    }
    return html_section(
        "matrix", "Who sends to whom",
        fmt::format("Rows send, columns receive; what stands out most is {}. Frames for all: {}.",
                    bytes_text(most), bytes_text(r_.traffic.broadcast())),
        svg + "</svg>");
  }

  std::string table() const {
    // In one line, however narrow the column.
    auto size = [](std::uint64_t bytes) {
      std::string text = bytes_text(bytes);
      if (std::size_t space = text.find(' '); space != std::string::npos) text.replace(space, 1, "&#160;");
      return text;
    };
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < nodes_.size() && i < 256; ++i) {
      const guest::NodeResult& n = nodes_[i];
      const guest::EthernetCounters& e = n.ethernet;
      rows.push_back({escape_xml(n.name), std::to_string(n.node), rounded(n.network_up), rounded(n.end),
                      std::to_string(n.code), with_commas(e.frames_sent), size(e.bytes_sent),
                      with_commas(e.frames_received), size(e.bytes_received),
                      with_commas(e.no_room + e.unsent + e.damaged), with_commas(r_.traffic.sent_again(i)),
                      with_commas(e.interrupts),
                      rounded(Time{static_cast<std::int64_t>(e.processor.value)})});
    }
    return html_section("nodes", "The nodes", "",
                        html_table({{"Node"},
                                    {"Of the machine", true},
                                    {"Network up", true},
                                    {"Off", true},
                                    {"Exit code", true},
                                    {"Frames out", true},
                                    {"Bytes out", true},
                                    {"Frames in", true},
                                    {"Bytes in", true},
                                    {"Lost", true},
                                    {"TCP again", true},
                                    {"Interrupts", true},
                                    {"Kernel's work", true}},
                                   rows));
  }

  std::string storm() const {
    const guest::StormTimes storm = guest::storm_times(r_.result);
    if (!storm.nodes) return "";
    return html_section(
        "storm", "The storm",
        fmt::format("{} booted over the network at once; {} of them without a kernel, by a recording of {}.",
                    count_of(storm.nodes, "node"), storm.skeletons, count_of(r_.result.recorded, "frame")),
        html_table({{"First", true}, {"Half of them", true}, {"Last", true}},
                   {{rounded(storm.first), rounded(storm.median), rounded(storm.last)}}));
  }

  std::string ranks() const {
    const host::RunResult& run = r_.ranks;
    if (run.ranks.empty()) return "";
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < run.ranks.size() && i < 256; ++i) {
      const host::RankResult& rank = run.ranks[i];
      rows.push_back({std::to_string(i), std::to_string(rank.node), rounded(rank.end), rounded(rank.waited),
                      escape_xml(rank.ending.text())});
    }
    return html_section(
        "ranks", "Ranks beside the nodes", escape_xml(run.failure),
        html_table({{"Rank"}, {"Of the machine", true}, {"End", true}, {"Waited", true}, {"How it ended"}},
                   rows));
  }

  std::string incidents() const {
    if (r_.incidents.empty()) return "";
    std::vector<std::vector<std::string>> rows;
    for (const network::Network::Incident& incident : r_.incidents)
      rows.push_back({host::time_text(incident.at), escape_xml(incident.what)});
    return html_section("incidents", "What broke", "", html_table({{"When", true}, {"What"}}, rows));
  }

  std::string captures() const {
    if (r_.captured.empty()) return "";
    std::string links;
    for (std::size_t i : r_.captured)
      links += fmt::format("<li><a href=\"{0}.pcapng\">{0}.pcapng</a></li>\n", guest::node_name(i));
    return html_section("captures", "Captures", "For Wireshark and tcpdump; time stamps are virtual.",
                        "<ul>\n" + links + "</ul>\n");
  }

  std::string configuration() const {
    std::vector<std::vector<std::string>> rows;
    for (const config::Setting& s : r_.machine.description.settings)
      rows.push_back({escape_xml(s.key), escape_xml(s.value)});
    return html_section(
               "configuration", "How it was run", "",
               fmt::format(
                   "<pre>{}</pre>\n<details>\n<summary>Effective configuration: {}</summary>\n{}</details>\n",
                   escape_xml(r_.command), count_of(rows.size(), "setting"),
                   html_table({{"Setting"}, {"Value"}}, rows))) +
           fmt::format("<footer>Weft {}, seed {}. The same command gives the same figures.</footer>\n",
                       escape_xml(r_.version), r_.seed);
  }

  const BootReport& r_;
  const std::vector<guest::NodeResult>& nodes_;
  Time end_{0};
  std::size_t step_ = 1;
};

}  // namespace

std::string boot_page(const BootReport& report) { return BootPage(report).html(); }

}  // namespace weft::report
