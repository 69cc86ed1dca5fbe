// Files are written, some are synchronised, all are renamed; a log beside the file system says what the program
// knows of each, until the power is cut.
//
//   storage_power FOLDER LOG
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 12000 };

static void say(int log, const char* what, int rank, int number) {
  char line[64];
  const int length = snprintf(line, sizeof line, "%s %d-%d\n", what, rank, number);
  if (write(log, line, (size_t)length) != length) exit(3);
}

int main(int count, char** words) {
  if (count < 3) return 2;
  const char* text = getenv("WEFT_RANK");
  const int rank = text ? atoi(text) : 0;
  const int log = open(words[2], O_CREAT | O_WRONLY | O_APPEND, 0644);
  const int folder = open(words[1], O_RDONLY | O_DIRECTORY);
  if (log < 0 || folder < 0) return 2;
  char data[kBytes], name[2][256];
  for (int i = 0; i < 100000; ++i) {
    memset(data, 'a' + (rank * 7 + i) % 26, sizeof data);
    snprintf(name[0], sizeof name[0], "%s/t%d-%d", words[1], rank, i);
    snprintf(name[1], sizeof name[1], "%s/f%d-%d", words[1], rank, i);
    const int file = open(name[0], O_CREAT | O_RDWR, 0644);
    if (file < 0) return 1;
    for (int at = 0; at < kBytes; at += 4000)
      if (pwrite(file, data + at, 4000, at) != 4000) return 1;
    say(log, "written", rank, i);
    if (i % 4 != 3) {
      if (fsync(file) != 0) return 1;
      say(log, "synced", rank, i);
    }
    close(file);
    if (rename(name[0], name[1]) != 0) return 1;
    say(log, "renamed", rank, i);
    if (i % 5 == 0) {
      if (fsync(folder) != 0) return 1;
      say(log, "named", rank, i);
    }
  }
  return 0;
}
