// `weft help`: everything there is, from the declarations that also do the checking.
#include <fmt/format.h>

#include <algorithm>

#include "app/pages.hpp"
#include "app/register_table.hpp"
#include "app/verb.hpp"
#include "machine/collective_network.hpp"
#include "machine/description.hpp"
#include "power/body.hpp"

namespace weft::app {

Verb::~Verb() = default;

std::vector<const Verb*> verbs_in_order() {
  std::vector<const Verb*> out;
  for (const auto& [name, verb] : Verbs::all()) out.push_back(&verb);
  std::stable_sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->order < b->order; });
  return out;
}

namespace {

using config::Field;
using config::Section;

std::string field_lines(const Section& section) {
  std::string out;
  std::size_t width = 0;
  for (const Field& field : section.fields) width = std::max(width, field.name.size());
  for (const Field& field : section.fields) {
    std::size_t indent = width + 4;
    out += fmt::format("  {:<{}}  {}\n", field.name, width, wrap(field.help, 100, indent));
    std::string fact = field.required ? "must be given" : fmt::format("default {}", field.default_text);
    out += std::string(indent, ' ') + wrap(fmt::format("{}; {}", field.expected, fact), 100, indent) + "\n";
  }
  return out.empty() ? "  (no parameters)\n" : out;
}

/// A section of a description whose keys depend on its kind.
struct KindSection {
  std::string name, about;
  struct Entry {
    std::string name, about;
    const Section* section;
  };
  std::vector<Entry> kinds;
  std::string written = name;  // as in a description
};

template <class Kind>
KindSection kind_section(std::string name, std::string about) {
  KindSection out{.name = std::move(name), .about = std::move(about), .kinds = {}};
  for (const auto& [kind_name, kind] : config::Registry<Kind>::all())
    out.kinds.push_back({kind_name, kind.about, &kind.section});
  return out;
}

KindSection device_sections() {
  KindSection out = kind_section<node::DeviceKind>(
      "device", "What else sits on the bus of every node, or of those its key `nodes` lists");
  out.written = "node.device.NAME";
  return out;
}

const std::vector<KindSection>& kind_sections() {
  static const std::vector<KindSection> sections{
      kind_section<topology::TopologyKind>("topology", "How routers and endpoints are wired"),
      kind_section<routing::RoutingKind>("routing", "How packets are routed"),
      kind_section<machine::RouterKind>("router", "What every router is made of"),
      kind_section<machine::NicKind>("nic", "What every endpoint has: ports, engines, translation"),
      kind_section<power::CoolingKind>("cooling", "What takes the heat away"),
      device_sections()};
  return sections;
}

std::string overview() {
  std::string out = "Weft: an HPC interconnect you can run.\n\nUsage: weft VERB [...]\n\n";
  for (const Verb* verb : verbs_in_order())
    out += fmt::format("  {:<10} {}\n", verb->name, wrap(verb->about, 100, 13));
  out += "  build      build what changed, and no more (through ./weft)\n";
  out += "  install    put it into a folder of one's own, as a package would (through ./weft)\n";
  out += "  package    make a package for Debian of it (through ./weft)\n";
  out += "  test       build and run every test (through ./weft)\n";
  out +=
      "\nA machine is described in sections; `weft help SECTION` and `weft help SECTION KIND` say what goes "
      "in:\n\n";
  for (const KindSection& section : kind_sections()) {
    std::vector<std::string> names;
    for (const auto& kind : section.kinds) names.push_back(kind.name);
    out += fmt::format("  {:<10} {}: {}\n", section.name, section.about, wrap(join(names, ", "), 100, 13));
  }
  for (const auto& fixed : machine::fixed_sections())
    out +=
        fmt::format("  {:<10} {}\n", fixed.name.substr(0, fixed.name.find('.')), wrap(fixed.about, 100, 13));
  out +=
      "  collective_network  A second network of its own topology, for the control packets of collectives\n"
      "  registers  The registers of interfaces and routers, which programs read and write over the network\n"
      "  sources    Where each value comes from: \"section.key\" = \"paper and section, or assumed: why\"\n";
  out += "\nTry: weft show torus --picture torus.svg\n";
  return out;
}

constexpr const char* kCollectiveNetworkHelp =
    "A second network for the control packets of collectives that interfaces run (weft run --collectives).\n"
    "Its sections are those of a network, under this name: [collective_network.topology] and\n"
    "[collective_network.routing] with their kinds, and where they differ from what is usual,\n"
    "[collective_network.router] and [collective_network.cable.NAME]. Its endpoint i is on node i.";

std::string kind_overview(const KindSection& section) {
  std::string out = fmt::format("[{}] {}. Its kind is one of:\n\n", section.written, section.about);
  for (const auto& kind : section.kinds)
    out += fmt::format("  {:<20} {}\n", kind.name, wrap(kind.about, 100, 23));
  return out + fmt::format("\n`weft help {} KIND` lists a kind's parameters.\n", section.name);
}

std::string table_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string field_table(const Section& section) {
  if (section.fields.empty()) return "No parameters.\n\n";
  std::string out = "| key | default | expected | meaning |\n|---|---|---|---|\n";
  for (const Field& field : section.fields)
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.name,
                       field.required ? "must be given" : fmt::format("`{}`", field.default_text),
                       table_cell(field.expected), table_cell(field.help));
  return out + "\n";
}

}  // namespace

std::string help_text(const std::vector<std::string>& words) {
  if (words.empty()) return overview();
  std::vector<std::string> known;
  for (const Verb* verb : verbs_in_order()) {
    if (verb->name == words[0] && words.size() == 1) return verb_help(*verb);
    known.push_back(verb->name);
  }
  for (const KindSection& section : kind_sections()) {
    known.push_back(section.name);
    if (section.name != words[0]) continue;
    if (words.size() == 1) return kind_overview(section);
    std::vector<std::string> names;
    for (const auto& kind : section.kinds) {
      if (kind.name == words[1])
        return fmt::format("[{}] kind = \"{}\": {}\n\n{}", section.written, kind.name,
                           wrap(kind.about, 100, 0), field_lines(*kind.section));
      names.push_back(kind.name);
    }
    throw UserError(fmt::format("there is no {} '{}'{}; there are {}", section.name, words[1],
                                did_you_mean(words[1], names), join(names, ", ")));
  }
  for (const auto& fixed : machine::fixed_sections()) {
    std::string name = fixed.name.substr(0, fixed.name.find('.'));
    known.push_back(name);
    if (name == words[0])
      return fmt::format("[{}] {}\n\n{}", fixed.name, fixed.about, field_lines(*fixed.section));
  }
  known.push_back(machine::kCollectiveNetwork);
  if (words[0] == known.back()) return std::string(kCollectiveNetworkHelp) + "\n";
  known.push_back("registers");
  if (words[0] == known.back()) return register_text();
  throw UserError(fmt::format("there is no help on '{}'{}; `weft help` lists what there is", words[0],
                              did_you_mean(words[0], known)));
}

std::string reference_page() {
  std::string out =
      "# Reference\n\nEvery section and key of a machine description, and every verb. Written by `weft help "
      "--reference`\n"
      "from the declarations that also check descriptions; a test keeps this page and them the same.\n\n"
      "Values carry their units: times `\"98.6ns\"`, lengths `\"20m\"`, rates `\"14Gbps\"`, sizes "
      "`\"1MiB\"`. A description may\n"
      "start from another with `base = \"name\"`, and any value can be overridden with `--set "
      "section.key=value`.\n"
      "Where a layer changes a section's `kind`, values below it that the new kind does not know are "
      "dropped.\n\n";
  for (const KindSection& section : kind_sections()) {
    out += fmt::format("## [{}]\n\n{}.\n\n", section.written, section.about);
    for (const auto& kind : section.kinds)
      out += fmt::format("### {} `{}`\n\n{}.\n\n{}", section.name, kind.name, kind.about,
                         field_table(*kind.section));
  }
  for (const auto& fixed : machine::fixed_sections())
    out += fmt::format("## [{}]\n\n{}.\n\n{}", fixed.name, fixed.about, field_table(*fixed.section));
  out += "## [collective_network.SECTION]\n\n" + std::string(kCollectiveNetworkHelp) +
         "\n\n"
         "## [sources]\n\nWhere each value comes from: `\"section.key\" = \"a paper's file and section, or "
         "assumed: why\"`.\n\n"
         "## Registers\n\n" +
         register_tables() + "## Verbs\n\n";
  for (const Verb* verb : verbs_in_order())
    out += fmt::format("### weft {}\n\n```\n{}```\n\n", verb->name, verb_help(*verb));
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

namespace {

std::function<int()> declare_help(CommandLine& app) {
  struct Options {
    std::vector<std::string> words;
    std::string pages;
    bool reference = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("words", options->words, "A verb, a section, or a section and one of its kinds")
      .option_text("WORD...");
  app.add_flag("--reference", options->reference, "Print the reference page (Markdown)");
  app.add_option("--pages", options->pages,
                 "Write manual pages and completions for bash, zsh and fish into a folder, as an "
                 "installation has them")
      .option_text("DIR");
  return [options] {
    if (!options->pages.empty()) {
      write_pages(options->pages);
      return 0;
    }
    fmt::print("{}", options->reference ? reference_page() : help_text(options->words));
    return 0;
  };
}

WEFT_REGISTER(Verb, {"help", "what there is, and how each thing is used", 1, declare_help});

}  // namespace

}  // namespace weft::app

WEFT_REGISTRY(weft::app::Verb);
