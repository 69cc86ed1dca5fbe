#include "guest/starter.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"
#include "base/random.hpp"
#include "guest/netboot.hpp"

namespace weft::guest {

namespace {

constexpr const char* kAgentLine = "/dev/tty1";
constexpr unsigned kPciDevice = 1234;  // as tools/linux/config calls PCI over virtio

/// What somebody before a terminal wants to talk to.
std::vector<std::string> shell_command() {
  if (access("/bin/bash", X_OK) == 0) return {"/bin/bash", "--norc", "-i"};
  return {"/bin/sh", "-i"};
}

}  // namespace

RunFolder::RunFolder() {
  const char* wanted = std::getenv("TMPDIR");
  std::string path = std::string(wanted && *wanted ? wanted : "/tmp") + "/weft-boot-XXXXXX";
  if (!mkdtemp(path.data()))
    throw UserError(fmt::format("{}: no folder can be made there: {}", path, std::strerror(errno)));
  path_ = path;
}

void RunFolder::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(std::exchange(path_, ""), ignored);
}

Starter::Starter(const BootOptions& options, std::size_t nodes, const Terminal* terminal)
    : options_(options), nodes_(nodes), terminal_(terminal) {
  if (options_.netboot) prepare_netboot();
}

/// What the node's first process is told; guest/init reads it.
std::string Starter::start_file(std::size_t number) const {
  std::string hosts = "127.0.0.1 localhost\n";
  for (std::size_t i = 0; i < nodes_; ++i) {
    const std::string accelerator = options_.accelerator(i);
    hosts += fmt::format("{} {}{}{}\n", node_address(i), node_name(i), accelerator.empty() ? "" : " ",
                         accelerator);
  }
  std::string out;
  auto add = [&](std::string_view word) {
    out += word;
    out += '\0';
  };
  add(node_name(number));
  add(node_address(number));
  add("255.0.0.0");
  std::error_code failed;
  add(std::filesystem::current_path(failed).string());
  add(hosts);
  add(options_.pool.empty() ? "" : kAgentLine);
  const bool shell = options_.shell == number;
  add(shell ? fmt::format("{} {}", terminal_->rows(), terminal_->columns()) : "");
  add(options_.files.mount);
  const std::vector<std::string> command = shell                             ? shell_command()
                                           : options_.netboot && number == 0 ? server_command_
                                                                             : options_.command;
  add(std::to_string(command.size()));
  for (const std::string& word : command) add(word);
  if (shell) add(fmt::format("PS1={}# ", node_name(number)));
  add(fmt::format("NODE={}", number));
  add(fmt::format("NODES={}", nodes_));
  add(fmt::format("ACCELERATOR={}", options_.accelerator(number)));
  // OpenSSL would ask the processor for random numbers, which no seed reaches.
  add("OPENSSL_ia32cap=~0x4000000000000000:~0x40000");
  for (char** variable = environ; *variable; ++variable) {
    std::string_view text = *variable;
    bool ours = text.starts_with("NODE=") || text.starts_with("NODES=") || text.starts_with("ACCELERATOR=") ||
                text.starts_with("OPENSSL_ia32cap=");
    if (!ours) add(text);
  }
  return out;
}

void Starter::start(GuestNode& node, std::size_t number) {
  const std::string base = folder_.path() + "/" + node.name;
  node.time_door = listen_at(base + ".time");
  node.device_door = listen_at(base + ".eth0");
  write_file(base + ".start", start_file(number));
  KernelLaunch launch;
  launch.kernel = options_.kernel;
  launch.seed = random_bits(options_.seed ^ 0x6c696e7578, number, 0);
  // The command line goes into the kernel's randomness: nothing in it may differ from run to run, so names
  // are those in the folder that the kernel starts in. The first process finds it by the host's own /proc,
  // which it sees before it has one.
  launch.folder = folder_.path();
  launch.arguments = {fmt::format("mem={}", options_.memory.value),
                      fmt::format("time-travel=ext:{}:{}.time", number + 1, node.name),
                      fmt::format("virtio_uml.device={}.eth0:1", node.name),
                      "root=/dev/root",
                      "rootfstype=hostfs",
                      "rootflags=/",
                      "ro",
                      "init=" + options_.init,
                      "uml_dir=./",
                      "umid=" + node.name,
                      "con=null",
                      options_.shell == number ? "con0=fd:0,fd:1" : "con0=null,fd:1",
                      "random.trust_cpu=on",
                      "quiet",
                      "--",
                      fmt::format("/proc/self/cwd/{}.start", node.name)};
  if (options_.netboot && number > 0) {  // with nothing of the host's but its kernel and first stage
    std::erase_if(launch.arguments, [](const std::string& word) {
      return word.starts_with("root") || word.starts_with("init=") || word == "ro";
    });
    launch.arguments.insert(launch.arguments.begin(), "initrd=first.cpio");
  }
  for (std::size_t i = 0; node.pci && i < node.pci->slots().size(); ++i) {
    const std::string door = fmt::format("{}.pci{}", node.name, i);
    node.pci_doors.push_back(listen_at(folder_.path() + "/" + door));
    launch.arguments.insert(launch.arguments.begin() + 3 + static_cast<std::ptrdiff_t>(i),
                            fmt::format("virtio_uml.device={}:{}", door, kPciDevice));
  }
  if (node.files) {
    node.files_door = listen_at(base + ".files");
    launch.arguments.insert(launch.arguments.begin() + 3,
                            fmt::format("virtio_uml.device={}.files:{}", node.name, FileShare::kVirtioKind));
  }
  if (node.pci) {  // before its console, as all that says what it is made of
    launch.arguments.insert(launch.arguments.begin(), fmt::format("con1=fd:{}", KernelProcess::kLine));
    launch.has_line = true;
  }
  launch.has_input = options_.shell == number;
  node.running_since = std::chrono::steady_clock::now();
  node.process.start(launch);
}

void Starter::prepare_netboot() {
  const NetbootOptions netboot{find_busybox(), options_.init, options_.image, options_.command};
  const std::string& folder = folder_.path();
  std::filesystem::create_directory(folder + "/www");
  write_file(folder + "/first.cpio", first_stage(netboot));
  write_file(folder + "/www/root.cpio", root_image(netboot));
  std::vector<NetbootClient> clients;
  for (std::size_t i = 1; i < nodes_; ++i) {
    const MacAddress mac = mac_of(static_cast<std::uint32_t>(i));
    clients.push_back({fmt::format("{:02x}", fmt::join(mac, ":")), node_address(i)});
    write_file(fmt::format("{}/www/{}.start", folder, node_name(i)), start_file(i));
  }
  write_file(folder + "/dhcp.conf", dhcp_configuration(node_address(0), clients));
  write_file(folder + "/serve.sh", server_script(netboot, folder));
  server_command_ = {"/bin/sh", folder + "/serve.sh"};
}

}  // namespace weft::guest
