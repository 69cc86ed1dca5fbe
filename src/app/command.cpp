#include "app/command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "app/verb.hpp"

namespace weft::app {

void MachineOptions::declare(CLI::App& verb) {
  verb.add_option("machine", machine, "A profile's name (see `weft list`) or a description's path")
      ->required()
      ->option_text("MACHINE");
  verb.add_option("--set", settings, "Override a value: section.key=value; may be repeated")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false)
      ->trigger_on_parse(false);
}

std::string verb_help(const Verb& verb) {
  CLI::App app(verb.about, "weft " + verb.name);
  verb.declare(app);
  return app.help();
}

namespace {

int dispatch(const std::vector<std::string>& arguments) {
  std::string name = arguments.empty() ? "help" : arguments.front();
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "version") {
    fmt::print("weft {}\n", WEFT_VERSION);
    return 0;
  }
  const Verb* verb = Verbs::find(name);
  if (!verb)
    throw UserError(fmt::format("there is no `weft {}`{}; `weft help` lists what there is", name,
                                did_you_mean(name, Verbs::names())));
  CLI::App app(verb->about, "weft " + verb->name);
  auto action = verb->declare(app);
  std::vector<std::string> rest(arguments.begin() + !arguments.empty(), arguments.end());
  try {
    std::vector<std::string> reversed(rest.rbegin(), rest.rend());  // the order this overload takes
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UserError(fmt::format("{}; see `weft help {}`", error.what(), name));
  }
  return action();
}

}  // namespace

int run(int argc, char** argv) {
  try {
    return dispatch({argv + 1, argv + argc});
  } catch (const UserError& error) {
    std::size_t count = error.diagnostics().size();
    for (const Diagnostic& one : error.diagnostics()) fmt::print(stderr, "error: {}\n", one.text());
    if (count > 1) fmt::print(stderr, "{} mistakes found\n", count);
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: not enough memory for a machine of this size\n");
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft has a defect, please report it with the command you ran: {}\n", error.what());
    return 3;
  }
}

}  // namespace weft::app
