// The options of a verb. A thin front of CLI11, whose header takes longer to read than a verb to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::app {

/// One option or positional argument as it is declared.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}
  CommandOption& required(bool yes = true);
  /// What stands behind its name in the help.
  CommandOption& option_text(const std::string& text);
  CommandOption& type_name(const std::string& name);
  /// One value each time, however often it is given; for lists.
  CommandOption& repeatable();
  CommandOption& range(unsigned low, unsigned high);
  CommandOption& one_of(const std::vector<std::string>& words);
  CommandOption& positive();
  CommandOption& not_negative();

 private:
  CLI::Option* option_;
};

/// An option as manual pages and shells need it.
struct OptionFacts {
  std::vector<std::string> names;  // "-n", "--ranks"; none for a positional argument
  std::string text;                // what stands behind its names: "N [1]"; a positional argument's own name
  std::string help;
  bool takes_value = false, required = false;
};

/// Which options a verb has, and where their values go.
class CommandLine {
 public:
  /// Names as "-n,--ranks"; a name without dashes is a positional argument.
  CommandOption add_option(const std::string& names, std::string& to, const std::string& help);
  CommandOption add_option(const std::string& names, std::vector<std::string>& to, const std::string& help);
  CommandOption add_option(const std::string& names, std::uint8_t& to, const std::string& help);
  CommandOption add_option(const std::string& names, unsigned& to, const std::string& help);
  CommandOption add_option(const std::string& names, std::uint64_t& to, const std::string& help);
  CommandOption add_option(const std::string& names, std::int64_t& to, const std::string& help);
  CommandOption add_option(const std::string& names, double& to, const std::string& help);
  CommandOption add_flag(const std::string& names, bool& to, const std::string& help);
  CommandOption get_option(const std::string& name);
  void footer(const std::string& text);

  CommandLine(const std::string& about, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  std::string help() const;
  /// Every option, as it is written.
  std::vector<std::string> option_names() const;
  /// All of them, positional arguments last.
  std::vector<OptionFacts> facts() const;
  bool has_option(const std::string& name) const;
  bool takes_value(const std::string& name) const;

  enum class Outcome { Read, HelpWanted, SomethingMissing, Wrong };
  /// Reads the words; `error` says what is wrong with them.
  Outcome read(const std::vector<std::string>& words, std::string& error);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace weft::app
