#include "report/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/plot_axis.hpp"
#include "report/svg.hpp"

namespace weft::report {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #22313f; --faint: #5f6f7e; --line: #dde4ea; --soft: #f6f8fa; --accent: #0b5c8e;
  --paper: #fff; --desk: #eef2f5; --edge: #b9c4ce; --warn: #fdf3ea; --bad: #fdeef0; --tag: #fbe4dc; --tag-ink: #86301d;
  --ok: #e3f0e8; --ok-ink: #1d5c39; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--desk); color: var(--ink); print-color-adjust: exact; -webkit-print-color-adjust: exact;
  font: 15px/1.55 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 48px 48px 40px; background: var(--paper); }
header { border-bottom: 3px solid var(--ink); padding-bottom: 20px; }
.eyebrow { margin: 0; color: var(--accent); font-size: 13px; font-weight: 600; letter-spacing: .08em;
  text-transform: uppercase; }
h1 { margin: 4px 0 6px; font-size: 34px; line-height: 1.15; letter-spacing: -.01em; }
h2 { margin: 0 0 4px; font-size: 20px; line-height: 1.3; }
h3 { margin: 0 0 6px; font-size: 14px; }
section { margin-top: 40px; }
.about, .lead, figcaption, .small { color: var(--faint); }
.about { margin: 0; }
.lead { margin: 0 0 14px; max-width: 92ch; }
.small, figcaption { font-size: 13px; }
.summary { margin: 24px 0; font-size: 18px; line-height: 1.55; max-width: 80ch; }
.notice { margin: 20px 0 0; padding: 12px 16px; border-left: 4px solid #b4551d; background: var(--warn); }
.notice.bad { border-color: #b3122a; background: var(--bad); }
.notice ol { margin: 8px 0 0; padding-left: 24px; font: 13px/1.6 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 1px; margin: 0;
  border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.figures div { box-shadow: 0 0 0 1px var(--line); padding: 14px 16px; }
.figures dt { color: var(--faint); font-size: 13px; }
.figures dd { margin: 0; }
.figures .big { font-size: 26px; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); gap: 40px 32px; margin-top: 40px; }
.pair section { margin-top: 0; }
section > .pair { margin-top: 16px; }
.chart { display: block; width: 100%; height: auto; }
main svg { max-width: 100%; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0 0 8px; font-size: 13px; }
.key { display: inline-flex; align-items: center; gap: 7px; }
.loads { display: none; flex-wrap: wrap; gap: 6px; align-items: center; margin: 0 0 14px; font-size: 13px; }
.js .loads { display: flex; }
.loads button { font: inherit; padding: 3px 11px; color: var(--ink); background: var(--paper); border: 1px solid var(--edge);
  border-radius: 14px; cursor: pointer; font-variant-numeric: tabular-nums; }
.loads button:hover { border-color: var(--ink); }
.loads button[aria-pressed=true] { background: var(--ink); border-color: var(--ink); color: var(--paper); }
.map { display: flex; flex-wrap: wrap; gap: 24px 36px; align-items: flex-start; }
.map figure { margin: 0; flex: 1 1 560px; min-width: 0; text-align: center; }
.map aside { flex: 1 1 300px; min-width: 0; }
.map.wide figure { flex-basis: 100%; }
.map.wide aside .at:not([hidden]) { display: grid; grid-template-columns: repeat(auto-fit, minmax(400px, 1fr)); gap: 24px 36px; }
.map figure svg { max-width: 100%; height: auto; }
.map aside table { font-size: 13px; }
.map aside th, .map aside td { padding-right: 10px; }
.map aside .at > div { margin-bottom: 22px; }
.map figcaption { text-align: left; margin-top: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: 13px; vertical-align: bottom; border-bottom: 2px solid var(--ink); padding: 6px 14px 6px 0; }
td { border-bottom: 1px solid var(--line); padding: 6px 14px 6px 0; vertical-align: middle; }
th:last-child, td:last-child { padding-right: 0; }
th.n, td.n { text-align: right; }
.scroll { overflow-x: auto; }
.wide > svg { min-width: 640px; }
.wide { overflow-x: auto; }
.when { white-space: nowrap; }
.bar { display: flex; align-items: center; gap: 10px; min-width: 130px; }
.bar svg { flex: 1 1 90px; height: 12px; min-width: 60px; }
.bar span { min-width: 3em; text-align: right; }
.spark { display: block; border-bottom: 1px solid var(--line); }
.link { white-space: nowrap; font-family: ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; font-size: 13px; }
.tag { display: inline-block; padding: 0 8px; border-radius: 9px; font-size: 12px; line-height: 18px; background: var(--tag); color: var(--tag-ink); white-space: nowrap; }
.tag.ok { background: var(--ok); color: var(--ok-ink); }
details { border: 1px solid var(--line); border-radius: 8px; padding: 12px 18px; }
summary { cursor: pointer; font-weight: 600; }
details td:first-child { font-family: ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; font-size: 13px; }
details td { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: 10px 14px; border-radius: 6px; font-size: 13px; }
footer { margin-top: 40px; color: var(--faint); font-size: 13px; }
#tip { position: fixed; z-index: 9; pointer-events: none; max-width: 360px; padding: 5px 10px; border-radius: 5px; background: var(--ink);
  color: var(--paper); font-size: 13px; line-height: 1.4; }
@media (max-width: 700px) { main { padding: 24px 18px; } .pair { grid-template-columns: 1fr; } h1 { font-size: 27px; } }
@media (max-width: 520px) { .map.wide aside .at:not([hidden]) { grid-template-columns: 1fr; } .map figure, .map aside { flex-basis: 100%; }
  .figures { grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); } .summary { font-size: 16px; } }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #dfe7ee; --faint: #94a5b4; --line: #2f3c48; --soft: #1b252f; --accent: #6cb8e6; --paper: #131a21; --desk: #0b1015;
    --edge: #45535f; --warn: #33261a; --bad: #391c22; --tag: #4a2a20; --tag-ink: #f2b8a5; --ok: #1c3527; --ok-ink: #a4d9bb; }
  main svg { filter: invert(.9) hue-rotate(180deg); } main svg svg { filter: none; }
  /* Curves keep their colours, which inverting would make dull: only what is drawn for white paper changes. */
  main svg.lines, main .key svg { filter: none; }
  :is(.lines, .key) [fill="#edf1f4"] { fill: var(--line); } :is(.lines, .key) [fill="#f2cf8b"] { fill: #8f7539; }
  :is(.lines, .key) [stroke="#f2cf8b"] { stroke: #8f7539; } :is(.lines, .key) [fill="#dfe7ee"] { fill: #3a4956; }
  :is(.lines, .key) [stroke="#dfe7ee"] { stroke: #3a4956; }
  :is(.lines, .key) [fill="#22313f"] { fill: var(--ink); } :is(.lines, .key) [stroke="#22313f"] { stroke: var(--ink); }
  :is(.lines, .key) [fill="#5f6f7e"] { fill: var(--faint); } :is(.lines, .key) [stroke="#5f6f7e"] { stroke: var(--faint); }
  :is(.lines, .key) [stroke="#e6ebf0"] { stroke: var(--line); } :is(.lines, .key) [stroke="#9aa7b4"] { stroke: var(--edge); }
  :is(.lines, .key) [fill="#fff"] { fill: var(--paper); } :is(.lines, .key) [stroke="#fff"] { stroke: var(--paper); }
  :is(.lines, .key) [fill="#faf0ee"] { fill: var(--bad); } :is(.lines, .key) [fill="#a4412f"] { fill: var(--tag-ink); }
  :is(.lines, .key) [fill="#0072b2"] { fill: #4aa3df; } :is(.lines, .key) [stroke="#0072b2"] { stroke: #4aa3df; }
  :is(.lines, .key) [fill="#8c564b"] { fill: #c1948a; } :is(.lines, .key) [stroke="#8c564b"] { stroke: #c1948a; }
  :is(.lines, .key) [fill="#d7191c"] { fill: #f0555a; } :is(.lines, .key) [stroke="#d7191c"] { stroke: #f0555a; }
  :is(.lines, .key) [fill="#b3122a"] { fill: #ef6475; } :is(.lines, .key) [stroke="#b3122a"] { stroke: #ef6475; } }
@media print { body { background: #fff; font-size: 12px; } main { max-width: none; padding: 0; } .loads, #tip { display: none !important; }
  section, figure, tr, .notice { break-inside: avoid; } .summary { font-size: 14px; } section { margin-top: 24px; } }
@page { margin: 14mm; }
)";

// Notes appear at once under the pointer, and a press on a load colours the map anew. Use is written as two
// digits of base 36 for each direction of a cable, in thousandths. No "less than" and no ampersand: the page
// stays XML.
constexpr std::string_view kScript = R"(
document.documentElement.classList.add("js");
const tip = document.getElementById("tip");
document.addEventListener("mousemove", function (e) {
  const at = e.target.closest("svg *"), title = at ? at.querySelector(":scope > title") : null;
  if (title) { at.dataset.note = title.textContent; title.remove(); }
  const note = at ? at.dataset.note : null;
  tip.hidden = !note;
  if (!note) return;
  tip.textContent = note;
  tip.style.top = Math.max(4, e.clientY - tip.offsetHeight - 12) + "px";
  tip.style.left = Math.max(4, Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8)) + "px";
});
const cables = Array.from(document.querySelectorAll("#cables path"));
const names = cables.map(function (c) { return c.textContent.split(":")[0]; });
document.querySelectorAll(".loads button").forEach(function (button, load, all) {
  button.addEventListener("click", function () {
    all.forEach(function (b) { b.setAttribute("aria-pressed", b === button); });
    document.querySelectorAll(".at").forEach(function (part) { part.hidden = part.dataset.load !== String(load); });
    const use = cables.map(function (c, i) {
      return [0, 2].map(function (d) { return parseInt(button.dataset.use.substr(4 * i + d, 2), 36) / 10; });
    });
    cables.map(function (c, i) { return i; })
      .sort(function (a, b) { return Math.max(...use[a]) - Math.max(...use[b]) || a - b; })
      .forEach(function (i) {
        const c = cables[i];
        if (!c.classList.contains("dead")) c.setAttribute("class", "h" + Math.min(9, Math.floor(Math.max(...use[i]) / 10)));
        if (names[i]) c.dataset.note = names[i] + ": " + use[i][0].toFixed(0) + "% there, " + use[i][1].toFixed(0) + "% back";
        const title = c.querySelector("title");
        if (title) title.remove();
        c.parentNode.appendChild(c);
      });
  });
});
)";

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n<div id=\"tip\" hidden=\"hidden\"></div>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      escape_xml(title), kStyle, body, kScript);
}

std::string html_section(std::string_view id, std::string_view heading, std::string_view lead,
                         std::string_view content) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}{}</section>\n", id, escape_xml(heading),
                     lead.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", escape_xml(lead)),
                     content);
}

std::string html_table(const std::vector<HtmlColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  auto kind = [&](std::size_t i) { return columns[i].number ? " class=\"n\"" : ""; };
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < columns.size(); ++i)
    out += fmt::format("<th{}>{}</th>", kind(i), escape_xml(columns[i].heading));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += fmt::format("<td{}>{}</td>", kind(i), row[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_bar(double share, std::string_view colour, bool heat) {
  return fmt::format(
      "<div class=\"bar\"><svg{} viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
      "<rect width=\"100\" height=\"12\" fill=\"#edf1f4\"/><rect width=\"{:.1f}\" height=\"12\" "
      "fill=\"{}\"/></svg>"
      "<span>{}</span></div>",
      heat ? "" : " class=\"lines\"", 100 * std::clamp(share, 0.0, 1.0), colour, percent(share));
}

}  // namespace weft::report
