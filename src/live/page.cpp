#include "live/page.hpp"

#include <fmt/format.h>

#include <numeric>

#include "report/html_page.hpp"
#include "report/layout.hpp"
#include "report/picture.hpp"
#include "report/plot_heat.hpp"
#include "report/svg.hpp"

namespace weft::live {

namespace {

using report::escape_xml;

// States of ranks have the colours of a report's timeline.
constexpr std::string_view kStyle = R"(
.control { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; margin: 20px 0; }
.control button { font: inherit; padding: 4px 14px; color: var(--ink); background: var(--paper); border: 1px solid var(--edge);
  border-radius: 14px; cursor: pointer; }
.control button:disabled { opacity: .45; cursor: default; }
.control input { font: 13px ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; width: 21em; max-width: 100%; padding: 4px 8px;
  color: var(--ink); background: var(--paper); border: 1px solid var(--edge); border-radius: 6px; }
#phase { font-weight: 600; }
#ranks { display: flex; flex-wrap: wrap; gap: 2px; }
#ranks i { width: 14px; height: 14px; border-radius: 2px; background: var(--line); }
#ranks.many i { width: 7px; height: 7px; border-radius: 1px; gap: 1px; }
.c { background: #009e73 !important; } .m { background: #0072b2 !important; } .w { background: #f2cf8b !important; }
.s { background: #94a5b4 !important; } .o { background: #cc79a7 !important; } .e { background: var(--line) !important; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 2px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(400px, 100%), 1fr)); gap: 24px 36px; margin-top: 14px; }
tr.chosen td { background: var(--soft); } #points tr { cursor: pointer; }
)";

// CDATA, so that the page stays XML.
constexpr std::string_view kScript = R"(//<![CDATA[
(function () {
"use strict";
const $ = id => document.getElementById(id);
const cables = Array.from(document.querySelectorAll("#cables path"));
const names = cables.map(c => c.textContent.split(":")[0]);
const words = { c: "computes", m: "in MPI", w: "waits for others", s: "sleeps", o: "waits for something outside", e: "has ended" };
let chosen = -1, over = false, last = null;

function time(ps) {
  if (ps === null || ps === undefined) return "–";
  for (const [unit, size] of [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]])
    if (ps >= size) return (ps / size).toPrecision(4) + " " + unit;
  return ps + " ps";
}
function wall(s) {
  if (s === null || s === undefined) return "not known";
  if (s >= 5400) return (s / 3600).toFixed(1) + " h";
  return s >= 100 ? (s / 60).toFixed(1) + " min" : s.toFixed(1) + " s";
}
function percent(x) { return (100 * x).toFixed(x && x < 0.0995 ? 1 : 0) + "%"; }
function fill(id, rows) {
  const body = $(id);
  if (!body) return;
  body.replaceChildren(...rows.map(row => {
    const tr = document.createElement("tr");
    row.forEach(cell => { const td = document.createElement("td"); td.textContent = cell; if (/^[\d.,]+( ?%|$)/.test(cell)) td.className = "n"; tr.append(td); });
    return tr;
  }));
}
function paint(links) {
  if (!links) return;
  cables.forEach((c, i) => {
    if (!links.use) return;
    const use = [0, 2].map(d => parseInt(links.use.substr(4 * i + d, 2), 36) / 10), most = Math.max(...use);
    if (!c.classList.contains("dead")) c.setAttribute("class", "h" + Math.min(9, Math.floor(most / 10)));
    const title = c.querySelector("title");
    if (title) title.remove();
    if (names[i]) c.dataset.note = names[i] + ": " + use[0].toFixed(0) + "% there, " + use[1].toFixed(0) + "% back";
  });
  (links.bundles || []).forEach((share, i) => document.documentElement.style.setProperty(
    "--bundle-" + i, `var(--heat-${Math.min(9, Math.floor(share * 10))})`));
  fill("kinds", links.kinds.map(k => [k.name, String(k.links), percent(k.mean), percent(k.busiest)]));
  fill("busiest", links.busiest.map(b => [b.from, b.to, percent(b.share)]));
}
function ranks(part) {
  const box = $("ranks");
  if (!box || !part || !part.ranks) return;
  while (box.children.length < part.ranks.length) box.append(document.createElement("i"));
  box.classList.toggle("many", part.ranks.length > 512);
  const count = {};
  Array.from(part.ranks).forEach((state, i) => {
    const square = box.children[i], call = part.calls[part.call_of[i]];
    if (square.className !== state) square.className = state;
    square.title = "rank " + i + ": " + words[state] + (call ? ", " + call : "");
    count[state] = (count[state] || 0) + 1;
  });
  Object.keys(words).forEach(s => { $("n-" + s).textContent = count[s] || 0; });
}
function points(state) {
  if (!$("points")) return;
  const live = state.parts.findIndex(p => p && p.phase !== "done");
  if (chosen === -1 || !state.parts[chosen]) chosen = -1;
  const shown = chosen !== -1 ? chosen : live !== -1 ? live : state.parts.map(p => !!p).lastIndexOf(true);
  Array.from($("points").rows).forEach((row, i) => {
    const p = state.parts[i];
    row.className = i === shown ? "chosen" : "";
    const cells = p ? [p.phase, p.cycle.toLocaleString("en"), p.accepted === undefined ? "–" : p.accepted.toFixed(4),
      p.latency === undefined ? "–" : p.latency.toFixed(1)] : [over ? "not run" : "waits its turn", "–", "–", "–"];
    cells.forEach((text, k) => { row.cells[k + 1].textContent = text; });
  });
  return state.parts[shown];
}
function show(state) {
  const part = $("points") ? points(state) : state.parts[0];
  $("phase").textContent = { running: "It runs.", pausing: "It pauses as soon as it can.", paused: "It is paused.",
    stopping: "It stops.", ended: "It is over; these are its last figures." }[state.phase];
  $("real").textContent = wall(state.seconds);
  $("left").textContent = state.phase === "ended" ? "0 s" : wall(state.left_seconds);
  if (part) {
    $("virtual").textContent = time(part.time_ps);
    $("rate").textContent = part.rate || "–";
    paint(part.links);
    ranks(part);
    if (part.alarms) fill("alarms", part.alarms.length ? part.alarms.map(a => [time(a.at_ps), a.what]) : [["\u2013", "nothing has broken"]]);
  }
  const done = $("done");
  if (done) done.textContent = state.parts.filter(p => p && p.phase === "done").length + " of " + state.parts.length;
  const ended = $("ended");
  if (ended && part && part.ranks) ended.textContent = Array.from(part.ranks).filter(s => s === "e").length + " of " + part.ranks.length;
  $("pause").textContent = state.phase === "paused" || state.phase === "pausing" ? "Go on" : "Pause";
  over = state.phase === "ended";
  last = state;
  document.body.dataset.phase = state.phase;
}
async function ask() {
  try {
    show(await (await fetch("state")).json());
  } catch (e) {
    if (last) { over = true; document.body.dataset.phase = "gone"; $("phase").textContent = "The run no longer answers: it is over. These are the figures it last showed."; }
  }
  ["pause", "stop"].forEach(id => { $(id).disabled = over; });
  if (!over) setTimeout(ask, 1000);
}
async function order(what) {
  const answer = await fetch(what, { method: "POST", headers: { "X-Weft-Token": $("token").value.trim() } });
  $("answer").textContent = answer.ok ? "" : "That needs the token that stands in the terminal.";
}
$("pause").addEventListener("click", () => order($("pause").textContent === "Pause" ? "pause" : "resume"));
$("stop").addEventListener("click", () => order("stop"));
if (location.hash.startsWith("#token=")) { $("token").value = location.hash.slice(7); history.replaceState(null, "", "/"); }
if ($("points")) Array.from($("points").rows).forEach((row, i) => row.addEventListener("click", () => { chosen = i; if (last) show(last); }));
ask();
})();
//]]>)";

std::string figure(std::string_view id, std::string_view name) {
  return fmt::format("<div><dt>{}</dt><dd class=\"big\" id=\"{}\">\u2013</dd></div>\n", name, id);
}

std::string table(std::string_view id, const std::vector<report::HtmlColumn>& columns,
                  const std::vector<std::vector<std::string>>& rows = {}) {
  std::string out = report::html_table(columns, rows);
  return out.replace(out.find("<tbody>"), 7, fmt::format("<tbody id=\"{}\">", id));
}

std::string rank_section(unsigned ranks) {
  std::string key = "<div class=\"legend\">\n";
  for (auto [state, name] : {std::pair{'c', "computes"},
                             {'m', "in MPI"},
                             {'w', "waits for others"},
                             {'s', "sleeps"},
                             {'o', "waits for something outside"},
                             {'e', "has ended"}})
    key += fmt::format("<span class=\"key\"><i class=\"{0}\"></i>{1}: <span id=\"n-{0}\">0</span></span>\n",
                       state, name);
  return report::html_section("states", fmt::format("Ranks: {}", ranks),
                              "One square for each, in their order; the pointer names its call.",
                              key + "</div>\n<div id=\"ranks\"></div>\n");
}

std::string alarm_section() {
  return report::html_section("broken", "Alarms", "What broke and was mended, the latest first.",
                              table("alarms", {{"Virtual time"}, {"What"}}));
}

std::string point_section(const std::vector<double>& loads) {
  std::vector<std::vector<std::string>> rows;
  for (double load : loads) rows.push_back({fmt::format("{:.4g}", load), "waits its turn", "", "", ""});
  return report::html_section(
      "loads", "Loads",
      "The machine below shows the first that runs, or the one that is clicked on. What they show is not yet "
      "measured: figures count from a steady state on.",
      table("points",
            {{"Load"}, {"State"}, {"Cycle"}, {"Accepted, flits/endpoint/cycle"}, {"Mean latency, cycles"}},
            rows));
}

std::string picture(const machine::Machine& machine) {
  const topology::Graph& graph = *machine.graph;
  if (graph.cables() == 0) return "<p>There are no cables between routers.</p>\n";
  if (graph.routers() > report::kMostDrawnRouters) {
    // The script gives each bundle its colour, in the order in which they are drawn: LinkMeter's, too.
    report::Picture picture;
    picture.bundle_look = [bundles = 0u](std::span<const topology::CableId>) mutable {
      return report::BundleLook{fmt::format("var(--bundle-{}, {})", bundles++, report::kHeat[0]), ""};
    };
    const report::Drawing tiers = report::tiers_drawing(graph, *machine.faults, picture);
    std::string heat = "<style>:root {";
    for (std::size_t i = 0; i < std::size(report::kHeat); ++i)
      heat += fmt::format(" --heat-{}: {};", i, report::kHeat[i]);
    return report::figure_svg(tiers.low, tiers.high, heat + " }</style>\n" + tiers.body);
  }
  std::vector<topology::CableId> order(graph.cables());
  std::iota(order.begin(), order.end(), topology::CableId{0});
  return report::heat_cables(
      machine, report::lay_out(graph), order, [](topology::CableId) { return std::size_t{0}; },
      [](topology::CableId) { return std::string("nothing yet"); });
}

}  // namespace

std::string page(const machine::Machine& machine, const PageText& text) {
  const auto& identity = machine.description.identity;
  std::string body = fmt::format(
      "<style>{}</style>\n<header>\n<p class=\"eyebrow\">weft {}, while it runs</p>\n<h1>{}</h1>\n"
      "<p class=\"about\">{}</p>\n</header>\n",
      kStyle, text.verb, escape_xml(identity.name), escape_xml(text.command));
  body +=
      "<div class=\"control\"><span id=\"phase\">It has not answered yet.</span>\n"
      "<button id=\"pause\" type=\"button\">Pause</button><button id=\"stop\" type=\"button\">Stop</button>\n"
      "<input id=\"token\" autocomplete=\"off\" spellcheck=\"false\" aria-label=\"token\" "
      "placeholder=\"token from the terminal\"/><span id=\"answer\"></span></div>\n<dl class=\"figures\">\n" +
      figure("virtual", "Virtual time") + figure("rate", "Rate") + figure("real", "Real time") +
      figure("left", "Time left") +
      (text.ranks ? figure("ended", "Ranks that have ended") : figure("done", "Loads done")) + "</dl>\n";
  if (text.ranks) body += rank_section(text.ranks);
  if (!text.loads.empty()) body += point_section(text.loads);
  body += report::html_section(
      "links", "Links by load", "What each has carried since the last look, of what it could have.",
      fmt::format("<div class=\"map\"><figure>{}</figure></div>\n<div class=\"two\"><div>{}<h3>By kind of "
                  "link</h3>\n{}</div><div><h3>The busiest</h3>\n{}</div></div>\n",
                  picture(machine), report::heat_scale(),
                  table("kinds", {{"Links"}, {"Number", true}, {"Mean", true}, {"Busiest", true}}),
                  table("busiest", {{"From"}, {"To"}, {"Load", true}})));
  if (text.ranks) body += alarm_section();
  body += fmt::format("<script>{}</script>\n", kScript);
  return report::html_page(fmt::format("{}: weft {}", identity.name, text.verb), body);
}

}  // namespace weft::live
