#include "report/traffic_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"
#include "report/plot_heat.hpp"
#include "report/plot_traffic.hpp"
#include "report/traffic_faults.hpp"
#include "report/traffic_findings.hpp"

namespace weft::report {

using measure::LinkUse;
using measure::TrafficPoint;
using measure::TrafficResult;
using topology::Graph;

namespace {

constexpr std::size_t kHottest = 10;

class Report {
 public:
  Report(const TrafficResult& result, const machine::Machine& machine)
      : result_(result),
        machine_(machine),
        graph_(*machine.graph),
        found_(find(result)),
        units_(units_of(result)) {}

  std::string html() const {
    std::string body = head() + notices();
    if (found_.focus) {
      body += fmt::format("<p class=\"summary\">{}</p>\n", escape_xml(summary_in_words(result_, machine_)));
      body += key_figures() + faults_html(result_, machine_) + curves() + histogram() + heat_map() +
              hottest() + waiting_and_fairness() + points();
    }
    body += configuration() + foot();
    return html_page(title(), body);
  }

 private:
  std::string title() const { return fmt::format("{} under {} traffic", result_.machine, result_.pattern); }

  std::string head() const {
    std::string machine =
        fmt::format("{} with {} routing: {} on {}, {}", machine_.description.topology->name,
                    machine_.description.routing->name, count_of(result_.endpoints, "endpoint"),
                    count_of(graph_.routers(), "router"), count_of(graph_.cables(), "cable"));
    std::string traffic =
        fmt::format("{} source, packets of {}", result_.source,
                    result_.packet_flits == "1" ? "1 flit" : result_.packet_flits + " flits");
    if (result_.senders < result_.endpoints)
      traffic += fmt::format(", {} of the endpoints send", with_commas(result_.senders));
    return fmt::format(
        "<header>\n<p class=\"eyebrow\">Weft traffic report</p>\n<h1>{}</h1>\n<p "
        "class=\"about\">{}<br/>{}</p>\n"
        "</header>\n",
        escape_xml(title()), escape_xml(machine), escape_xml(traffic));
  }

  /// What a reader must know before believing the rest.
  std::string notices() const {
    std::string out;
    auto notice = [&](const std::string& text) {
      out += fmt::format("<p class=\"notice\">{}</p>\n", escape_xml(text));
    };
    if (result_.interrupted)
      notice(fmt::format("The sweep was interrupted: {} of {} finished, the others are missing here.",
                         result_.points.size(), count_of(result_.loads.size(), "load")));
    for (const TrafficPoint& point : result_.points) {
      if (!point.stalled) continue;
      out += fmt::format(
          "<div class=\"notice bad\" id=\"stall\"><b>At load {} nothing moves any more.</b> Each of these "
          "waits for "
          "the next, and the last for the first:\n<ol>\n",
          units_.load(point.offered));
      for (const std::string& line : point.stall) out += fmt::format("<li>{}</li>\n", escape_xml(line));
      out += "</ol></div>\n";
    }
    for (const TrafficPoint& point : result_.points)
      if (!point.unmeasured.empty())
        notice(fmt::format("Load {} was not measured: {}.", units_.load(point.offered), point.unmeasured));
    std::vector<std::string> unsteady;
    for (const TrafficPoint& point : result_.points)
      if (!point.steady && !point.saturated && !point.stalled) unsteady.push_back(units_.load(point.offered));
    if (!unsteady.empty())
      notice(fmt::format(
          "At load {} the network had not come to rest when its time was up: take those figures with "
          "care.",
          join(unsteady, ", ")));
    return out;
  }

  std::string key_figures() const {
    std::string out = "<dl class=\"figures\" id=\"figures\">\n";
    auto figure = [&](const std::string& name, const std::string& value, const std::string& more) {
      out += fmt::format("<div><dt>{}</dt><dd class=\"big\">{}</dd><dd class=\"small\">{}</dd></div>\n",
                         escape_xml(name), escape_xml(value), escape_xml(more));
    };
    const TrafficPoint& low = *found_.lowest;
    const TrafficPoint& focus = *found_.focus;
    if (result_.batch && focus.completion_cycles) {
      auto cycles = static_cast<double>(focus.completion_cycles);
      figure("Batch complete after", units_.time(cycles), units_.cycles(cycles) + " cycles");
    }
    figure("Most accepted", units_.load(found_.best->accepted),
           fmt::format("flits per endpoint and cycle, {}; {} in all", units_.rate(found_.best->accepted),
                       units_.rate(found_.best->accepted * result_.senders)));
    if (!low.packet.growing)
      figure(fmt::format("Latency at load {}", units_.load(low.offered)), units_.time(low.packet.mean),
             fmt::format("mean; {} cycles, p99 {}", units_.cycles(low.packet.mean),
                         units_.cycles(low.packet.p99)));
    if (found_.last_taken && found_.last_taken != &low)
      figure(fmt::format("Latency at load {}", units_.load(found_.last_taken->offered)),
             units_.time(found_.last_taken->packet.mean),
             fmt::format("mean; {} cycles, p99 {}", units_.cycles(found_.last_taken->packet.mean),
                         units_.cycles(found_.last_taken->packet.p99)));
    if (auto hottest = hottest_links(focus, 1); !hottest.empty())
      figure(fmt::format("Busiest link at load {}", units_.load(focus.offered)),
             percent(hottest.front()->utilisation),
             graph_.port_name(hottest.front()->port) + " of what it can carry");
    figure("Routers crossed", fmt::format("{:.3g}", low.mean_routers), "by a packet, on average");
    return out + "</dl>\n";
  }

  std::string curves() const {
    if (result_.points.size() < 2)
      return html_section(
          "latency", "Latency and throughput",
          "One load was run. Give several, such as --load 0.1:1:0.1, and their curves are drawn here.", "");
    return "<div class=\"pair\">\n" +
           html_section("latency", "Latency by load",
                        "From a packet\u2019s creation to its last flit\u2019s arrival.",
                        latency_chart(result_)) +
           html_section("throughput", "Throughput by load", "What arrives of what is sent.",
                        throughput_chart(result_)) +
           "</div>\n";
  }

  std::string histogram() const {
    const TrafficPoint& point = found_.last_taken ? *found_.last_taken : *found_.focus;
    return html_section("histogram", fmt::format("Latency of packets at load {}", units_.load(point.offered)),
                        found_.too_much && found_.last_taken
                            ? "The highest load the network takes. Logarithmic."
                            : "On a logarithmic scale.",
                        histogram_chart(result_, point, *found_.lowest));
  }

  std::string heat_map() const {
    return html_section(
        "heat", "Where the traffic flows",
        fmt::format("What the cables carry, in the busier direction of each; shown first is load {}{}.",
                    units_.load(found_.focus->offered),
                    found_.too_much ? ", the lowest that is too much" : ""),
        HeatMap(result_, machine_, *found_.focus).html());
  }

  std::string hottest() const {
    auto place = [&](topology::PortId port) { return place_name(graph_, graph_.port_router(port)); };
    std::vector<std::vector<std::string>> rows;
    for (const LinkUse* link : hottest_links(*found_.focus, kHottest)) {
      topology::PortId to = graph_.peer(link->port);
      std::string_view colour = heat_colour(link->utilisation);
      rows.push_back({fmt::format("<span class=\"link\">{} \u2192 {}</span>", graph_.port_name(link->port),
                                  graph_.port_name(to)),
                      escape_xml(fmt::format("{} \u2192 {}", place(link->port), place(to))),
                      escape_xml(link_kind(graph_, link->port).name()),
                      html_bar(link->utilisation, colour, true),
                      sparkline(found_.focus->over_time(*link), "#c0182a")});
    }
    return html_section(
        "hottest", "The ten hottest links",
        fmt::format("At load {}, over the measured time. The small curves run from 0 to 100%.",
                    units_.load(found_.focus->offered)),
        html_table({{"Link"}, {"Place"}, {"Kind"}, {"Utilisation"}, {"Over time"}}, rows));
  }

  /// Beside the load where it jams, the highest load before it: what differs is what jams.
  std::string waiting() const {
    std::vector<const TrafficPoint*> at{found_.focus};
    if (found_.too_much && found_.last_taken) at.insert(at.begin(), found_.last_taken);
    std::vector<HtmlColumn> columns{{"Place"}};
    for (const TrafficPoint* point : at) {
      columns.push_back({fmt::format("Flits at load {}", units_.load(point->offered)), true});
      columns.push_back({"Fullest buffer", true});
    }
    std::vector<std::vector<std::string>> rows;
    for (const measure::WaitingPlace& place : at.back()->waiting) {
      rows.push_back({escape_xml(place.place)});
      for (const TrafficPoint* point : at) {
        auto here = std::find_if(point->waiting.begin(), point->waiting.end(),
                                 [&](const auto& other) { return other.place == place.place; });
        bool any = here != point->waiting.end();
        rows.back().push_back(any ? units_.cycles(here->flits) : "0");
        rows.back().push_back(any && here->fullest_share > 0 ? percent(here->fullest_share) : "\u2013");
      }
    }
    return html_section("waiting", "Where packets wait",
                        "Flits standing there, on average over the measured time.",
                        html_table(columns, rows));
  }

  std::string waiting_and_fairness() const {
    const TrafficPoint& focus = *found_.focus;
    std::string lead = fmt::format(
        "At load {} the worst source gets {} flits per cycle through, the best {}. Jain\u2019s index is "
        "{:.3f}; 1 is "
        "fair.",
        units_.load(focus.offered), units_.load(focus.least_source), units_.load(focus.most_source),
        focus.fairness);
    return "<div class=\"pair\">\n" + waiting() +
           html_section("fairness", "Fairness between sources", lead, fairness_chart(result_)) + "</div>\n";
  }

  std::string points() const {
    std::vector<HtmlColumn> columns{
        {"Load", true},    {"GB/s", true},     {"Accepted", true}, {"Mean", true}, {"\u00b1", true},
        {"Median", true},  {"p99", true},      {"p99.9", true},    {"Max", true},  {"In network", true},
        {"Routers", true}, {"Fairness", true}, {"Measured", true}, {"State"}};
    if (result_.batch) columns.insert(columns.end() - 1, {"Complete", true});
    std::vector<std::vector<std::string>> rows;
    for (const TrafficPoint& p : result_.points) {
      std::string state = p.stalled               ? "stalled"
                          : !p.unmeasured.empty() ? "not measured"
                          : p.filling             ? "still filling"
                          : p.saturated           ? "saturated"
                          : p.steady              ? "steady"
                                                  : "not steady";
      auto cycles = [&](double value) { return p.packet.growing ? "\u2013" : units_.cycles(value); };
      rows.push_back({units_.load(p.offered), fmt::format("{:.3g}", units_.gigabytes(p.offered)),
                      p.unmeasured.empty() ? fmt::format("{:.4f}", p.accepted) : "\u2013",
                      p.packet.growing ? "growing" : units_.cycles(p.packet.mean),
                      p.packet.growing ? "\u2013" : fmt::format("{:.2g}", p.mean_half_width),
                      cycles(p.packet.p50), cycles(p.packet.p99), cycles(p.packet.p999), cycles(p.packet.max),
                      units_.cycles(p.network.mean), fmt::format("{:.3f}", p.mean_routers),
                      fmt::format("{:.3f}", p.fairness), with_commas(p.measured_cycles),
                      fmt::format("<span class=\"tag{}\">{}</span>", state == "steady" ? " ok" : "", state)});
      if (result_.batch) rows.back().insert(rows.back().end() - 1, with_commas(p.completion_cycles));
    }
    std::string lead = fmt::format(
        "Latencies in cycles of {:.4g} ns; \u00b1 is half the 95% confidence interval of the "
        "mean; loads in flits per endpoint and cycle, GB/s per endpoint.",
        result_.cycle_ns);
    if (result_.stopped_past_saturation)
      lead += fmt::format(
          " Two loads are saturated: the {} beyond were left out.",
          count_of(result_.loads.size() - std::min(result_.loads.size(), result_.points.size()), "load"));
    return html_section("points", "All points", lead, html_table(columns, rows));
  }

  std::string configuration() const {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [key, value] : result_.settings) rows.push_back({escape_xml(key), escape_xml(value)});
    return html_section(
        "configuration", "How it was run", "",
        fmt::format(
            "<pre>{}</pre>\n<details>\n<summary>Effective configuration: {}</summary>\n{}</details>\n",
            escape_xml(result_.command), count_of(rows.size(), "setting"),
            html_table({{"Setting"}, {"Value"}}, rows)));
  }

  std::string foot() const {
    return fmt::format("<footer>Weft {}, seed {}. The same command gives the same figures.</footer>\n",
                       escape_xml(result_.version), result_.seed);
  }

  const TrafficResult& result_;
  const machine::Machine& machine_;
  const Graph& graph_;
  Findings found_;
  Units units_;
};

}  // namespace

std::string traffic_report(const TrafficResult& result, const machine::Machine& machine) {
  return Report(result, machine).html();
}

void write_traffic_report(const TrafficResult& result, const machine::Machine& machine,
                          const std::string& path) {
  write_file(path, traffic_report(result, machine));
}

}  // namespace weft::report
