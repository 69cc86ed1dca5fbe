#include "report/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "base/version.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"

namespace weft::report {

using measure::CompareFigure;
using measure::CompareSpec;

namespace {

/// Points that belong in one picture: one workload on one engine.
struct Panel {
  std::string workload, variant, engine;
  std::vector<const Json*> points;
  std::string name() const { return variant.empty() ? workload : fmt::format("{}, {}", workload, variant); }
  std::string name(bool several_engines) const {
    return several_engines ? fmt::format("{} ({} engine)", name(), engine) : name();
  }
};
/// Those of one workload, which stand side by side: one for each engine.
using Group = std::vector<const Panel*>;

struct Quantity {
  const char* key;
  std::string label;
  bool logarithmic;
};

class Report {
 public:
  Report(const CompareSpec& spec, const CompareResults& results) : spec_(spec), results_(results) {
    for (const Json& r : results) {
      if (r.empty()) continue;
      std::string variant = r.value("variant", "");
      std::string workload = r["workload"].get<std::string>(), engine = r["engine"].get<std::string>();
      auto at = std::find_if(panels_.begin(), panels_.end(), [&](const Panel& p) {
        return p.workload == workload && p.engine == engine && p.variant == variant;
      });
      if (at == panels_.end()) at = panels_.insert(at, {workload, variant, engine, {}});
      at->points.push_back(&r);
    }
  }

  std::string html(const std::vector<std::string>& wrong, const std::string& command) const {
    std::string body = head() + notices(wrong);
    if (!panels_.empty()) body += fmt::format("<p class=\"summary\">{}</p>\n", escape_xml(summary()));
    for (const Group& group : groups())
      body += group.size() > 1 ? curves_side_by_side(group) + ranking_of_engines(group)
                               : curves(*group.front()) + ranking(*group.front());
    return html_page(spec_.title, body + all_points() + how(command));
  }

  const std::vector<Panel>& panels() const { return panels_; }

  bool better(const Json& a, const Json& b) const {
    return time() ? a["completion_ps"] < b["completion_ps"] : a["throughput_bps"] > b["throughput_bps"];
  }

  /// The largest point of each machine, best first.
  std::vector<const Json*> ranked(const Panel& panel) const {
    std::vector<const Json*> out;
    for (const measure::CompareMachine& m : spec_.machines) {
      const Json* largest = nullptr;
      for (const Json* p : panel.points)
        if ((*p)["machine"] == m.name && p->contains("completion_ps") &&
            (!largest || (*p)["endpoints"] > (*largest)["endpoints"]))
          largest = p;
      if (largest) out.push_back(largest);
    }
    std::stable_sort(out.begin(), out.end(), [&](auto* a, auto* b) { return better(*a, *b); });
    return out;
  }

  bool time() const { return spec_.figure == CompareFigure::Time; }

  std::string figure(const Json& p) const {
    return time() ? rounded<Time>(p["completion_ps"].get<double>())
                  : rounded<DataRate>(p["throughput_bps"].get<double>());
  }

 private:
  std::string head() const {
    return fmt::format(
        "<header>\n<p class=\"eyebrow\">Weft comparison</p>\n<h1>{}</h1>\n<p "
        "class=\"about\">{}</p>\n</header>\n",
        escape_xml(spec_.title), escape_xml(spec_.about));
  }

  std::string notices(const std::vector<std::string>& wrong) const {
    std::string out;
    auto notice = [&](const char* kind, const std::string& text) {
      out += fmt::format("<p class=\"notice{}\">{}</p>\n", kind, escape_xml(text));
    };
    std::size_t missing = 0;
    for (const Json& r : results_) {
      missing += r.empty();
      if (r.contains("error"))
        notice(" bad", fmt::format("{} on {}: {}", r["workload"].get<std::string>(),
                                   r["machine"].get<std::string>(), r["error"].get<std::string>()));
    }
    if (missing > 0)
      notice("", fmt::format("{} of {} have not been run yet; the same command goes on with them.", missing,
                             count_of(results_.size(), "point")));
    for (const std::string& line : wrong) notice(" bad", "Not the order expected: " + line + ".");
    return out;
  }

  std::string summary() const {
    std::vector<std::string> sentences;
    for (const Panel& panel : panels_) {
      auto order = ranked(panel);
      if (order.size() < 2) continue;
      double best = value(*order.front()), worst = value(*order.back());
      double factor = time() ? worst / best : best / worst;
      std::vector<std::string> between;
      for (std::size_t i = 1; i + 1 < order.size(); ++i)
        between.push_back((*order[i])["machine"].get<std::string>());
      std::string others;
      for (std::size_t i = 0; i < between.size(); ++i)
        others += (i == 0 ? ", followed by " : i + 1 == between.size() ? " and " : ", ") + between[i];
      sentences.push_back(fmt::format("With {}, {} is {} ({}){}; {} comes last, a factor of {:.3g} behind.",
                                      panel.name(spec_.engines.size() > 1),
                                      (*order.front())["machine"].get<std::string>(),
                                      time() ? "fastest" : "best", figure(*order.front()), others,
                                      (*order.back())["machine"].get<std::string>(), factor));
    }
    return join(sentences, " ");
  }

  std::vector<Group> groups() const {
    std::vector<Group> out;
    for (const Panel& panel : panels_) {
      auto at = std::find_if(out.begin(), out.end(),
                             [&](const Group& g) { return g.front()->name() == panel.name(); });
      if (at == out.end()) at = out.insert(at, Group());
      at->push_back(&panel);
    }
    return out;
  }

  std::string id(const char* what, const Panel& panel) const {
    return fmt::format("{}-{}", what, &panel - panels_.data() + 1);
  }

  double value(const Json& p) const { return p[time() ? "completion_ps" : "throughput_bps"].get<double>(); }

  Quantity compared() const {
    return {time() ? "completion_ps" : "throughput_bps", time() ? "time, ms" : "throughput, Tb/s", true};
  }
  const char* about_curves() const {
    return time() ? "Time to completion over the size of the machine."
                  : "What all flows together move, over the size of the machine.";
  }

  /// Do machines come in several sizes?
  static bool has_sizes(const Panel& panel) {
    for (const Json* a : panel.points)
      for (const Json* b : panel.points)
        if ((*a)["machine"] == (*b)["machine"] && (*a)["endpoints"] != (*b)["endpoints"]) return true;
    return false;
  }

  static std::string as_heading(std::string text) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
  }

  /// Curves over the number of endpoints, where machines come in several sizes.
  std::string curves(const Panel& panel) const {
    if (!has_sizes(panel)) return "";
    const bool share = panel.points.front()->contains("share_of_injection");
    std::string first = html_section(id("curve", panel), as_heading(panel.name()), about_curves(),
                                     chart(panel, {&panel}, compared(), share ? kNarrow : kWide));
    if (!share) return first;
    return "<div class=\"pair\">\n" + first +
           html_section(
               id("share", panel), "Of what an endpoint can send",
               "The same, as a share of what the endpoints could send on their own cables.",
               chart(panel, {&panel}, {"share_of_injection", "share of injection", false}, kNarrow)) +
           "</div>\n";
  }

  /// The same for all engines, with the same axes, so that what an engine makes of it is seen at once.
  std::string curves_side_by_side(const Group& group) const {
    if (!std::any_of(group.begin(), group.end(), [](const Panel* p) { return has_sizes(*p); })) return "";
    std::string charts;
    for (const Panel* panel : group)
      charts += fmt::format("<div>\n<h3>{} engine</h3>\n{}</div>\n", escape_xml(as_heading(panel->engine)),
                            chart(*panel, group, compared(), kNarrow));
    return html_section(id("curve", *group.front()), as_heading(group.front()->name()), about_curves(),
                        "<div class=\"pair\">\n" + charts + "</div>\n");
  }

  static constexpr double kNarrow = 520, kWide = 1000;

  /// The points of a panel, on axes that have room for all of its group.
  std::string chart(const Panel& panel, const Group& group, const Quantity& q, double width) const {
    auto scaled = [&](const Json& p) {
      double v = p[q.key].get<double>();
      return std::string(q.key) == "completion_ps"    ? v * 1e-9
             : std::string(q.key) == "throughput_bps" ? v * 1e-12
                                                      : v;
    };
    double low = 1e300, high = 0, least = 1e300, most = 0;
    for (const Panel* one : group)
      for (const Json* p : one->points) {
        low = std::min(low, (*p)["endpoints"].get<double>());
        high = std::max(high, (*p)["endpoints"].get<double>());
        if (!p->contains(q.key)) continue;
        least = std::min(least, scaled(*p));
        most = std::max(most, scaled(*p));
      }
    if (most <= 0) return "";
    Range y = q.logarithmic ? log_range(least, most) : range_to(std::max(most, 0.1) * 1.02, 5);
    Chart chart(width, 360, fmt::format("{} by endpoints", q.label), log_range(low, high), {"endpoints", 4},
                y, {q.label, 5});
    std::string legend;
    for (std::size_t m = 0; m < spec_.machines.size(); ++m) {
      std::string_view colour = colour_of(kCableColours, m);
      std::vector<const Json*> own;
      for (const Json* p : panel.points)
        if ((*p)["machine"] == spec_.machines[m].name && p->contains(q.key)) own.push_back(p);
      if (own.empty()) continue;
      std::stable_sort(own.begin(), own.end(),
                       [](auto* a, auto* b) { return (*a)["endpoints"] < (*b)["endpoints"]; });
      std::vector<Point> line;
      for (const Json* p : own) line.push_back({(*p)["endpoints"].get<double>(), scaled(*p)});
      chart.line(line, {colour});
      for (std::size_t i = 0; i < own.size(); ++i)
        chart.mark(line[i], Mark::Dot, colour,
                   fmt::format("{}, {} endpoints: {:.4g} {}", spec_.machines[m].name,
                               with_commas((*own[i])["endpoints"].get<std::uint64_t>()), line[i].y, q.label));
      legend += legend_key(colour, false, spec_.machines[m].name);
    }
    return fmt::format("<div class=\"legend\">{}</div>\n{}", legend, chart.svg());
  }

  /// The largest machine of each kind, as each engine sees it.
  std::string ranking_of_engines(const Group& group) const {
    std::vector<HtmlColumn> columns{{"Machine"}, {"Endpoints", true}, {"Routers", true}, {"Cables", true}};
    std::vector<std::vector<const Json*>> orders;
    for (const Panel* panel : group) {
      orders.push_back(ranked(*panel));
      columns.push_back({as_heading(panel->engine) + " engine", true});
      columns.push_back({"Relative", true});
    }
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> done;
    for (const auto& order : orders)  // a machine may have failed on one of the engines
      for (const Json* p : order) {
        const std::string machine = (*p)["machine"].get<std::string>();
        if (std::find(done.begin(), done.end(), machine) != done.end()) continue;
        done.push_back(machine);
        rows.push_back({escape_xml(machine), with_commas((*p)["endpoints"].get<std::uint64_t>()),
                        with_commas((*p)["routers"].get<std::uint64_t>()),
                        with_commas((*p)["cables"].get<std::uint64_t>())});
        for (const auto& of_engine : orders) {
          auto at = std::find_if(of_engine.begin(), of_engine.end(),
                                 [&](const Json* other) { return (*other)["machine"] == machine; });
          const bool known = at != of_engine.end();
          rows.back().push_back(known ? escape_xml(figure(**at)) : "failed");
          rows.back().push_back(known ? fmt::format("{:.3g}", value(**at) / value(*of_engine.front())) : "");
        }
      }
    if (rows.empty()) return "";
    return html_section(
        id("ranking", *group.front()), "In order: " + group.front()->name(),
        "The largest machine of each kind, the best of the first engine first; relative to the "
        "best of each engine.",
        html_table(columns, rows));
  }

  std::string ranking(const Panel& panel) const {
    auto order = ranked(panel);
    if (order.empty()) return "";
    double top = 0;
    for (const Json* p : order) top = std::max(top, value(*p));
    std::vector<std::vector<std::string>> rows;
    double best = value(*order.front());
    for (const Json* p : order) {
      std::size_t m = 0;
      while (spec_.machines[m].name != (*p)["machine"].get<std::string>()) ++m;
      double v = value(*p);
      std::string bar = fmt::format(
          "<svg class=\"chart lines\" viewBox=\"0 0 300 14\" preserveAspectRatio=\"none\" "
          "style=\"height:14px\" "
          "role=\"img\" aria-label=\"{}\"><rect width=\"{:.1f}\" height=\"14\" fill=\"{}\"/></svg>",
          escape_xml(figure(*p)), 300 * v / top, colour_of(kCableColours, m));
      rows.push_back({escape_xml((*p)["machine"].get<std::string>()),
                      with_commas((*p)["endpoints"].get<std::uint64_t>()),
                      with_commas((*p)["routers"].get<std::uint64_t>()),
                      with_commas((*p)["cables"].get<std::uint64_t>()),
                      fmt::format("{:.3g}", p->value("mean_cables", 0.0)), escape_xml(figure(*p)), bar,
                      fmt::format("{:.3g}", v / best)});
    }
    return html_section(
        id("ranking", panel), "In order: " + panel.name(spec_.engines.size() > 1),
        "The largest machine of each kind, the best first; the last column is relative to it.",
        html_table({{"Machine"},
                    {"Endpoints", true},
                    {"Routers", true},
                    {"Cables", true},
                    {"Cables crossed", true},
                    {time() ? "Time" : "Throughput", true},
                    {""},
                    {"Relative", true}},
                   rows));
  }

  std::string all_points() const {
    std::vector<std::vector<std::string>> rows;
    for (const Json& r : results_) {
      if (r.empty()) continue;
      bool good = r.contains("completion_ps");
      std::string workload = r["workload"].get<std::string>();
      if (r.contains("variant")) workload += ", " + r["variant"].get<std::string>();
      rows.push_back({escape_xml(r["machine"].get<std::string>()), escape_xml(workload),
                      escape_xml(r["engine"].get<std::string>()),
                      r.contains("endpoints") ? with_commas(r["endpoints"].get<std::uint64_t>()) : "",
                      good ? rounded<Time>(r["completion_ps"].get<double>()) : "",
                      good ? rounded<DataRate>(r["throughput_bps"].get<double>()) : "",
                      good ? fmt::format("{:.3g}", r.value("mean_cables", 0.0)) : "",
                      r.contains("message_ps") ? rounded<Time>(r["message_ps"].get<double>()) : "",
                      r.contains("report") ? fmt::format("<a href=\"{}\">report</a>",
                                                         escape_xml(r["report"].get<std::string>()))
                                           : fmt::format("<span class=\"tag{}\">{}</span>", good ? " ok" : "",
                                                         good ? "done" : "failed")});
    }
    return html_section("points", "All points", "",
                        html_table({{"Machine"},
                                    {"Workload"},
                                    {"Engine"},
                                    {"Endpoints", true},
                                    {"Time", true},
                                    {"Throughput", true},
                                    {"Cables crossed", true},
                                    {"Message", true},
                                    {"State"}},
                                   rows));
  }

  std::string how(const std::string& command) const {
    std::vector<std::vector<std::string>> rows;
    for (const Json& r : results_) {
      if (r.empty()) continue;
      auto text = [&](const char* key) {
        std::vector<std::string> all;
        for (const Json& one : r[key]) all.push_back(one.get<std::string>());
        return escape_xml(join(all, "  "));
      };
      rows.push_back(
          {escape_xml(r["machine"].get<std::string>()), text("machine_settings"), text("workload_settings")});
    }
    return html_section(
               "how", "How it was run", "",
               fmt::format(
                   "<pre>{}</pre>\n<details>\n<summary>Settings of each point</summary>\n{}</details>\n",
                   escape_xml(command),
                   html_table({{"Machine"}, {"Machine settings"}, {"Workload settings"}}, rows))) +
           fmt::format("<footer>Weft {}, seed {}. The same command gives the same figures.</footer>\n",
                       version(), spec_.seed);
  }

  const CompareSpec& spec_;
  const CompareResults& results_;
  std::vector<Panel> panels_;
};

}  // namespace

std::string compare_report(const CompareSpec& spec, const CompareResults& results,
                           const std::vector<std::string>& wrong, const std::string& command) {
  return Report(spec, results).html(wrong, command);
}

std::string compare_csv(const CompareResults& results) {
  constexpr const char* keys[] = {
      "machine",  "workload",      "variant",        "engine",      "endpoints",          "routers",
      "cables",   "completion_ps", "throughput_bps", "mean_cables", "share_of_injection", "message_ps",
      "messages", "bytes",         "error"};
  std::string out;
  for (const char* key : keys) out += (out.empty() ? "" : ",") + std::string(key);
  out += "\n";
  for (const Json& r : results) {
    if (r.empty()) continue;
    std::string line;
    for (const char* key : keys) {
      std::string cell = !r.contains(key)     ? ""
                         : r[key].is_string() ? r[key].get<std::string>()
                                              : r[key].dump();
      if (cell.find_first_of(",\"\n") != std::string::npos) {
        std::string quoted = "\"";
        for (char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
        cell = quoted + "\"";
      }
      line += (key == keys[0] ? "" : ",") + cell;
    }
    out += line + "\n";
  }
  return out;
}

std::string compare_table(const CompareSpec& spec, const CompareResults& results) {
  Report report(spec, results);
  std::string out;
  for (const Panel& panel : report.panels()) {
    out += panel.name(spec.engines.size() > 1) + "\n";
    auto points = panel.points;
    std::stable_sort(points.begin(), points.end(), [&](auto* a, auto* b) {
      bool x = a->contains("completion_ps"), y = b->contains("completion_ps");
      if (x != y) return x;
      return x && report.better(*a, *b);
    });
    for (const Json* p : points)
      out += fmt::format("  {:<24} {:>10} endpoints  {:>12}{}\n", (*p)["machine"].get<std::string>(),
                         p->contains("endpoints") ? with_commas((*p)["endpoints"].get<std::uint64_t>()) : "?",
                         p->contains("completion_ps") ? report.figure(*p) : "failed",
                         p->contains("mean_cables")
                             ? fmt::format("  {:.3g} cables crossed", (*p)["mean_cables"].get<double>())
                             : "");
  }
  return out;
}

}  // namespace weft::report
