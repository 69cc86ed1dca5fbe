// ipmi_sim is a whole IPMI controller without hardware: sessions, sensors with thresholds, an event log,
// chassis commands. Ours is the hardware: it writes each sensor's reading into a file that ipmi_sim polls,
// and a small script carries its power commands here. What the controller finds critical enters the event
// log.
#include "app/power_ipmi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"

namespace weft::app {

namespace {

using power::bmc::LogEntry;
using power::bmc::Sensor;
namespace fs = std::filesystem;

volatile sig_atomic_t stopped = 0;

/// How a value becomes the byte that IPMI reads: byte = (value - offset) / (mantissa x 10^exponent).
struct Scale {
  int mantissa = 1, exponent = 0;
  int offset_tens = 0;  // the offset, in tens of the step's unit
  double step() const { return mantissa * std::pow(10, exponent); }
  double offset() const { return offset_tens * 10.0 * std::pow(10, exponent); }
  int byte(double value) const {
    return static_cast<int>(std::clamp(std::lround((value - offset()) / step()), 0l, 255l));
  }
};

/// The finest steps of 1, 2 or 5 times a power of ten that reach the largest value.
Scale scale_to(double largest) {
  for (int exponent = -3;; ++exponent)
    for (int mantissa : {1, 2, 5})
      if (255 * mantissa * std::pow(10, exponent) >= largest) return {mantissa, exponent, 0};
}

struct Kind {
  std::uint8_t type, unit;  // of IPMI
  Scale scale;
};

Kind kind_of(const Sensor& sensor) {
  if (sensor.unit == "C") return {0x01, 1, {5, -1, 0}};
  if (sensor.unit == "V") return {0x02, 4, scale_to(60)};
  if (sensor.unit == "A") return {0x03, 5, scale_to(2000)};
  if (sensor.unit == "mbar") return {0x0b, 0, {5, 0, -64}};
  if (sensor.unit == "l/min") return {0x0b, 0, scale_to(std::max(4 * sensor.critical_low, 1.0))};
  return {0x0b, 0, {1, 0, 0}};
}

class Front {
 public:
  Front(const std::vector<Sensor>& sensors, unsigned port) : port_(port) {
    std::string name = (fs::temp_directory_path() / "weft-ipmi-XXXXXX").string();
    if (!mkdtemp(name.data())) throw UserError(fmt::format("{}: the folder cannot be made", name));
    folder_ = name;
    fs::create_directory(folder_ + "/state");
    write_configuration(sensors);
    start();
  }

  ~Front() {
    if (child_ > 0) {
      kill(child_, SIGTERM);
      waitpid(child_, nullptr, 0);
    }
    if (commands_ >= 0) close(commands_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  bool alive() { return child_ > 0 && waitpid(child_, nullptr, WNOHANG) == 0; }

  void show(const std::vector<Sensor>& sensors, bool on) {
    for (std::size_t i = 0; i < sensors.size(); ++i)
      put(fmt::format("sensor{}", i), fmt::format("{}\n", kind_of(sensors[i]).scale.byte(sensors[i].value)));
    put("power", on ? "1\n" : "0\n");
  }

  /// What a client has ordered since: 1 on, 0 off, -1 nothing.
  int order() {
    std::ifstream file(folder_ + "/order");
    int value = -1;
    if (!(file >> value)) return -1;
    fs::remove(folder_ + "/order");
    return value;
  }

  void log(const LogEntry& entry, std::time_t when) {
    if (entry.severity != LogEntry::Severity::Critical) return;
    // A sensor-specific event: power unit off, power supply failed, or watchdog power down.
    int type = 0x09, offset = 0x00;
    if (entry.source.starts_with("supply")) type = 0x08, offset = 0x01;
    if (entry.source == "watchdog") type = 0x23, offset = 0x02;
    const auto t = static_cast<unsigned long>(when);
    const std::string line = fmt::format(
        "sel_add 0x20 0x02 {:#x} {:#x} {:#x} {:#x} 0x20 0x00 0x04 {:#x} 0x00 0x6f {:#x} 0xff 0xff\n", t & 255,
        t >> 8 & 255, t >> 16 & 255, t >> 24 & 255, type, offset);
    if (write(commands_, line.data(), line.size()) < 0) alive();
  }

 private:
  /// Whole or not at all: whoever reads meanwhile sees the old file.
  void put(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    write_file(path + ".new", text);
    fs::rename(path + ".new", path);
  }

  void write_configuration(const std::vector<Sensor>& sensors) {
    write_file(
        folder_ + "/lan.conf",
        fmt::format(
            "name \"weft\"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 {}\n    priv_limit admin\n"
            "    allowed_auths_admin md5\n    allowed_auths_user md5\n    allowed_auths_operator md5\n  "
            "  guid 77656674000000000000000000000001\n  endlan\n"
            "  chassis_control \"{}/chassis\"\n"
            "  user 2 true \"admin\" \"weft\" admin 10 md5\n",
            port_, folder_));
    write_file(
        folder_ + "/chassis",
        fmt::format(
            "#!/bin/sh\ncase $1 in\nget) shift; for what; do case $what in power) echo \"power:$(cat "
            "{0}/power)\";; "
            "*) echo \"$what:0\";; esac; done;;\nset) shift; while [ $# -ge 2 ]; do case $1 in power) echo "
            "$2 >"
            "{0}/order.new && mv {0}/order.new {0}/order;; reset) echo 2 >{0}/order.new && mv {0}/order.new "
            "{0}/order;; esac; shift 2; done;;\nesac\nexit 0\n",
            folder_));
    fs::permissions(folder_ + "/chassis", fs::perms::owner_all);
    std::string commands =
        "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 1 0 0x9f 0x0000 0x0001\nsel_enable 0x20 1000 "
        "0x0a\n";
    for (std::size_t i = 0; i < sensors.size(); ++i) commands += sensor_commands(sensors[i], i);
    write_file(folder_ + "/commands", commands + "mc_enable 0x20\n");
    show(sensors, false);
  }

  std::string sensor_commands(const Sensor& sensor, std::size_t number) const {
    const Kind kind = kind_of(sensor);
    const bool low = sensor.critical_low > -1e29, high = sensor.critical_high < 1e29;
    const int low_byte = low ? kind.scale.byte(sensor.critical_low) : 0,
              high_byte = high ? kind.scale.byte(sensor.critical_high) : 0;
    // Thresholds from upper non-recoverable to lower non-critical; events: bit 9 above, bit 2 below.
    const std::string enabled = fmt::format("0{}00{}0", high ? 1 : 0, low ? 1 : 0);
    std::string events = "000000000000000";
    if (high) events[14 - 9] = '1';
    if (low) events[14 - 2] = '1';
    std::string out = fmt::format("sensor_add 0x20 0 {} {} 1 poll 500 file \"{}/sensor{}\"\n", number + 1,
                                  kind.type, folder_, number);
    out += fmt::format("sensor_set_threshold 0x20 0 {} readable {} 0 {} 0 0 {} 0\n", number + 1, enabled,
                       high_byte, low_byte);
    out += fmt::format("sensor_set_event_support 0x20 0 {0} enable scanning per-state {1} {1} {1} {1}\n",
                       number + 1, events);
    out += "main_sdr_add 0x20";
    for (int byte : record(sensor, number, kind, low, high, low_byte, high_byte))
      out += fmt::format(" {:#04x}", byte & 255);
    return out + "\n";
  }

  /// A full sensor record (IPMI 2.0, table 43-1).
  static std::vector<int> record(const Sensor& sensor, std::size_t number, const Kind& kind, bool low,
                                 bool high, int low_byte, int high_byte) {
    const std::string name = sensor.name.substr(0, 16);
    const int events = (high ? 1 << 9 : 0) | (low ? 1 << 2 : 0),
              thresholds = (high ? 1 << 4 : 0) | (low ? 1 << 1 : 0);
    const Scale& s = kind.scale;
    std::vector<int> out{0,
                         0,
                         0x51,
                         0x01,
                         0,
                         0x20,
                         0x00,
                         static_cast<int>(number + 1),
                         0x07,
                         0x01,
                         0x7f,
                         0x68,
                         kind.type,
                         0x01,
                         events & 255,
                         events >> 8,
                         events & 255,
                         events >> 8,
                         thresholds,
                         0,
                         0x00,
                         kind.unit,
                         0x00,
                         0x00,
                         s.mantissa,
                         0x00,
                         s.offset_tens & 255,
                         (s.offset_tens >> 8 & 3) << 6,
                         0x00,
                         (s.exponent & 15) << 4 | (s.offset_tens ? 1 : 0),
                         0x00,
                         0x00,
                         0x00,
                         0x00,
                         0xff,
                         0x00,
                         0xff,
                         high_byte,
                         0xff,
                         0x00,
                         low_byte,
                         0x00,
                         0x01,
                         0x01,
                         0x00,
                         0x00,
                         0x00,
                         static_cast<int>(0xc0 | name.size())};
    for (char c : name) out.push_back(c);
    out[4] = static_cast<int>(out.size()) - 5;
    return out;
  }

  void start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw UserError("no pipe to ipmi_sim can be made");
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[0], 0);
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, 1);
      dup2(nowhere, 2);
      const std::string configuration = folder_ + "/lan.conf", commands = folder_ + "/commands",
                        state = folder_ + "/state";
      execlp("ipmi_sim", "ipmi_sim", "-c", configuration.c_str(), "-f", commands.c_str(), "-s", state.c_str(),
             nullptr);
      _exit(127);
    }
    close(ends[0]);
    commands_ = ends[1];
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    int status = 0;
    if (child_ < 0 || waitpid(child_, &status, WNOHANG) != 0) {
      child_ = -1;
      throw UserError(WIFEXITED(status) && WEXITSTATUS(status) == 127
                          ? std::string("ipmi_sim is not installed; it is in Debian's package openipmi")
                          : fmt::format("ipmi_sim did not start; is port {} taken?", port_));
    }
  }

  unsigned port_;
  std::string folder_;
  pid_t child_ = -1;
  int commands_ = -1;
};

}  // namespace

power::operate::OperationResult serve_ipmi(power::operate::Operation& operation, Time duration, unsigned port,
                                           double pace) {
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  operation.advance(Time{1});  // sensors are known once they have been read
  Front front(operation.controller().sensors(), port);
  fmt::print(
      stderr,
      "weft: IPMI at 127.0.0.1:{0}: ipmitool -I lanplus -C 3 -H 127.0.0.1 -p {0} -U admin -P weft sensor\n",
      port);
  const auto since = std::chrono::steady_clock::now();
  std::size_t logged = 0;
  while (!stopped && operation.now() < duration) {
    if (!front.alive()) throw UserError("ipmi_sim ended before the machine's time was over");
    const double real = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    const double until = std::min(real * pace, static_cast<double>(duration.value) * 1e-12);
    operation.advance(Time{static_cast<std::int64_t>(until * 1e6) * 1'000'000});
    if (int order = front.order(); order >= 0) {
      if (order != 1) operation.power(false);
      if (order != 0) operation.power(true);
    }
    front.show(operation.controller().sensors(), operation.plant().working_supplies > 0);
    for (; logged < operation.log().size(); ++logged) front.log(operation.log()[logged], std::time(nullptr));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return operation.result();
}

}  // namespace weft::app
