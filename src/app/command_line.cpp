#include "app/command_line.hpp"

#include <CLI/CLI.hpp>

namespace weft::app {

CommandOption& CommandOption::required(bool yes) {
  option_->required(yes);
  return *this;
}

CommandOption& CommandOption::option_text(const std::string& text) {
  option_->option_text(text);
  return *this;
}

CommandOption& CommandOption::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

CommandOption& CommandOption::repeatable() {
  option_->allow_extra_args(false)->trigger_on_parse(false);
  return *this;
}

CommandOption& CommandOption::range(unsigned low, unsigned high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

CommandOption& CommandOption::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

CommandOption& CommandOption::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

CommandOption& CommandOption::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

CommandLine::CommandLine(const std::string& about, const std::string& name)
    : app_(std::make_unique<CLI::App>(about, name)) {}
CommandLine::~CommandLine() = default;

CommandOption CommandLine::add_option(const std::string& names, std::string& to, const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_option(const std::string& names, std::vector<std::string>& to,
                                      const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_option(const std::string& names, std::uint8_t& to, const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_option(const std::string& names, unsigned& to, const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_option(const std::string& names, std::uint64_t& to, const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_option(const std::string& names, std::int64_t& to, const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_option(const std::string& names, double& to, const std::string& help) {
  return CommandOption(app_->add_option(names, to, help));
}
CommandOption CommandLine::add_flag(const std::string& names, bool& to, const std::string& help) {
  return CommandOption(app_->add_flag(names, to, help));
}

CommandOption CommandLine::get_option(const std::string& name) {
  return CommandOption(app_->get_option(name));
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

std::string CommandLine::help() const { return app_->help(); }

std::vector<std::string> CommandLine::option_names() const {
  std::vector<std::string> out;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

std::vector<OptionFacts> CommandLine::facts() const {
  std::vector<OptionFacts> named, positional;
  for (const CLI::Option* option : app_->get_options()) {
    OptionFacts facts{.names = {},
                      .text = option->get_option_text(),
                      .help = option->get_description(),
                      .takes_value = option->get_items_expected_max() > 0,
                      .required = option->get_required()};
    for (const std::string& name : option->get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) facts.names.push_back("--" + name);
    if (facts.text.empty() && facts.names.empty()) facts.text = option->get_name();
    (facts.names.empty() ? positional : named).push_back(facts);
  }
  named.insert(named.end(), positional.begin(), positional.end());
  return named;
}

bool CommandLine::has_option(const std::string& name) const {
  return app_->get_option_no_throw(name) != nullptr;
}

bool CommandLine::takes_value(const std::string& name) const {
  return app_->get_option(name)->get_items_expected_max() > 0;
}

CommandLine::Outcome CommandLine::read(const std::vector<std::string>& words, std::string& error) {
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order this overload takes
    app_->parse(reversed);
    return Outcome::Read;
  } catch (const CLI::CallForHelp&) {
    return Outcome::HelpWanted;
  } catch (const CLI::RequiredError& missing) {
    error = missing.what();
    return Outcome::SomethingMissing;
  } catch (const CLI::ParseError& wrong) {
    error = wrong.what();
    return Outcome::Wrong;
  }
}

}  // namespace weft::app
