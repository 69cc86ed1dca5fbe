/* What a Linux node starts first. A static program that needs nothing of the node's files: lays a file system
 * in memory over the host's, which cannot be written; sets the node's name, addresses and hosts; runs the
 * job; hands its exit code to whoever started the kernel, and turns the node off.
 *
 *   init FILE [own-root]
 *
 * The file has strings, each ended by a zero byte: name, address, mask, working folder, text of /etc/hosts,
 * the line over which accelerators come and go ("" where there are none), rows and columns of the terminal
 * that its console is ("" where it is none), where the machine's file system is mounted ("" nowhere), number of
 * words of the job, its words, and its environment.
 * own-root: the files are the node's own already, as after a boot over the network.
 *
 * Called weft-accelerators, it asks for accelerators from within a node:
 *
 *   weft-accelerators list | assign NAME | release NAME
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { kMostStart = 4 << 20, kMostWords = 65536, kMostAsking = 16, kLongestLine = 1024 };

static const char kAskName[] = "weft-accelerators";

static void turn_off(int code) {
  char text[16];
  int file = open("/proc/exitcode", O_WRONLY);
  int length = snprintf(text, sizeof text, "%d", code);
  if (file < 0 || write(file, text, (size_t)length) != length)
    fprintf(stderr, "weft-init: the exit code is lost\n");
  sync();
  tcdrain(1);
  reboot(RB_POWER_OFF);
  for (;;) pause();
}

static void fail(const char* what, const char* which) {
  fprintf(stderr, "weft-init: %s%s%s: %s\n", what, which ? " " : "", which ? which : "", strerror(errno));
  turn_off(125);
}

static char* read_start(const char* path, char** end) {
  char* text = malloc(kMostStart + 1);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  size_t size = 0;
  ssize_t got;
  if (!text || file < 0) fail("cannot read", path);
  while (size < kMostStart && (got = read(file, text + size, kMostStart - size)) > 0) size += (size_t)got;
  close(file);
  text[size] = 0;
  *end = text + size;
  return text;
}

static char* next(char** at, char* end) {
  char* word = *at;
  if (word >= end) {
    errno = EINVAL;
    fail("what to start is cut short", NULL);
  }
  *at = word + strlen(word) + 1;
  return word;
}

static void mount_at(const char* kind, const char* place, unsigned long flags, const char* options) {
  if (mount(kind, place, kind, flags, options) != 0) fail("cannot mount", place);
}

/* A writable root: memory over the host's files. */
static void make_root(void) {
  static const char* const places[] = {"/mnt", "/tmp", "/srv", "/opt"};
  const char* place = NULL;
  for (unsigned i = 0; i < sizeof places / sizeof *places && !place; ++i)
    if (mount("tmpfs", places[i], "tmpfs", 0, "mode=755") == 0) place = places[i];
  if (!place) fail("no folder to mount memory on", NULL);
  if (chdir(place) != 0 || mkdir("changed", 0755) != 0 || mkdir("work", 0755) != 0 ||
      mkdir("root", 0755) != 0)
    fail("cannot prepare", place);
  if (mount("overlay", "root", "overlay", 0, "lowerdir=/,upperdir=changed,workdir=work") != 0)
    fail("cannot lay memory over", "the host's files");
  if (chdir("root") != 0) fail("cannot enter", "the new root");
  mkdir("run", 0755); /* they may be missing on the host */
  mkdir("dev", 0755);
  mkdir("proc", 0755);
  mkdir("sys", 0755);
  /* The old root stays where nothing of ours lies: below the new one's proc, which is mounted over it. */
  if (syscall(SYS_pivot_root, ".", "proc") != 0) fail("cannot change", "the root");
  if (chdir("/") != 0 || umount2("/proc", MNT_DETACH) != 0) fail("cannot leave", "the old root");
}

static void mount_all(void) {
  mount_at("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  mount_at("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  mount_at("devtmpfs", "/dev", MS_NOSUID, "mode=755");
  mkdir("/dev/pts", 0755);
  mkdir("/dev/shm", 01777);
  mount_at("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "gid=5,mode=620,ptmxmode=666");
  mount_at("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
  mount_at("tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=755");
  if (symlink("/proc/self/fd", "/dev/fd") || symlink("/proc/self/fd/0", "/dev/stdin") ||
      symlink("/proc/self/fd/1", "/dev/stdout") || symlink("/proc/self/fd/2", "/dev/stderr"))
    fail("cannot make", "/dev/fd");
}

static void set_address(int socket, const char* interface, unsigned long what, const char* text) {
  struct ifreq request = {0};
  struct sockaddr_in address = {.sin_family = AF_INET};
  strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  if (inet_pton(AF_INET, text, &address.sin_addr) != 1) fail("no address:", text);
  memcpy(&request.ifr_addr, &address, sizeof address);
  if (ioctl(socket, what, &request) != 0) fail("cannot set an address of", interface);
}

static void turn_on(int socket, const char* interface) {
  struct ifreq request = {0};
  strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  if (ioctl(socket, SIOCGIFFLAGS, &request) != 0) fail("there is no", interface);
  request.ifr_flags |= IFF_UP | IFF_RUNNING;
  if (ioctl(socket, SIOCSIFFLAGS, &request) != 0) fail("cannot turn on", interface);
}

static void set_network(const char* name, const char* address, const char* mask, const char* hosts) {
  int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), file;
  if (control < 0) fail("no network", NULL);
  if (sethostname(name, strlen(name)) != 0) fail("cannot set the name", name);
  set_address(control, "lo", SIOCSIFADDR, "127.0.0.1");
  turn_on(control, "lo");
  set_address(control, "eth0", SIOCSIFADDR, address);
  set_address(control, "eth0", SIOCSIFNETMASK, mask);
  turn_on(control, "eth0");
  close(control);
  unlink("/etc/hosts"); /* the host's stays as it is, below */
  file = open("/etc/hosts", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, hosts, strlen(hosts)) != (ssize_t)strlen(hosts))
    fail("cannot write", "/etc/hosts");
  close(file);
  file = open("/etc/hostname", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    dprintf(file, "%s\n", name);
    close(file);
  }
}

/* The kernel opens the console by its name among the host's files, which only the host's root may. Where it
 * could not, its own device has it. */
static void find_console(void) {
  int console;
  if (fcntl(1, F_GETFD) >= 0) return;
  if (mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=755") != 0) return;
  console = open("/dev/console", O_RDWR);
  if (console < 0) return;
  for (int file = 0; file < 3; ++file)
    if (file != console) dup2(console, file);
  if (console > 2) close(console);
}

/* Lines as programs write them: no carriage returns. */
static void plain_console(void) {
  struct termios settings;
  if (tcgetattr(1, &settings) != 0) return;
  settings.c_oflag &= ~(tcflag_t)OPOST;
  tcsetattr(1, TCSANOW, &settings);
}

/* The machine's file system, which a device of the node carries. Its data is not kept in the node's memory, but
 * for what programs map; messages have 128 KiB of data and their heads. */
static void mount_files(char* place) {
  for (char* slash = strchr(place + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(place, 0755);
    *slash = '/';
  }
  mkdir(place, 0755);
  if (mount("weft", place, "9p", MS_NOSUID | MS_NODEV,
            "trans=virtio,version=9p2000.L,cache=mmap,access=any,msize=131096") != 0)
    fail("cannot mount the machine's file system on", place);
}

/* The device is let go of: a kernel that turns itself off waits for it. */
static void leave_files(const char* place) {
  while (wait(NULL) > 0 || errno == EINTR) {
  }
  if (umount2(place, 0) != 0 && umount2(place, MNT_DETACH) != 0)
    fprintf(stderr, "weft-init: cannot unmount %s: %s\n", place, strerror(errno));
}

/* The job is somebody's shell: the console is its terminal. */
static void take_terminal(const char* size) {
  struct winsize window = {0};
  struct termios settings;
  unsigned rows, columns;
  int console = open("/dev/tty0", O_RDWR);
  if (console < 0) fail("no terminal on", "/dev/tty0");
  ioctl(console, TIOCSCTTY, 0);
  if (sscanf(size, "%u %u", &rows, &columns) == 2) {
    window.ws_row = (unsigned short)rows;
    window.ws_col = (unsigned short)columns;
    ioctl(console, TIOCSWINSZ, &window);
  }
  if (tcgetattr(console, &settings) == 0) {
    settings.c_oflag |= OPOST | ONLCR;
    tcsetattr(console, TCSANOW, &settings);
  }
  for (int file = 0; file < 3; ++file) dup2(console, file);
  if (console > 2) close(console);
}

static int write_text(const char* path, const char* text) {
  int file = open(path, O_WRONLY | O_CLOEXEC), well;
  if (file < 0) return 0;
  well = write(file, text, strlen(text)) == (ssize_t)strlen(text);
  close(file);
  return well;
}

/* "remove 3 4": the devices in these slots; one that is gone already is no mistake. */
static int remove_devices(char* slots) {
  char path[64], *end;
  int well = 1;
  for (;;) {
    long slot = strtol(slots, &end, 10);
    if (end == slots) return well;
    slots = end;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:00:%02lx.0/remove", slot & 31);
    if (!write_text(path, "1") && errno != ENOENT) well = 0;
  }
}

/* --- Accelerators. */

/* Where programs of the node ask: a name without a file. */
static struct sockaddr_un ask_address(socklen_t* size) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path + 1, kAskName, sizeof kAskName - 1);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof kAskName);
  return address;
}

/* What a program asks, and what it is told: "+" or "-", and a text. */
static int ask(int count, char** words) {
  char line[kLongestLine] = "", answer[4096];
  socklen_t size;
  struct sockaddr_un address = ask_address(&size);
  size_t length = 0;
  ssize_t got;
  int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), well = -1;
  if (count < 2) {
    fprintf(stderr, "usage: %s list | assign NAME | release NAME\n", kAskName);
    return 2;
  }
  for (int i = 1; i < count; ++i) {
    int more = snprintf(line + length, sizeof line - length, "%s%s", i > 1 ? " " : "", words[i]);
    if (more < 0 || (length += (size_t)more) >= sizeof line - 2) {
      fprintf(stderr, "%s: that is too long\n", kAskName);
      return 2;
    }
  }
  for (size_t i = 0; i < length; ++i)
    if (line[i] == '\n') line[i] = ' ';
  line[length++] = '\n';
  if (file < 0 || connect(file, (struct sockaddr*)&address, size) != 0 ||
      write(file, line, length) != (ssize_t)length) {
    fprintf(stderr, "%s: nobody answers here: %s\n", kAskName, strerror(errno));
    return 1;
  }
  while ((got = read(file, answer, sizeof answer)) > 0) {
    const char* text = answer;
    if (well < 0) {
      well = answer[0] == '+';
      ++text;
      --got;
    }
    if (write(well ? 1 : 2, text, (size_t)got) != got) return 1;
  }
  return well == 1 ? 0 : 1;
}

/* Those who have asked and wait: an open file, or -1. Their places are the numbers of their questions. */
static int asking[kMostAsking];

/* A program asks. The simulation answers later, by the number. */
static void take_question(int door, int line) {
  char text[kLongestLine];
  size_t length = 0;
  int place = 0, client = accept4(door, NULL, NULL, SOCK_CLOEXEC);
  const struct timeval patience = {1, 0}; /* with one that does not say all of it, or does not listen */
  if (client < 0) return;
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  while (place < kMostAsking && asking[place] >= 0) ++place;
  while (length < sizeof text - 1) {
    ssize_t got = read(client, text + length, sizeof text - 1 - length);
    if (got <= 0) break;
    length += (size_t)got;
    if (memchr(text, '\n', length)) break;
  }
  text[length] = 0;
  text[strcspn(text, "\n")] = 0;
  if (place == kMostAsking) {
    dprintf(client, "-%d others ask already\n", kMostAsking);
    close(client);
    return;
  }
  asking[place] = client;
  dprintf(line, "ask %d %s\n", place, text);
}

/* "answer 3 + TEXT": to whoever has asked; "\t" stands for the end of a line. */
static void pass_answer(char* text) {
  char* at;
  long place = strtol(text, &at, 10);
  if (place < 0 || place >= kMostAsking || asking[place] < 0 || *at != ' ') return;
  at[strcspn(at, "\n")] = 0;
  for (char* c = ++at; *c; ++c)
    if (*c == '\t') *c = '\n';
  if (write(asking[place], at, strlen(at)) < 0) { /* it has not waited */
  }
  close(asking[place]);
  asking[place] = -1;
}

static void obey(char* command, int line) {
  int well = 0;
  if (strncmp(command, "answer ", 7) == 0) return pass_answer(command + 7);
  errno = EINVAL;
  if (strcmp(command, "rescan\n") == 0) well = write_text("/sys/bus/pci/rescan", "1");
  if (strncmp(command, "remove", 6) == 0) well = remove_devices(command + 6);
  dprintf(line, well ? "done\n" : "its kernel says: %s\n", strerror(errno));
}

/* The agent: devices of other nodes come onto this node's bus and go, and the kernel is told to look, or to
 * let go of one, here; and programs ask for them. */
static void serve_accelerators(const char* name, const char* own_file) {
  static char command[1 << 16];
  struct termios settings;
  socklen_t size;
  struct sockaddr_un address = ask_address(&size);
  FILE* commands;
  pid_t agent;
  int line, door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  /* Before the job starts, so that it is there for it. */
  if (door < 0 || bind(door, (struct sockaddr*)&address, size) != 0 || listen(door, kMostAsking) != 0)
    fail("nobody can ask for", "accelerators");
  mkdir("/usr", 0755); /* a root of the user's own may be without */
  mkdir("/usr/bin", 0755);
  if (symlink(own_file, "/usr/bin/weft-accelerators") != 0 && errno != EEXIST)
    fail("cannot make", "/usr/bin/weft-accelerators");
  agent = fork();
  if (agent != 0) {
    close(door);
    return;
  }
  setsid();
  signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < kMostAsking; ++i) asking[i] = -1;
  line = open(name, O_RDWR | O_NOCTTY);
  if (line < 0 || tcgetattr(line, &settings) != 0 || !(commands = fdopen(dup(line), "r"))) _exit(1);
  cfmakeraw(&settings);
  tcsetattr(line, TCSANOW, &settings);
  setvbuf(commands, NULL, _IONBF, 0); /* whatever is not read yet shows in poll */
  dprintf(line, "ready\n");
  for (;;) {
    struct pollfd files[] = {{line, POLLIN, 0}, {door, POLLIN, 0}};
    if (poll(files, 2, -1) < 0 && errno != EINTR) _exit(1);
    if (files[0].revents && !fgets(command, sizeof command, commands)) _exit(0);
    if (files[0].revents) obey(command, line);
    if (files[1].revents) take_question(door, line);
  }
}

static int run_job(char** words, char** environment, const char* folder, const char* terminal) {
  int status = 0;
  pid_t job = fork(), ended;
  if (job < 0) fail("no process for", words[0]);
  if (job == 0) {
    int nothing = open("/dev/null", O_RDONLY);
    setsid();
    dup2(nothing, 0);
    if (*terminal) take_terminal(terminal);
    if (chdir(folder) != 0 && chdir("/") != 0) _exit(126);
    environ = environment;
    execvp(words[0], words);
    fprintf(stderr, "weft-init: %s: %s\n", words[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
  }
  /* The first process is everybody's parent in the end. */
  while ((ended = wait(&status)) != job)
    if (ended < 0 && errno != EINTR) fail("lost", words[0]);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int count, char** arguments) {
  char *end, *at, **words, **environment;
  const char *name, *address, *mask, *folder, *hosts, *accelerators, *terminal;
  char* files;
  int job_words, code;
  const char* called = strrchr(arguments[0], '/');
  if (strcmp(called ? called + 1 : arguments[0], kAskName) == 0) return ask(count, arguments);
  if (count < 2) { /* the kernel adds words of its own about its console */
    fprintf(stderr, "weft-init: the first process of a Linux node; `weft boot` starts it\n");
    return 2;
  }
  find_console();
  plain_console();
  at = read_start(arguments[1], &end);
  name = next(&at, end);
  address = next(&at, end);
  mask = next(&at, end);
  folder = next(&at, end);
  hosts = next(&at, end);
  accelerators = next(&at, end);
  terminal = next(&at, end);
  files = next(&at, end);
  job_words = atoi(next(&at, end));
  words = calloc(kMostWords + 1, sizeof *words);
  environment = calloc(kMostWords + 1, sizeof *environment);
  if (!words || !environment || job_words < 1 || job_words > kMostWords) fail("no job", NULL);
  for (int i = 0; i < job_words; ++i) words[i] = next(&at, end);
  for (int i = 0; i < kMostWords && at < end; ++i) environment[i] = next(&at, end);
  if (count < 3 || strcmp(arguments[2], "own-root") != 0) make_root();
  mount_all();
  set_network(name, address, mask, hosts);
  if (*files) mount_files(files);
  if (*accelerators) serve_accelerators(accelerators, arguments[0]);
  code = run_job(words, environment, folder, terminal);
  kill(-1, SIGTERM);
  kill(-1, SIGKILL);
  if (*files) leave_files(files);
  turn_off(code);
}
