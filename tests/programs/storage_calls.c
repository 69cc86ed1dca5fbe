// Calls for files, one after the other, below the folder named: what a program may expect of any file system.
// Prints what failed, and how many were tried.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int tried, failed;
static void check(int fine, const char* what, int line) {
  ++tried;
  if (fine) return;
  ++failed;
  printf("line %d: %s (errno %d, %s)\n", line, what, errno, strerror(errno));
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
#define FAILS(x, error) check((errno = 0, (x) < 0) && errno == (error), #x " fails with " #error, __LINE__)

static const char* at(const char* name) {
  static char paths[8][256];
  static int turn;
  char* p = paths[turn++ % 8];
  snprintf(p, 256, "%s%s%s", getenv("FOLDER"), *name ? "/" : "", name);
  return p;
}

static void data(void) {
  char b[64] = {0};
  int f = open(at("data"), O_CREAT | O_RDWR | O_EXCL, 0640);
  CHECK(f >= 0);
  FAILS(open(at("data"), O_CREAT | O_RDWR | O_EXCL, 0640), EEXIST);
  CHECK(write(f, "hello world", 11) == 11 && lseek(f, 0, SEEK_CUR) == 11);
  CHECK(pwrite(f, "HE", 2, 0) == 2 && lseek(f, 0, SEEK_CUR) == 11);
  CHECK(pread(f, b, 20, 0) == 11 && memcmp(b, "HEllo world", 11) == 0);
  CHECK(lseek(f, 6, SEEK_SET) == 6 && read(f, b, 3) == 3 && memcmp(b, "wor", 3) == 0);
  CHECK(read(f, b, 30) == 2 && read(f, b, 30) == 0);
  struct iovec out[2] = {{"abc", 3}, {"defg", 4}}, in[2] = {{b, 2}, {b + 10, 5}};
  CHECK(writev(f, out, 2) == 7 && lseek(f, 0, SEEK_END) == 18);
  CHECK(preadv(f, in, 2, 11) == 7 && memcmp(b, "ab", 2) == 0 && memcmp(b + 10, "cdefg", 5) == 0);
  CHECK(pwritev(f, out, 2, 100) == 7 && lseek(f, 0, SEEK_END) == 107);
  memset(b, 1, sizeof b);
  CHECK(pread(f, b, 10, 50) == 10 && b[0] == 0 && b[9] == 0);
  CHECK(ftruncate(f, 5) == 0 && lseek(f, 0, SEEK_END) == 5 && fsync(f) == 0 && fdatasync(f) == 0);
  struct stat s;
  CHECK(fstat(f, &s) == 0 && s.st_size == 5 && S_ISREG(s.st_mode) && (s.st_mode & 0777) == 0640);
  CHECK(posix_fallocate(f, 0, 4096) == 0 && fstat(f, &s) == 0 && s.st_size == 4096);
  int g = dup(f), h = dup2(f, 100), i = fcntl(f, F_DUPFD_CLOEXEC, 200);
  CHECK(g > f && h == 100 && i == 200 && lseek(g, 7, SEEK_SET) == 7 && lseek(f, 0, SEEK_CUR) == 7);
  CHECK(close(f) == 0 && close(g) == 0 && close(i) == 0 && write(h, "x", 1) == 1 && close(h) == 0);
  FAILS(write(h, "x", 1), EBADF);
  f = open(at("data"), O_RDONLY);
  CHECK(f >= 0);
  FAILS(write(f, "x", 1), EBADF);
  CHECK(close(f) == 0);
  f = open(at("data"), O_WRONLY | O_APPEND);
  CHECK(write(f, "end", 3) == 3 && lseek(f, 0, SEEK_CUR) == 4099 && close(f) == 0);
  CHECK(truncate(at("data"), 3) == 0 && stat(at("data"), &s) == 0 && s.st_size == 3);
  f = open(at("data"), O_RDWR | O_TRUNC);
  CHECK(f >= 0 && fstat(f, &s) == 0 && s.st_size == 0 && close(f) == 0);
  CHECK((f = creat(at("read-only"), 0444)) >= 0 && write(f, "1", 1) == 1 && close(f) == 0);
  CHECK(stat(at("read-only"), &s) == 0 && (s.st_mode & 0777) == 0444);
}

static void names(void) {
  struct stat s, t;
  char b[256] = {0};
  CHECK(mkdir(at("folder"), 0755) == 0);
  FAILS(mkdir(at("folder"), 0755), EEXIST);
  FAILS(open(at("none"), O_RDONLY), ENOENT);
  FAILS(open(at("folder"), O_WRONLY), EISDIR);
  FAILS(open(at("data/x"), O_RDONLY), ENOTDIR);
  int f = open(at("folder/one"), O_CREAT | O_WRONLY, 0600);
  CHECK(f >= 0 && write(f, "one", 3) == 3);
  CHECK(rename(at("folder/one"), at("folder/two")) == 0 && access(at("folder/one"), F_OK) != 0);
  CHECK(write(f, "!", 1) == 1 && stat(at("folder/two"), &s) == 0 && s.st_size == 4);
  CHECK(link(at("folder/two"), at("folder/three")) == 0 && stat(at("folder/three"), &t) == 0 &&
        t.st_ino == s.st_ino && t.st_nlink == 2);
  CHECK(symlink("two", at("folder/four")) == 0 && lstat(at("folder/four"), &t) == 0 && S_ISLNK(t.st_mode));
  CHECK(stat(at("folder/four"), &t) == 0 && t.st_ino == s.st_ino);
  CHECK(readlink(at("folder/four"), b, sizeof b) == 3 && memcmp(b, "two", 3) == 0);
  CHECK(unlink(at("folder/two")) == 0 && unlink(at("folder/three")) == 0 && fstat(f, &s) == 0 && s.st_nlink == 0);
  CHECK(pwrite(f, "gone", 4, 0) == 4 && close(f) == 0);
  FAILS(rmdir(at("folder")), ENOTEMPTY);
  FAILS(rename(at("folder/four"), "/tmp/four"), EXDEV);
  FAILS(unlink(at("folder")), EISDIR);
  CHECK(remove(at("folder/four")) == 0);
  for (int i = 0; i < 300; ++i) {
    snprintf(b, sizeof b, "folder/file-%03d", i);
    CHECK((f = openat(AT_FDCWD, at(b), O_CREAT | O_WRONLY, 0644)) >= 0 && close(f) == 0);
  }
  DIR* d = opendir(at("folder"));
  int count = 0, wrong = 0;
  for (struct dirent* e; d && (e = readdir(d)); ++count) {
    if (count < 2) continue;
    snprintf(b, sizeof b, "file-%03d", count - 2);
    wrong += strcmp(b, e->d_name) != 0;
  }
  CHECK(d && count == 302 && wrong == 0);
  rewinddir(d);
  CHECK(strcmp(readdir(d)->d_name, ".") == 0 && dirfd(d) >= 0);
  CHECK(openat(dirfd(d), "file-007", O_RDONLY) >= 0);
  CHECK(fstatat(dirfd(d), "file-008", &s, 0) == 0 && unlinkat(dirfd(d), "file-008", 0) == 0);
  FAILS(fstatat(dirfd(d), "file-008", &s, 0), ENOENT);
  CHECK(closedir(d) == 0);
  struct timespec times[2] = {{1000000, 5}, {2000000, 7}};
  CHECK(utimensat(AT_FDCWD, at("folder/file-001"), times, 0) == 0 && stat(at("folder/file-001"), &s) == 0 &&
        s.st_mtim.tv_sec == 2000000 && s.st_mtim.tv_nsec == 7);
  CHECK(chmod(at("folder/file-001"), 0400) == 0 && stat(at("folder/file-001"), &s) == 0 &&
        (s.st_mode & 0777) == 0400);
  struct statvfs v;
  CHECK(statvfs(at(""), &v) == 0 && v.f_blocks > 0 && v.f_bavail <= v.f_blocks);
}

static void folders(void) {
  char b[256];
  struct stat s;
  CHECK(chdir(at("folder")) == 0 && getcwd(b, sizeof b) && strcmp(b, at("folder")) == 0);
  CHECK(stat("file-003", &s) == 0 && stat("../data", &s) == 0 && stat(".", &s) == 0 && S_ISDIR(s.st_mode));
  int f = open("here", O_CREAT | O_RDWR, 0600);
  CHECK(f >= 0 && write(f, "here", 4) == 4 && close(f) == 0 && stat(at("folder/here"), &s) == 0 && s.st_size == 4);
  CHECK(chdir("/") == 0 && getcwd(b, sizeof b) && strcmp(b, "/") == 0 && stat("folder/here", &s) != 0);
  char name[256];
  snprintf(name, sizeof name, "%s", at("temp-XXXXXX"));
  CHECK((f = mkstemp(name)) >= 0 && stat(name, &s) == 0 && close(f) == 0 && unlink(name) == 0);
  CHECK(realpath(at("folder/../data"), b) && strcmp(b, at("data")) == 0);
}

static void streams(void) {
  char b[64];
  FILE* s = fopen(at("stream"), "w+");
  CHECK(s && fprintf(s, "%d lines\n%s\n", 2, "second") > 0 && fileno(s) >= 0);
  rewind(s);
  CHECK(fgets(b, sizeof b, s) && strcmp(b, "2 lines\n") == 0 && ftell(s) == 8);
  CHECK(fseek(s, 0, SEEK_END) == 0 && ftell(s) == 15 && fclose(s) == 0);
  CHECK((s = fopen(at("stream"), "a")) && fputs("third\n", s) >= 0 && fflush(s) == 0 && fsync(fileno(s)) == 0 &&
        fclose(s) == 0);
  CHECK((s = fopen(at("stream"), "r")) && fread(b, 1, sizeof b, s) == 21 && memcmp(b + 15, "third", 5) == 0 &&
        feof(s) && fclose(s) == 0);
  CHECK(fopen(at("none"), "r") == NULL && errno == ENOENT);
}

static void maps(void) {
  int f = open(at("map"), O_CREAT | O_RDWR, 0600);
  char b[8192];
  memset(b, 'm', sizeof b);
  CHECK(write(f, b, sizeof b) == sizeof b);
  char* shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
  char* own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, f, 4096);
  CHECK(shared != MAP_FAILED && own != MAP_FAILED && shared[5000] == 'm' && own[5] == 'm');
  shared[10] = 'X';
  own[10] = 'Y';
  CHECK(msync(shared, 8192, MS_SYNC) == 0 && pread(f, b, 8192, 0) == 8192 && b[10] == 'X' && b[4106] == 'm');
  CHECK(pwrite(f, "Z", 1, 20) == 1 && shared[20] == 'Z');
  CHECK(munmap(shared, 8192) == 0 && munmap(own, 4096) == 0 && close(f) == 0);
}

static void children(void) {
  int f = open(at("child"), O_CREAT | O_RDWR, 0600), status = -1;
  CHECK(write(f, "parent ", 7) == 7);
  pid_t child = fork();
  if (child == 0) {
    int own = open(at("made-by-child"), O_CREAT | O_WRONLY, 0600);
    _exit(write(f, "child ", 6) == 6 && own >= 0 && write(own, "1", 1) == 1 && close(own) == 0 ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  char b[64] = {0}, command[256];
  CHECK(pread(f, b, 60, 0) == 13 && strcmp(b, "parent child ") == 0);
  struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
  CHECK(fcntl(f, F_SETLK, &l) == 0);
  child = fork();
  if (child == 0) {
    struct flock other = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1};
    _exit(fcntl(f, F_SETLK, &other) == -1 && (errno == EAGAIN || errno == EACCES) ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(close(f) == 0);
  snprintf(command, sizeof command, "cd %s && echo text > by-shell && cat by-shell >> child && wc -c < child",
           at(""));
  FILE* out = popen(command, "r");
  int bytes = 0;
  CHECK(out && fscanf(out, "%d", &bytes) == 1 && bytes == 18 && pclose(out) == 0);
}

int main(int count, char** words) {
  setenv("FOLDER", count > 1 ? words[1] : "/weft", 1);
  data();
  names();
  folders();
  streams();
  maps();
  children();
  printf("%d tried, %d failed\n", tried, failed);
  return failed != 0;
}
