// Reads and writes of files that the C library does in threads of its own, as MPI libraries do for
// MPI_File_iwrite. How long those threads take is the real machine's affair, and a program that asks whether
// they are done would see it. Files take no virtual time, so here they are done at once. The C library's own
// aio_error, aio_return and aio_suspend look at what is left in the control block.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/rank_thread.hpp"
#include "lib/real.hpp"

namespace lib = weft::lib;

namespace {

/// Others may wait for somebody, or tell when they are done: these the C library does.
bool is_done_here(const aiocb* a) {
  struct stat facts {};
  return lib::virtual_thread() && a->aio_sigevent.sigev_notify == SIGEV_NONE &&
         fstat(a->aio_fildes, &facts) == 0 && S_ISREG(facts.st_mode);
}

int done(aiocb* a, ssize_t result) {
  a->__return_value = result;
  a->__error_code = result < 0 ? errno : 0;
  return 0;
}

int read_now(aiocb* a) {
  return done(a, pread(a->aio_fildes, const_cast<void*>(a->aio_buf), a->aio_nbytes, a->aio_offset));
}

int write_now(aiocb* a) {
  return done(a, pwrite(a->aio_fildes, const_cast<const void*>(a->aio_buf), a->aio_nbytes, a->aio_offset));
}

}  // namespace

extern "C" {

int aio_read(aiocb* a) {
  WEFT_REAL(aio_read);
  return is_done_here(a) ? read_now(a) : next_aio_read(a);
}

int aio_write(aiocb* a) {
  WEFT_REAL(aio_write);
  return is_done_here(a) ? write_now(a) : next_aio_write(a);
}

int aio_fsync(int how, aiocb* a) {
  WEFT_REAL(aio_fsync);
  if (!is_done_here(a)) return next_aio_fsync(how, a);
  return done(a, how == O_DSYNC ? fdatasync(a->aio_fildes) : fsync(a->aio_fildes));
}

int lio_listio(int mode, aiocb* const list[], int count, sigevent* event) {
  WEFT_REAL(lio_listio);
  bool here = mode == LIO_WAIT || !event || event->sigev_notify == SIGEV_NONE;
  for (int i = 0; i < count && here; ++i)
    here = !list[i] || list[i]->aio_lio_opcode == LIO_NOP || is_done_here(list[i]);
  if (!here) return next_lio_listio(mode, list, count, event);
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    if (!list[i] || list[i]->aio_lio_opcode == LIO_NOP) continue;
    list[i]->aio_lio_opcode == LIO_READ ? read_now(list[i]) : write_now(list[i]);
    failed |= list[i]->__error_code != 0;
  }
  if (failed && mode == LIO_WAIT) {
    errno = EIO;
    return -1;
  }
  return 0;
}

// A program with large files asks for these names; where offsets are of 64 bits they are the same.
static_assert(sizeof(aiocb) == sizeof(aiocb64) && sizeof(off_t) == sizeof(off64_t));
int aio_read64(aiocb64* a) { return aio_read(reinterpret_cast<aiocb*>(a)); }
int aio_write64(aiocb64* a) { return aio_write(reinterpret_cast<aiocb*>(a)); }
int aio_fsync64(int how, aiocb64* a) { return aio_fsync(how, reinterpret_cast<aiocb*>(a)); }
int lio_listio64(int mode, aiocb64* const list[], int count, sigevent* event) {
  return lio_listio(mode, reinterpret_cast<aiocb* const*>(list), count, event);
}
}
