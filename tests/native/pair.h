/* Two ranks that tell each other what they need to know, by messages of libweft, beside the library under
 * test. */
#ifndef PAIR_H
#define PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, weft_rank(), #condition); \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)

static weft_port* pair_port;
static weft_address pair_other;

static inline int me(void) { return weft_rank(); }

/* Up to 48 bytes each way; both go on when both are here. */
static inline void exchange(const void* mine, void* theirs, size_t size) {
  if (!pair_port) {
    CHECK(weft_size() == 2);
    CHECK(weft_open(&pair_port) == 0);
    CHECK(weft_lookup(pair_port, 1 - me(), 0, &pair_other) == 0);
  }
  weft_message head;
  char in[128];
  int sent;
  while ((sent = weft_send(pair_port, pair_other, mine, size, 0, 0, 0)) != 0) CHECK(sent == -11);
  while (weft_receive(pair_port, in, sizeof in, &head) != 1) weft_wait(pair_port, -1);
  CHECK(head.length == size);
  memcpy(theirs, in, size);
}

static inline void meet(void) {
  char mine = 1, theirs;
  exchange(&mine, &theirs, 1);
}

/* Call it last: whoever has come here has found nothing wrong. */
static inline int done(const char* what) {
  meet();
  weft_close(pair_port);
  if (me() == 0) printf("%s: ok\n", what);
  return 0;
}

static inline unsigned next_random(unsigned long long* state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(*state >> 33);
}

#endif
