// Random calls for files, each made twice: below the folder named first, and below another one that the host's
// kernel alone has. Both must do the same: result, errno, data, size, kind, links, names. Beside that every
// rank appends records to one file that all share, and finds its own there in the end, whole and in order.
//
//   storage_random FOLDER HOST-FOLDER SEED STEPS [alone]
//
// "alone": without that file.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kOpen = 12, kMost = 100000, kRecord = 512 };
static unsigned long state;
static char place[2][200];
static int files[kOpen][2];
static char out[kMost], in[2][kMost];
static long step;
static unsigned long seed;

static unsigned random_below(unsigned n) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(state >> 33) % n;
}

static void differ(const char* what, long a, long b) {
  printf("seed %lu, step %ld: %s: %ld (errno %d) and %ld on the host\n", seed, step, what, a, errno, b);
  exit(1);
}

static const char* names[] = {"a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/b", "d", "d/e", "f"};
static const char* path(int side, unsigned name) {
  static char text[4][512];
  static unsigned turn;
  char* p = text[turn++ % 4];
  snprintf(p, 512, "%s/%s", place[side], names[name]);
  return p;
}

/// The same call on both sides: the same result, and the same error.
#define BOTH(what, call)                              \
  ({                                                  \
    long r_[2];                                       \
    int e_[2];                                        \
    for (int side = 0; side < 2; ++side) {            \
      errno = 0;                                      \
      r_[side] = (long)(call);                        \
      e_[side] = errno;                               \
    }                                                 \
    errno = e_[0];                                    \
    if (r_[0] != r_[1]) differ(what, r_[0], r_[1]);   \
    if (r_[0] < 0 && e_[0] != e_[1]) differ(what, e_[0], e_[1]); \
    r_[0];                                            \
  })

static void open_one(void) {
  static const int kFlags[] = {O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDWR | O_CREAT | O_TRUNC,
                               O_RDONLY, O_WRONLY | O_APPEND | O_CREAT, O_RDONLY | O_DIRECTORY};
  unsigned slot = random_below(kOpen), name = random_below(10);
  int flags = kFlags[random_below(7)];
  if (files[slot][0] >= 0) BOTH("close", close(files[slot][side]));
  int got[2];
  for (int side = 0; side < 2; ++side) {
    errno = 0;
    got[side] = open(path(side, name), flags, 0644);
    files[slot][side] = got[side];
    if (side == 1 && (got[0] < 0) != (got[1] < 0)) differ("open", got[0], got[1]);
  }
  if (got[0] < 0) BOTH("open", open(path(side, name), flags, 0644));  // the same error
}

static void data(unsigned slot) {
  int* f = files[slot];
  if (f[0] < 0) return;
  unsigned length = random_below(8) ? random_below(3000) : random_below(kMost), at = random_below(200000);
  for (unsigned i = 0; i < length; ++i) out[i] = (char)(random_below(256));
  switch (random_below(7)) {
    case 0:
      BOTH("pwrite", pwrite(f[side], out, length, at));
      break;
    case 1:
      BOTH("write", write(f[side], out, length));
      break;
    case 2:
    case 3: {
      long got = BOTH("pread", pread(f[side], in[side], length, at));
      if (got > 0 && memcmp(in[0], in[1], (size_t)got)) differ("data of pread", at, got);
      break;
    }
    case 4: {
      long got = BOTH("read", read(f[side], in[side], length));
      if (got > 0 && memcmp(in[0], in[1], (size_t)got)) differ("data of read", at, got);
      break;
    }
    case 5:
      BOTH("lseek", lseek(f[side], at, SEEK_SET));
      break;
    default:
      if (random_below(2))
        BOTH("ftruncate", ftruncate(f[side], at));
      else
        BOTH("fsync", fsync(f[side]));
  }
}

static void compare_folder(const char* name) {
  char seen[2][64][64];
  int count[2] = {0, 0};
  for (int side = 0; side < 2; ++side) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s%s", place[side], *name ? "/" : "", name);
    DIR* d = opendir(whole);
    if (!d) count[side] = -errno;
    for (struct dirent* e; d && count[side] < 64 && (e = readdir(d));)
      snprintf(seen[side][count[side]++], 64, "%.60s", e->d_name);
    if (d) closedir(d);
  }
  if (count[0] != count[1]) differ("entries of a folder", count[0], count[1]);
  for (int i = 0; i < count[0]; ++i) {
    int found = 0;
    for (int j = 0; j < count[1]; ++j) found |= strcmp(seen[0][i], seen[1][j]) == 0;
    if (!found) differ(seen[0][i], i, -1);
  }
}

static void name_step(void) {
  unsigned a = random_below(10), b = random_below(10);
  struct stat s[2];
  switch (random_below(9)) {
    case 0:
      BOTH("mkdir", mkdir(path(side, a), 0755));
      break;
    case 1:
      BOTH("rmdir", rmdir(path(side, a)));
      break;
    case 2:
      BOTH("unlink", unlink(path(side, a)));
      break;
    case 3:
      BOTH("rename", rename(path(side, a), path(side, b)));
      break;
    case 4:
      BOTH("link", link(path(side, a), path(side, b)));
      break;
    case 5:
      BOTH("symlink", symlink("a", path(side, a)));
      break;
    case 6: {
      const long size = random_below(50000);
      BOTH("truncate", truncate(path(side, a), size));
      break;
    }
    case 7:
      compare_folder(random_below(2) ? "" : names[7 + random_below(2)]);
      break;
    default:
      if (BOTH("lstat", lstat(path(side, a), &s[side])) != 0) break;
      if (s[0].st_mode != s[1].st_mode) differ("mode", s[0].st_mode, s[1].st_mode);
      if (S_ISDIR(s[0].st_mode)) break;
      if (s[0].st_size != s[1].st_size) differ("size", s[0].st_size, s[1].st_size);
      if (s[0].st_nlink != s[1].st_nlink) differ("links", (long)s[0].st_nlink, (long)s[1].st_nlink);
  }
}

static void append_record(int shared, int rank, long number) {
  char record[kRecord];
  memset(record, 'a' + rank % 26, sizeof record);
  snprintf(record, sizeof record, "%d %ld", rank, number);
  if (write(shared, record, sizeof record) != kRecord) differ("append", -1, kRecord);
}

static void look_for_records(const char* name, int rank, long expected) {
  int f = open(name, O_RDONLY);
  char record[kRecord];
  long found = 0;
  while (read(f, record, sizeof record) == kRecord) {
    int who = -1;
    long number = -1;
    if (sscanf(record, "%d %ld", &who, &number) != 2) differ("a record that is none", found, 0);
    if (who != rank) continue;
    if (number != found++ || record[kRecord - 1] != 'a' + rank % 26) differ("record", number, found);
  }
  close(f);
  if (found != expected) differ("records in the shared file", found, expected);
}

int main(int count, char** words) {
  if (count < 5) return 2;
  seed = strtoul(words[3], NULL, 10);
  const long steps = atol(words[4]);
  const int alone = count > 5;
  const char* text = getenv("WEFT_RANK");
  const int rank = text ? atoi(text) : 0;
  state = seed * 0x9e3779b97f4a7c15ul + (unsigned long)rank;
  char name[256];
  snprintf(name, sizeof name, "%s/shared", words[1]);
  int shared = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);
  for (int side = 0; side < 2; ++side) {
    snprintf(place[side], sizeof place[side], "%s/%d", words[1 + side], rank);
    if (mkdir(place[side], 0755) != 0) return perror(place[side]), 2;
  }
  for (int i = 0; i < kOpen; ++i) files[i][0] = files[i][1] = -1;
  long records = 0;
  for (step = 0; step < steps; ++step) {
    switch (random_below(8)) {
      case 0:
      case 1:
        open_one();
        break;
      case 2:
      case 3:
        name_step();
        break;
      case 4:
        if (random_below(4) == 0 && !alone) append_record(shared, rank, records++);
        break;
      default:
        data(random_below(kOpen));
    }
  }
  compare_folder("");
  if (!alone) look_for_records(name, rank, records);
  printf("rank %d: %ld steps the same on both sides, %ld records\n", rank, steps, records);
  return 0;
}
