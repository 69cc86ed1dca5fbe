// What happens to a machine over hours, and when: a few words a line, checked against the machine before it
// starts.
//
//   at 20min stop pump            # or: start pump; set pump 50%
//   at 1h load 50%                # of all processors and accelerators
//   at 5min wet coil 50%          # so much of the condenser does not work; dry coil
//   at 5min leak 1l/h             # mend leak
//   at 5min open tank             # close tank
//   at 5min block valve           # the relief valve; free valve
//   at 5min fail supply 3         # restore supply 3
//   at 5min fail phase 2          # restore phase 2
//   at 5min hang controller       # restart controller
//   at 5min disable watchdog      # enable watchdog
//   at 5min stick sensor flow     # mend sensor flow
//   at 5min lie sensor flow 20    # shows 20 whatever there is, in SI units
//   at 5min warm inlet 10         # kelvin over what is described; warm room 10
//   at 5min power off             # power on
//   at 5min hold reset 3.knc      # of a part of node 3; release reset 3.knc; 3 alone: all of its chips
//   at job+2s stop pump           # in `weft run`: so long after the job has started
//
// Statements end at the end of a line or at a semicolon; # starts a comment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/quantity.hpp"

namespace weft::power::operate {

struct Event {
  enum class Kind : std::uint8_t {
    Pump,
    Load,
    Coil,
    Leak,
    Open,
    Valve,
    Supply,
    Phase,
    Hang,
    Watchdog,
    Stick,
    Lie,
    MendSensor,
    Inlet,
    Room,
    Power,
    Reset
  };
  Time at;
  Kind kind = Kind::Pump;
  double value = 0;     // a share, litres an hour, kelvin; 1 and 0 for what is on or off
  unsigned number = 0;  // of a supply, phase or node
  std::string name;     // of a sensor or part
  std::string text;     // as written, without the time
};

/// What a script may name.
struct Names {
  unsigned supplies = 1;
  bool has_tank = false;
  std::vector<std::string> sensors;
  unsigned nodes = 1;
  std::vector<std::string> parts;  // with a reset line
  std::optional<Time> job;         // when it starts, where there is one
};

/// Reads a script; errors go to `problems`, each with line and column. Events come in order of time.
std::vector<Event> parse_script(std::string_view text, const std::string& source, const Names& names,
                                Diagnostics& problems);
/// What an option was given: a script, or the name of a file that holds one.
std::vector<Event> read_script(const std::string& given, const Names& names, const std::string& option,
                               Diagnostics& problems);
/// The same; throws UserError with all errors.
std::vector<Event> read_script(const std::string& given, const Names& names);

/// A time as people give it for hours of operation: 90s, 20min, 1h, 2d, and what parse_quantity knows.
std::optional<Time> parse_duration(const std::string& text, std::string& error);

}  // namespace weft::power::operate
