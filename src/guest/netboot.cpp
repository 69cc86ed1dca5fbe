#include "guest/netboot.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/diagnostics.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "guest/archive.hpp"

namespace weft::guest {

namespace {

// Exit codes of nodes that do not get as far as their job are 125, as where the first process fails.
constexpr const char* kFirstStage = R"(#!/bin/busybox sh
b=/bin/busybox
give_up() {
  echo "netboot: $1"
  echo 125 >/proc/exitcode
  $b poweroff -f
}
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
$b udhcpc -q -n -f -t 8 -T 2 -A 2 -i eth0 -s /lease >/run/dhcp.log 2>&1
[ -e /run/lease ] || give_up "no answer to DHCP"
. /run/lease
echo "netboot: $address by DHCP, root from $server"
$b mount -t tmpfs -o mode=755 root /new && cd /new || give_up "no memory for a root"
$b wget -q -O - "http://$server/$file" | $b cpio -idm 2>/run/cpio.log || give_up "no root from $server"
$b wget -q -O /new/.start "http://$server/$name.start" || give_up "no job from $server"
$b cp /weft-init /new/.weft-init
$b umount /sys
$b umount /proc
$b umount -l /dev
exec $b switch_root /new /.weft-init /.start own-root
)";

// What udhcpc calls. Nodes are numbered by their addresses.
constexpr const char* kLease = R"(#!/bin/busybox sh
b=/bin/busybox
case $1 in
deconfig) $b ifconfig eth0 0.0.0.0 up ;;
bound | renew)
  $b ifconfig eth0 "$ip" netmask "$subnet"
  IFS=.
  set -- $ip
  printf 'address=%s server=%s file=%s name=node%d\n' "$ip" "$siaddr" "$boot_file" \
    $((($2 << 16 | $3 << 8 | $4) - 1)) >/run/lease
  ;;
esac
)";

std::string whole(const std::string& path) { return read_file(path, kMostListBytes); }

bool is_static(const std::string& program) {
  Elf64_Ehdr header;
  if (program.size() < sizeof header) return false;
  std::memcpy(&header, program.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::size_t at = header.e_phoff + std::size_t{i} * sizeof segment;
    if (at + sizeof segment > program.size()) return false;
    std::memcpy(&segment, program.data() + at, sizeof segment);
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

std::vector<std::string> applets(const std::string& busybox) {
  std::vector<std::string> out;
  FILE* pipe = popen(fmt::format("'{}' --list", busybox).c_str(), "r");
  char room[256];
  while (pipe && std::fgets(room, sizeof room, pipe)) {
    std::string name = room;
    while (!name.empty() && name.back() == '\n') name.pop_back();
    if (!name.empty() && name != "busybox") out.push_back(name);
  }
  if (pipe) pclose(pipe);
  return out;
}

}  // namespace

std::string find_busybox() {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':')) {
    const std::string file = folder + "/busybox";
    if (access(file.c_str(), X_OK) == 0 && is_static(whole(file))) return file;
  }
  throw UserError("--netboot: nodes start with busybox, linked statically; Debian has it as busybox-static");
}

std::string first_stage(const NetbootOptions& options) {
  Archive out;
  for (const char* folder : {"bin", "dev", "proc", "sys", "run", "new"}) out.folder(folder);
  out.device("dev/console", 5, 1);
  out.file("bin/busybox", whole(options.busybox), 0755);
  out.file("weft-init", whole(options.init), 0755);
  out.file("lease", kLease, 0755);
  out.file("init", kFirstStage, 0755);
  return out.finish();
}

std::string root_image(const NetbootOptions& options) {
  if (!options.image.empty()) return whole(options.image);
  Archive out;
  for (const char* folder :
       {"bin", "dev", "proc", "sys", "run", "etc", "root", "tmp", "var", "usr", "usr/bin"})
    out.folder(folder);
  out.file("bin/busybox", whole(options.busybox), 0755);
  for (const std::string& name : applets(options.busybox)) out.link("bin/" + name, "busybox");
  out.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
  out.file("etc/group", "root:x:0:\n");
  const std::string& program = options.command.front();
  if (program.starts_with('/')) {
    const std::string path = program.substr(1);
    out.folders_above(path);
    out.file(path, whole(program), 0755);
  }
  return out.finish();
}

std::string server_script(const NetbootOptions& options, const std::string& folder) {
  return fmt::format(
      "#!/bin/sh\n'{0}' httpd -p 80 -h '{1}/www'\nexec '{0}' udhcpd -f '{1}/dhcp.conf' 2>/run/udhcpd.log\n",
      options.busybox, folder);
}

std::string dhcp_configuration(const std::string& server, const std::vector<NetbootClient>& clients) {
  std::string out = fmt::format(
      "start 10.255.0.1\nend 10.255.255.254\ninterface eth0\nlease_file /run/udhcpd.leases\npidfile "
      "/run/udhcpd.pid\nopt subnet 255.0.0.0\nopt lease 864000\nsiaddr {}\nboot_file root.cpio\n",
      server);
  for (const NetbootClient& client : clients)
    out += fmt::format("static_lease {} {}\n", client.mac, client.address);
  return out;
}

}  // namespace weft::guest
