#include "app/pages.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

std::vector<OptionFacts> facts_of(const Verb& verb) {
  CommandLine app(verb.about, "weft " + verb.name);
  verb.declare(app);
  return app.facts();
}

/// Text as troff takes it: what it would take for commands is escaped, `words` become bold.
std::string troff(const std::string& text) {
  std::string out;
  bool bold = false;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += bold ? "\\fR" : "\\fB";
      bold = !bold;
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&";
      out += c;
    } else {
      out += c;
    }
  }
  return bold ? out + "\\fR" : out;
}

std::string title(const std::string& name, const std::string& about) {
  std::string upper = name;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return fmt::format(".TH {} 1 \"\" \"weft {}\" \"Weft\"\n.SH NAME\n{} \\- {}\n", upper, version(),
                     troff(name), troff(about));
}

std::string bold(const std::string& text) { return fmt::format("\\fB{}\\fR", troff(text)); }

std::string names_text(const OptionFacts& facts) {
  std::vector<std::string> names;
  for (const std::string& name : facts.names) names.push_back(bold(name));
  std::string out = join(names, ", ");
  if (!facts.text.empty()) out += (out.empty() ? "" : " ") + troff(facts.text);
  return out;
}

/// Words that an option may be, where its text lists them: "yes|no|auto [auto]".
std::vector<std::string> choices(const OptionFacts& facts) {
  const std::string list = facts.text.substr(0, facts.text.find(' '));
  return list.find('|') == std::string::npos ? std::vector<std::string>() : split(list, '|');
}

bool is_file(const OptionFacts& facts) {
  const std::string what = facts.text.substr(0, facts.text.find(' '));
  return what == "FILE" || what == "DIR" || what == "SCRIPT" || what == "SPEC";
}

/// What a shell shows beside a word: the first sentence, without what it would take for its own.
std::string short_help(const std::string& help) {
  std::string out = help.substr(0, std::min(help.find(". "), help.find("; ")));
  std::erase_if(out, [](char c) {
    return c == '\'' || c == '[' || c == ']' || c == '`' || c == '"' || c == '\\' || c == '$';
  });
  for (char& c : out)
    if (c == ':') c = ',';
  return out;
}

bool takes_machine(const std::vector<OptionFacts>& all) {
  for (const OptionFacts& facts : all)
    if (facts.names.empty() && facts.text == "MACHINE") return true;
  return false;
}

std::string all_names(const std::vector<OptionFacts>& all) {
  std::vector<std::string> names;
  for (const OptionFacts& facts : all) names.insert(names.end(), facts.names.begin(), facts.names.end());
  return join(names, " ");
}

constexpr const char* kMachines = "weft list 2>/dev/null | sed -n 's/^\\([a-z][^ ]*\\) .*/\\1/p'";

std::string bash_completion() {
  std::string out = fmt::format(
      "# Completion of weft for bash; written by `weft help --pages`.\n"
      "_weft() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} "
      "verb=${{COMP_WORDS[1]}}\n"
      "  local options= machine= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "    [[ ${{COMP_WORDS[i]}} = -- ]] && {{ COMPREPLY=($(compgen -f -- \"$word\")); return; }}\n"
      "  done\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $verb in\n",
      join(Verbs::names(), " "));
  for (const Verb* verb : verbs_in_order()) {
    const std::vector<OptionFacts> all = facts_of(*verb);
    out += fmt::format("    {})\n      options='{}'{}\n      case $before in\n", verb->name, all_names(all),
                       takes_machine(all) ? " machine=yes" : "");
    for (const OptionFacts& facts : all) {
      if (!facts.takes_value || facts.names.empty()) continue;
      const std::vector<std::string> words = choices(facts);
      const std::string reply =
          !words.empty()   ? fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\")); ", join(words, " "))
          : is_file(facts) ? "COMPREPLY=($(compgen -f -- \"$word\")); "
                           : "";
      out += fmt::format("        {}) {}return ;;\n", join(facts.names, " | "), reply);
    }
    out += "      esac\n      ;;\n";
  }
  return out + fmt::format(
                   "  esac\n"
                   "  if [[ $word = -* ]]; then\n"
                   "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                   "  else\n"
                   "    [ -z \"$machine\" ] || COMPREPLY=($(compgen -W \"$({})\" -- \"$word\"))\n"
                   "    COMPREPLY+=($(compgen -f -- \"$word\"))\n"
                   "  fi\n"
                   "}}\n"
                   "complete -o filenames -F _weft weft\n",
                   kMachines);
}

std::string zsh_value(const OptionFacts& facts) {
  if (!facts.takes_value) return "";
  const std::vector<std::string> words = choices(facts);
  if (!words.empty()) return fmt::format(":value:({})", join(words, " "));
  return is_file(facts) ? ":file:_files" : ":value: ";
}

std::string zsh_completion() {
  std::string out = fmt::format(
      "#compdef weft\n# Completion of weft for zsh; written by `weft help --pages`.\n"
      "_weft_machines() {{\n  local -a machines\n  machines=(${{(f)\"$({})\"}})\n  compadd -a machines\n  "
      "_files\n}}\n"
      "_weft() {{\n  if (( CURRENT == 2 )); then\n    local -a verbs\n    verbs=(\n",
      kMachines);
  for (const Verb* verb : verbs_in_order())
    out += fmt::format("      '{}:{}'\n", verb->name, short_help(verb->about));
  out +=
      "    )\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n  (( "
      "CURRENT-- ))\n  case $verb in\n";
  for (const Verb* verb : verbs_in_order()) {
    const std::vector<OptionFacts> all = facts_of(*verb);
    out += fmt::format("    {})\n      _arguments \\\n", verb->name);
    for (const OptionFacts& facts : all)
      for (const std::string& name : facts.names)
        out += fmt::format("        '*{}[{}]{}' \\\n", name, short_help(facts.help), zsh_value(facts));
    out +=
        fmt::format("        '*:argument:{}'\n      ;;\n", takes_machine(all) ? "_weft_machines" : "_files");
  }
  return out + "  esac\n}\n_weft \"$@\"\n";
}

std::string fish_completion() {
  std::string out = "# Completion of weft for fish; written by `weft help --pages`.\n";
  for (const Verb* verb : verbs_in_order()) {
    out += fmt::format("complete -c weft -n __fish_use_subcommand -f -a {} -d '{}'\n", verb->name,
                       short_help(verb->about));
    const std::string where = fmt::format("complete -c weft -n '__fish_seen_subcommand_from {}'", verb->name);
    const std::vector<OptionFacts> all = facts_of(*verb);
    for (const OptionFacts& facts : all) {
      if (facts.names.empty()) continue;
      std::string names;
      for (const std::string& name : facts.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::vector<std::string> words = choices(facts);
      const std::string value = !facts.takes_value ? ""
                                : !words.empty()   ? fmt::format(" -x -a '{}'", join(words, " "))
                                                   : " -r";
      out += fmt::format("{}{}{} -d '{}'\n", where, names, value, short_help(facts.help));
    }
    if (takes_machine(all)) out += fmt::format("{} -a \"({})\"\n", where, kMachines);
  }
  return out;
}

}  // namespace

std::string overview_man_page() {
  std::string out = title("weft", "an HPC interconnect you can run");
  out +=
      ".SH SYNOPSIS\n.B weft\n.I VERB\n.RI [ ... ]\n.SH DESCRIPTION\n"
      "A text file describes a supercomputer's network; Weft boots it in software, and unmodified MPI "
      "programs run "
      "on it in virtual time.\n.SH VERBS\n";
  for (const Verb* verb : verbs_in_order())
    out += fmt::format(".TP\n{}\n{}; see\n.BR weft\\-{} (1)\n", bold(verb->name), troff(verb->about),
                       verb->name);
  out +=
      ".SH MACHINES\n.B weft list\nshows the machines that come with it.\n.B weft help\nnames the sections "
      "of a "
      "description, and\n.B weft help\n.I SECTION\nits keys.\n"
      ".SH EXIT STATUS\n0: fine. 1: the answer is no, or a program failed. 2: the input is wrong. 3: a "
      "defect in Weft.\n"
      ".SH ENVIRONMENT\n.TP\n.B WEFT_PROFILES\nA folder of descriptions, looked into before those that come "
      "with Weft.\n";
  return out;
}

std::string man_page(const Verb& verb) {
  const std::string name = "weft-" + verb.name;
  const std::vector<OptionFacts> all = facts_of(verb);
  std::string out = title(name, verb.about) + fmt::format(".SH SYNOPSIS\n{}", bold("weft " + verb.name));
  for (const OptionFacts& facts : all)
    if (facts.names.empty())
      out += facts.required ? " " + troff(facts.text) : fmt::format(" [{}]", troff(facts.text));
  out += " [OPTIONS]\n.SH OPTIONS\n";
  for (const OptionFacts& facts : all)
    out += fmt::format(".TP\n{}\n{}\n", names_text(facts), troff(facts.help));
  return out + ".SH SEE ALSO\n.BR weft (1)\n";
}

std::string completion(Shell shell) {
  return shell == Shell::Bash  ? bash_completion()
         : shell == Shell::Zsh ? zsh_completion()
                               : fish_completion();
}

void write_pages(const std::string& folder) {
  auto write = [&](const std::string& name, const std::string& text) {
    const fs::path file = fs::path(folder) / name;
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    if (failed)
      throw UserError(
          fmt::format("{}: the folder cannot be made: {}", file.parent_path().string(), failed.message()));
    write_file(file.string(), text);
  };
  write("man/man1/weft.1", overview_man_page());
  for (const Verb* verb : verbs_in_order())
    write(fmt::format("man/man1/weft-{}.1", verb->name), man_page(*verb));
  write("bash-completion/completions/weft", completion(Shell::Bash));
  write("zsh/vendor-completions/_weft", completion(Shell::Zsh));
  write("fish/vendor_completions.d/weft.fish", completion(Shell::Fish));
}

}  // namespace weft::app
