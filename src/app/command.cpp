#include "app/command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "app/ranks.hpp"
#include "app/standard_streams.hpp"
#include "app/verb.hpp"
#include "base/plain_text.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "base/virtual_time.hpp"

namespace weft::app {

void MachineOptions::declare(CommandLine& verb) {
  verb.add_option(
          "machine", machine,
          "A profile's name (see `weft list`) or a description's path; of one that has several networks, "
          "deep:booster is one of them by itself")
      .required()
      .option_text("MACHINE");
  verb.add_option("--set", settings, "Override a value: section.key=value; may be repeated")
      .option_text("KEY=VALUE")
      .repeatable();
}

std::string verb_help(const Verb& verb) {
  CommandLine app(verb.about, "weft " + verb.name);
  verb.declare(app);
  return app.help();
}

namespace {

using Words = std::vector<std::string>;

/// Puts `--` before the program where it was left out, as those do who are used to mpirun: the program's
/// options are its own.
Words set_program_apart(const CommandLine& app, const std::string& verb, Words words) {
  unsigned plain = 0;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == "-np") words[i] = "-n";  // mpirun's
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      if (++plain < 2) continue;
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
      break;
    }
    const bool is_long = word.starts_with("--");
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    if (!app.has_option(name))
      throw UserError(fmt::format("there is no option {}{}; see `weft help {}`", name,
                                  did_you_mean(name, app.option_names()), verb));
    if (word == name && app.takes_value(name)) ++i;  // its value
  }
  return words;
}

int dispatch(const Words& arguments) {
  std::string name = arguments.empty() ? "help" : arguments.front();
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "version") {
    fmt::print("weft {}\n{}\n", version(), built_with());
    return 0;
  }
  const Verb* verb = Verbs::find(name);
  if (!verb)
    throw UserError(fmt::format("there is no `weft {}`{}; `weft help` lists what there is", name,
                                did_you_mean(name, Verbs::names())));
  if (verb->runs_on_ranks) join_ranks();
  CommandLine app(verb->about, "weft " + verb->name);
  auto action = verb->declare(app);
  Words rest(arguments.begin() + !arguments.empty(), arguments.end());
  if (verb->takes_program) rest = set_program_apart(app, name, std::move(rest));
  std::string error;
  switch (app.read(rest, error)) {
    case CommandLine::Outcome::Read:
      break;
    case CommandLine::Outcome::HelpWanted:
      fmt::print("{}", app.help());
      return 0;
    case CommandLine::Outcome::SomethingMissing:
      if (verb->takes_program)
        throw UserError(
            fmt::format("a machine and a program are needed: weft {0} tianhe2 -n 4 -- ./program; "
                        "`weft list` shows the machines, `weft help {0}` the options",
                        name));
      [[fallthrough]];
    case CommandLine::Outcome::Wrong:
      throw UserError(fmt::format("{}; see `weft help {}`", error, name));
  }
  return action();
}

}  // namespace

namespace {

int run_verb(int argc, char** argv) {
  auto print_error = [](const std::string& text) { fmt::print(stderr, "error: {}\n", printable(text)); };
  try {
    int code = dispatch({argv + 1, argv + argc});
    finish_standard_output();
    return code;
  } catch (const UserError& error) {
    std::size_t count = error.diagnostics().size();
    for (const Diagnostic& one : error.diagnostics()) print_error(one.text());
    if (count > 1) fmt::print(stderr, "{} errors found\n", count);
    return 2;
  } catch (const OutOfTime& error) {
    print_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: not enough memory for a machine of this size\n");
    return 2;
  } catch (const std::exception& error) {
    if (const char* why = standard_output_error(); *why) {
      print_error(fmt::format("standard output: cannot be written: {}", why));
      return 2;
    }
    // No thread, no file, no right: what the system refuses is no defect.
    if (dynamic_cast<const std::system_error*>(&error)) {
      print_error(fmt::format("the system refuses: {}", error.what()));
      return 2;
    }
    fmt::print(stderr, "weft has a defect, please report it with the command you ran: {}\n", error.what());
    return 3;
  }
}

}  // namespace

int run(int argc, char** argv) {
  prepare_standard_streams();
  const int code = run_verb(argc, argv);
  leave_ranks(code);
  return code;
}

}  // namespace weft::app
