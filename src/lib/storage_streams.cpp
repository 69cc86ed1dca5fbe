// Streams of the C library on files of the machine's file system: its own calls for them do not pass by here,
// so a stream is one whose functions are given. Temporary files with names of their own.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace lib = weft::lib;
using lib::Where;
using weft::abi::FileCall;

namespace {

struct Stream {
  Stream* next;
  FILE* itself;
  int file;
};

Stream* streams = nullptr;
pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

ssize_t read_stream(void* cookie, char* to, size_t length) {
  return read(static_cast<Stream*>(cookie)->file, to, length);
}
ssize_t write_stream(void* cookie, const char* from, size_t length) {
  const ssize_t wrote = write(static_cast<Stream*>(cookie)->file, from, length);
  return wrote < 0 ? 0 : wrote;
}
int seek_stream(void* cookie, off64_t* offset, int whence) {
  const off_t at = lseek(static_cast<Stream*>(cookie)->file, *offset, whence);
  if (at < 0) return -1;
  *offset = at;
  return 0;
}
int close_stream(void* cookie) {
  auto* stream = static_cast<Stream*>(cookie);
  pthread_mutex_lock(&streams_lock);
  Stream** at = &streams;
  while (*at && *at != stream) at = &(*at)->next;
  if (*at) *at = stream->next;
  pthread_mutex_unlock(&streams_lock);
  const int result = close(stream->file);
  free(stream);
  return result;
}

int flags_of(const char* mode) {
  int flags = 0;
  switch (*mode) {
    case 'r':
      break;
    case 'w':
      flags = O_CREAT | O_TRUNC | O_WRONLY;
      break;
    case 'a':
      flags = O_CREAT | O_APPEND | O_WRONLY;
      break;
    default:
      errno = EINVAL;
      return -1;
  }
  for (const char* c = mode + 1; *c && *c != ','; ++c) {
    if (*c == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*c == 'x') flags |= O_EXCL;
    if (*c == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

FILE* stream_on(int file, const char* mode) {
  auto* stream = static_cast<Stream*>(malloc(sizeof(Stream)));
  if (!stream) return nullptr;
  stream->file = file;
  stream->itself = fopencookie(stream, mode, {read_stream, write_stream, seek_stream, close_stream});
  if (!stream->itself) {
    free(stream);
    return nullptr;
  }
  if (*mode == 'a') lseek(file, 0, SEEK_END);
  pthread_mutex_lock(&streams_lock);
  stream->next = streams;
  streams = stream;
  pthread_mutex_unlock(&streams_lock);
  return stream->itself;
}

int number_of(FILE* stream) {
  int file = -1;
  if (!streams) return file;
  pthread_mutex_lock(&streams_lock);
  for (const Stream* s = streams; s && file < 0; s = s->next)
    if (s->itself == stream) file = s->file;
  pthread_mutex_unlock(&streams_lock);
  return file;
}

/// The six letters of a name that is nobody's yet; the same in every run.
bool next_name(char* text, int suffix) {
  static std::atomic<std::uint32_t> made{0};
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const size_t length = strlen(text);
  if (suffix < 0 || length < static_cast<size_t>(suffix) + 6) return false;
  char* at = text + length - static_cast<size_t>(suffix) - 6;
  const std::uint32_t rank = weft::lib::attachment.header ? weft::lib::attachment.header->rank : 0;
  std::uint64_t number = std::uint64_t{rank} * 7919 + made.fetch_add(1);
  for (int i = 5; i >= 0; --i, number /= 62) at[i] = kLetters[number % 62];
  return true;
}

}  // namespace

namespace weft::lib {

FILE* storage_stream(const Where& where, const char* mode) {
  const int flags = flags_of(mode);
  if (flags < 0) return nullptr;
  const int file = storage_open(where, flags, 0666);
  if (file < 0) return nullptr;
  FILE* stream = fdopen(file, mode);
  if (!stream) close(file);
  return stream;
}

}  // namespace weft::lib

extern "C" {

FILE* fdopen(int file, const char* mode) noexcept {
  WEFT_REAL(fdopen);
  return lib::is_storage(file) ? stream_on(file, mode) : next_fdopen(file, mode);
}

int fileno(FILE* stream) noexcept {
  WEFT_REAL(fileno);
  const int file = number_of(stream);
  return file >= 0 ? file : next_fileno(stream);
}
int fileno_unlocked(FILE* stream) noexcept { return fileno(stream); }

/// The stream stays what it is, on another file: what it reads and writes then takes no virtual time.
FILE* freopen(const char* __restrict path, const char* __restrict mode, FILE* __restrict stream) {
  WEFT_REAL(freopen);
  const Where where(path);
  if (!where.inside()) return next_freopen(where.path(), mode, stream);
  const int flags = flags_of(mode), to = fileno(stream);
  fflush(stream);
  const int file = flags < 0 ? -1 : lib::storage_open(where, flags, 0666);
  if (file < 0) return nullptr;
  if (file != to) {
    dup2(file, to);
    close(file);
  }
  clearerr(stream);
  return stream;
}
FILE* freopen64(const char* __restrict path, const char* __restrict mode, FILE* __restrict stream) {
  return freopen(path, mode, stream);
}

int mkostemps(char* text, int suffix, int flags) {
  WEFT_REAL(mkostemps);
  const Where where(text);
  if (!where.inside()) return next_mkostemps(text, suffix, flags);
  for (int tries = 0; tries < 10'000; ++tries) {
    if (!next_name(text, suffix)) return lib::failure(-EINVAL);
    const int file = open(text, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}
int mkstemp(char* text) { return mkostemps(text, 0, 0); }
int mkostemp(char* text, int flags) { return mkostemps(text, 0, flags); }
int mkstemps(char* text, int suffix) { return mkostemps(text, suffix, 0); }
int mkstemp64(char* text) { return mkostemps(text, 0, 0); }
int mkostemp64(char* text, int flags) { return mkostemps(text, 0, flags); }
int mkostemps64(char* text, int suffix, int flags) { return mkostemps(text, suffix, flags); }
int mkstemps64(char* text, int suffix) { return mkostemps(text, suffix, 0); }
char* mkdtemp(char* text) noexcept {
  WEFT_REAL(mkdtemp);
  const Where where(text);
  if (!where.inside()) return next_mkdtemp(text);
  for (int tries = 0; tries < 10'000; ++tries) {
    if (!next_name(text, 0)) break;
    if (mkdir(text, 0700) == 0) return text;
    if (errno != EEXIST) return nullptr;
  }
  errno = EINVAL;
  return nullptr;
}
}
