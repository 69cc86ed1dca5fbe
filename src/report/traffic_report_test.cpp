#include "report/traffic_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <pugixml.hpp>

#include "machines.hpp"
#include "measure/traffic/histogram.hpp"
#include "report/plot_heat.hpp"
#include "report/traffic_findings.hpp"

namespace weft::report {
namespace {

using measure::TrafficPoint;
using measure::TrafficResult;
using testing::HasSubstr;
using testing::Not;

machine::Machine torus() { return test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 2); }

/// A point as a sweep would find it: links of dimension 0 are fuller than the others.
TrafficPoint point_at(const machine::Machine& m, double load, double busiest, bool saturated) {
  TrafficPoint p;
  p.offered = p.generated = load;
  p.accepted = saturated ? 0.5 : load;
  p.saturated = saturated;
  measure::Histogram times;
  for (std::uint64_t i = 0; i < 1000; ++i) times.add(40 + i * i % 97 + (saturated ? 100'000 : 0));
  p.packet = p.network = times.summary();
  p.mean_routers = 3;
  p.measured_cycles = 10'000;
  p.least_source = 0.9 * p.accepted, p.most_source = 1.1 * p.accepted;
  for (topology::PortId port = 0; port < m.graph->ports(); ++port) {
    if (m.graph->peer(port) == topology::kNone) continue;
    bool first = link_kind(*m.graph, port).family == "of dimension 0";
    double use = busiest * (first ? 1 : 0.5) * (1 - port * 1e-4);
    p.links.push_back({port, use});
    for (double slice : {use, use / 2}) p.use_of_slices.push_back(static_cast<float>(slice));
  }
  p.waiting = {{"source queues", 12, 0}, {"input buffers of router", 34, 0.6}};
  return p;
}

TrafficResult sweep_of(const machine::Machine& m) {
  TrafficResult r;
  r.machine = "a <b> & \"c\"", r.pattern = "uniform<script>", r.source = "bernoulli", r.packet_flits = "1";
  r.command = "weft traffic 'x' --set 'a=\"<i>\"'", r.version = "1.2.3";
  r.endpoints = r.senders = m.graph->endpoints();
  r.cycle_ns = 2, r.flit_bytes = 16;
  r.settings = {{"key.one", "<value> & more"}};
  r.points = {point_at(m, 0.2, 0.3, false), point_at(m, 0.4, 0.6, false), point_at(m, 0.6, 0.97, true)};
  r.loads = {0.2, 0.4, 0.6};
  return r;
}

/// The page is XML as well as HTML: whatever is not escaped or not closed fails here.
pugi::xml_document parse(const std::string& html) {
  pugi::xml_document document;
  auto result = document.load_buffer(html.data(), html.size());
  EXPECT_TRUE(result) << result.description() << " at "
                      << html.substr(static_cast<std::size_t>(result.offset), 80);
  return document;
}

TEST(TrafficReport, HasEverySection) {
  auto m = torus();
  auto document = parse(traffic_report(sweep_of(m), m));
  for (const char* id : {"latency", "throughput", "histogram", "heat", "hottest", "waiting", "fairness",
                         "points", "configuration"})
    EXPECT_EQ(document.select_nodes(fmt::format("//section[@id='{}']", id).c_str()).size(), 1u) << id;
  EXPECT_EQ(document.select_nodes("//section[@id='hottest']//tbody/tr").size(), 10u);
  EXPECT_EQ(document.select_nodes("//section[@id='points']//tbody/tr").size(), 3u);
  EXPECT_EQ(document.select_nodes("//g[@id='cables']/path").size(), m.graph->cables());
  EXPECT_EQ(document.select_nodes("//div[@class='loads']/button").size(), 3u);
}

TEST(TrafficReport, TextsAreEscapedAndNothingIsFetched) {
  auto m = torus();
  std::string html = traffic_report(sweep_of(m), m);
  auto document = parse(html);
  EXPECT_STREQ(document.select_node("//h1").node().text().get(),
               "a <b> & \"c\" under uniform<script> traffic");
  EXPECT_EQ(document.select_nodes("//script").size(), 1u);
  EXPECT_EQ(document.select_nodes("//b|//i").size(), 0u);
  for (const char* outside : {"http://", "https://", "url(", "@import", "src=", "href="})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  for (const char* broken : {"nan", "inf\"", ">-0<"}) EXPECT_THAT(html, Not(HasSubstr(broken)));
}

TEST(TrafficReport, IsTheSameEveryTime) {
  auto m = torus();
  TrafficResult result = sweep_of(m);
  std::string first = traffic_report(result, m);
  result.seconds = 17, result.points[0].seconds = 4, result.threads = 2;
  EXPECT_EQ(first, traffic_report(result, m)) << "times and threads are no part of it";
}

TEST(TrafficReport, NamesWhatFillsUpFirst) {
  auto m = torus();
  TrafficResult result = sweep_of(m);
  std::string words = summary_in_words(result, m);
  EXPECT_THAT(words, HasSubstr("follows the offered load up to 0.4 flits per endpoint and cycle (3.2 GB/s)"));
  EXPECT_THAT(words, HasSubstr("What fills up first are the links of dimension 0:"));
  EXPECT_THAT(words, HasSubstr("97%"));
  for (measure::LinkUse& link : result.points[2].links)
    if (link_kind(*m.graph, link.port).direction == "downwards") link.utilisation = 0;
  EXPECT_THAT(summary_in_words(result, m), HasSubstr("the links of dimension 0 (upwards):"));
  result.points[2] = point_at(m, 0.6, 0.3, true);
  EXPECT_THAT(summary_in_words(result, m), HasSubstr("No link between routers is full"));
  result.points.resize(2);
  EXPECT_THAT(summary_in_words(result, m), HasSubstr("takes every load it was offered, up to 0.4"));
}

TEST(TrafficReport, SaysWhatWentWrong) {
  auto m = torus();
  TrafficResult result = sweep_of(m);
  result.interrupted = true;
  result.loads.push_back(0.8);
  result.points[2].stalled = true;
  result.points[2].stall = {"r0.p0 waits for <r1.p0>", "r1.p0 waits for r0.p0"};
  std::string html = traffic_report(result, m);
  auto document = parse(html);
  EXPECT_THAT(html, HasSubstr("interrupted: 3 of 4 loads finished"));
  EXPECT_EQ(document.select_nodes("//div[@id='stall']/ol/li").size(), 2u);
  result.points.clear();
  parse(traffic_report(result, m));
}

TEST(TrafficReport, AnyMachineAndOnePoint) {
  for (const auto& [kind, size] : std::vector<std::pair<std::string, test::Settings>>{
           {"mesh", {"dims=[1]"}},
           {"fat-tree", {"children=[16,16,16]", "parents=[1,16,16]"}},
           {"torus", {"dims=[8,8,8]"}}}) {
    SCOPED_TRACE(kind);
    auto m = test::make_machine(kind, size, kind == "fat-tree" ? "fat-tree" : "dimension-order", {}, 2);
    TrafficResult result = sweep_of(m);
    std::string html = traffic_report(result, m);
    parse(html);
    EXPECT_LT(html.size(), 2'000'000u);
    result.points.resize(1);
    parse(traffic_report(result, m));
    result.points[0].packet = result.points[0].network = {};  // nothing arrived
    parse(traffic_report(result, m));
  }
}

TEST(PlotAxis, TicksAreRoundNumbers) {
  EXPECT_EQ(round_ticks({0, 100}, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(round_ticks({10, 200, true}, 6), (std::vector<double>{10, 20, 50, 100, 200}));
  EXPECT_DOUBLE_EQ(range_to(0.61, 6).high, 0.8);
  EXPECT_EQ(number_text(0.1 + 0.2), "0.3");
  EXPECT_EQ(number_text(12000), "12,000");
  EXPECT_EQ(percent(0.333), "33%");
  EXPECT_EQ(percent(0), "0%");
}

}  // namespace
}  // namespace weft::report
