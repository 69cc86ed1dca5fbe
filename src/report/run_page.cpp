// The page of a run of programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/mpi_protocols.hpp"
#include "report/plot_chart.hpp"
#include "report/plot_heat.hpp"
#include "report/run_answer.hpp"
#include "report/run_report.hpp"
#include "report/run_sections.hpp"

namespace weft::report {

using measure::OperationSums;
using nic::Breakdown;

namespace {

constexpr std::string_view kPartColours[Breakdown::kParts] = {"#0072b2", "#cc79a7", "#009e73", "#e69f00",
                                                              "#8c564b", "#56b4e9", "#22313f"};

double ns(Time t) { return static_cast<double>(t.value) / 1000; }
double ns(const TimeSum& sum) { return sum.picoseconds() / 1000; }

std::string time_of(double nanoseconds) {
  return host::time_text(Time{static_cast<std::int64_t>(std::llround(nanoseconds * 1000))});
}

class Page {
 public:
  Page(const measure::ProgramResult& result, const measure::RunStats& stats,
       const measure::RunDetails& details, const machine::Machine& machine, const std::string& more)
      : result_(result), stats_(stats), details_(details), machine_(machine), more_(more) {}

  std::string html() const {
    measure::LinkLoads loads(machine_);
    return html_page(
        title(), head() + failure() + summary_section(result_, details_, machine_) +
                     timeline_section(result_, details_) + more_ + waits_section(details_.answer) +
                     calls_section(details_, stats_.ranks()) + collectives_section(result_, details_, loads) +
                     offload_section(result_) + links_section(result_, details_, loads, machine_) +
                     collective_links_section(result_, details_, machine_) + matrix() + sizes() +
                     protocols_section(result_.run) + breakdown() + ranks() + interfaces() + configuration());
  }

 private:
  std::string title() const { return fmt::format("{} on {}", result_.what, result_.machine); }

  std::string head() const {
    std::uint64_t operations = 0, bytes = 0;
    for (std::size_t i = 1; i < measure::kOperations; ++i) {
      operations += stats_.operations(i).count;
      bytes += stats_.operations(i).bytes;
    }
    return fmt::format(
        "<header>\n<p class=\"eyebrow\">Weft run report</p>\n<h1>{}</h1>\n<p class=\"about\">{} on the {} "
        "engine: {} of "
        "virtual time, {} with {}</p>\n</header>\n",
        escape_xml(title()), count_of(stats_.ranks(), "rank"), escape_xml(result_.engine),
        escape_xml(host::time_text(result_.run.end)), count_of(operations, "operation"), bytes_text(bytes));
  }

  std::string failure() const {
    if (result_.run.fine) return "";
    std::string lines;
    for (const std::string& line : result_.run.details)
      lines += fmt::format("<li>{}</li>\n", escape_xml(line));
    return fmt::format("<div class=\"notice bad\"><b>{}</b>\n<ul>\n{}</ul></div>\n",
                       escape_xml(result_.run.failure), lines.empty() ? "<li>no details</li>\n" : lines);
  }

  /// Where the time of an operation goes, as a bar of its parts.
  std::string breakdown() const {
    std::string legend;
    for (int i = 0; i < Breakdown::kParts; ++i)
      legend += legend_key(kPartColours[i], false, Breakdown::name(i));
    std::vector<std::vector<std::string>> rows;
    double longest = 1;
    for (std::size_t i = 1; i < measure::kOperations; ++i)
      if (const OperationSums& s = stats_.operations(i); s.count)
        longest = std::max(longest, ns(s.total) / static_cast<double>(s.count));
    for (std::size_t i = 1; i < measure::kOperations; ++i) {
      const OperationSums& s = stats_.operations(i);
      if (!s.count && !s.failed) continue;
      double count = std::max<double>(1, static_cast<double>(s.count)), x = 0;
      std::string bar = "<svg width=\"320\" height=\"16\" role=\"img\" aria-label=\"parts of the time\">";
      for (int part = 0; part < Breakdown::kParts; ++part) {
        double mean = ns(s.parts[static_cast<std::size_t>(part)]) / count, width = mean / longest * 320;
        bar += fmt::format(
            "<rect x=\"{:.2f}\" y=\"1\" width=\"{:.2f}\" height=\"14\" fill=\"{}\"><title>{}: "
            "{}</title></rect>",
            x, width, kPartColours[part], Breakdown::name(part), escape_xml(time_of(mean)));
        x += width;
      }
      rows.push_back({measure::operation_name(i), with_commas(s.count), with_commas(s.failed),
                      bytes_text(s.bytes), s.count ? time_of(ns(s.total) / count) : "",
                      s.count ? host::time_text(s.shortest) : "", s.count ? host::time_text(s.longest) : "",
                      bar + "</svg>"});
    }
    if (rows.empty()) return html_section("time", "Where the time goes", "No operation was done.", "");
    return html_section("time", "Where the time goes",
                        "From posting to data in memory, on average; the parts add up to the whole.",
                        legend + html_table({{"Operation"},
                                             {"Done", true},
                                             {"Failed", true},
                                             {"Data", true},
                                             {"Mean", true},
                                             {"Least", true},
                                             {"Most", true},
                                             {"Parts"}},
                                            rows));
  }

  std::string sizes() const {
    const auto& sizes = stats_.sizes();
    std::size_t last = sizes.size();
    while (last > 0 && sizes[last - 1] == 0) --last;
    if (last == 0) return "";
    double most = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
    Chart chart(760, 260, "operations by size", Range{0, static_cast<double>(last)},
                {"size: 0 bytes, then powers of two", static_cast<unsigned>(std::min<std::size_t>(last, 12))},
                range_to(most, 5), {"operations", 5});
    for (std::size_t i = 0; i < last; ++i) {
      std::uint64_t low = i ? std::uint64_t{1} << (i - 1) : 0, high = i ? (std::uint64_t{1} << i) - 1 : 0;
      if (sizes[i])
        chart.bar(static_cast<double>(i) + 0.08, static_cast<double>(i) + 0.92, static_cast<double>(sizes[i]),
                  "#0072b2", fmt::format("{} to {} bytes: {}", low, high, count_of(sizes[i], "operation")));
    }
    return html_section("sizes", "How large",
                        "Each bar is twice as far as the one before; the first is for nothing at all.",
                        chart.svg());
  }

  /// Who sends to whom; neighbours share a cell where there are many.
  std::string matrix() const {
    if (!stats_.has_matrix()) return "";
    constexpr unsigned kMostCells = 64;
    unsigned ranks = stats_.ranks(), step = (ranks + kMostCells - 1) / kMostCells,
             cells = (ranks + step - 1) / step;
    std::vector<std::uint64_t> bytes(std::size_t{cells} * cells), counts(bytes.size());
    for (unsigned from = 0; from < ranks; ++from)
      for (unsigned to = 0; to < ranks; ++to) {
        bytes[from / step * cells + to / step] += stats_.bytes(from, to);
        counts[from / step * cells + to / step] += stats_.count(from, to);
      }
    std::uint64_t most = std::max<std::uint64_t>(1, *std::max_element(counts.begin(), counts.end()));
    double edge = std::clamp(480.0 / cells, 6.0, 36.0), size = edge * cells;
    std::string svg = fmt::format(
        "<svg viewBox=\"-34 -22 {0:.0f} {0:.0f}\" width=\"{0:.0f}\" role=\"img\" "
        "aria-label=\"traffic matrix\">",
        size + 40);
    for (unsigned from = 0; from < cells; ++from)
      for (unsigned to = 0; to < cells; ++to) {
        std::uint64_t count = counts[from * cells + to];
        std::string note = fmt::format("rank {} to rank {}: {}, {}", from * step, to * step,
                                       count_of(count, "operation"), bytes_text(bytes[from * cells + to]));
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "fill=\"{}\"><title>{}</title></rect>",
            to * edge, from * edge, edge - 0.5, edge - 0.5,
            count ? heat_colour(static_cast<double>(count) / static_cast<double>(most)) : "#f2f4f6",
            escape_xml(note));
      }
    unsigned every = std::max(1u, cells / 8);
    for (unsigned i = 0; i < cells; i += every) {
      svg += svg_text({i * edge + edge / 2, -6}, std::to_string(i * step), 11, kFaintInk, Anchor::Middle);
      svg += svg_text({-6, i * edge + edge / 2 + 4}, std::to_string(i * step), 11, kFaintInk, Anchor::End);
    }
    return html_section("matrix", "Who sends to whom",
                        "Rows send, columns receive; the more a square stands out, the more operations.",
                        svg + "</svg>");
  }

  std::string ranks() const {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < result_.run.ranks.size() && i < 256; ++i) {
      const host::RankResult& r = result_.run.ranks[i];
      double share =
          r.end.value > 0 ? static_cast<double>(r.waited.value) / static_cast<double>(r.end.value) : 0;
      rows.push_back({std::to_string(i), std::to_string(r.node), host::time_text(r.end),
                      html_bar(std::min(1.0, share), "#e69f00"), escape_xml(r.ending.text())});
    }
    return html_section(
        "ranks", "The ranks", "How long each lived in virtual time, and how much of that it waited.",
        html_table({{"Rank", true}, {"Node", true}, {"End", true}, {"Waited"}, {"How it ended"}}, rows));
  }

  std::string interfaces() const {
    if (result_.nics.empty()) return "";  // a replay knows nothing of them
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < result_.nics.size() && i < 256; ++i) {
      const nic::Counters& c = result_.nics[i];
      double units = static_cast<double>(machine_.description.nic.units) * std::max(1.0, ns(result_.run.end));
      rows.push_back({std::to_string(result_.nodes[i]), with_commas(c.packets_sent), bytes_text(c.bytes_sent),
                      with_commas(c.packets_received), html_bar(std::min(1.0, ns(c.busy) / units), "#0072b2"),
                      with_commas(c.deepest_queue),
                      fmt::format("{} of {}", with_commas(c.translation_misses), with_commas(c.translations)),
                      with_commas(c.retries), with_commas(c.window_stalls),
                      with_commas(c.messages_held + c.events_held)});
    }
    return html_section("interfaces", "The interfaces", "",
                        html_table({{"Node", true},
                                    {"Packets out", true},
                                    {"Bytes out", true},
                                    {"Packets in", true},
                                    {"Units busy"},
                                    {"Deepest queue", true},
                                    {"Translation misses", true},
                                    {"Retries", true},
                                    {"Stalls", true},
                                    {"Held", true}},
                                   rows));
  }

  std::string configuration() const {
    std::vector<std::vector<std::string>> rows;
    for (const config::Setting& s : machine_.description.settings)
      rows.push_back({escape_xml(s.key), escape_xml(s.value)});
    return html_section(
               "configuration", "How it was run", "",
               fmt::format(
                   "<pre>{}</pre>\n<details>\n<summary>Effective configuration: {}</summary>\n{}</details>\n",
                   escape_xml(result_.command), count_of(rows.size(), "setting"),
                   html_table({{"Setting"}, {"Value"}}, rows))) +
           fmt::format("<footer>Weft {}, seed {}. The same command gives the same figures.</footer>\n",
                       escape_xml(result_.version), result_.seed);
  }

  const measure::ProgramResult& result_;
  const measure::RunStats& stats_;
  const measure::RunDetails& details_;
  const machine::Machine& machine_;
  const std::string& more_;
};

}  // namespace

std::string run_page(const measure::ProgramResult& result, const measure::RunStats& stats,
                     const measure::RunDetails& details, const machine::Machine& machine,
                     const std::string& more) {
  return Page(result, stats, details, machine, more).html();
}

}  // namespace weft::report
