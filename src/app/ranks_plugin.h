/* What libweft-ranks.so offers: processes started together by mpirun. A library of its own, loaded only where
   there are such processes, so that nobody else waits for MPI to be loaded. */
#ifndef WEFT_APP_RANKS_PLUGIN_H
#define WEFT_APP_RANKS_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where `bytes` from a rank are to be put. */
typedef void* (*weft_ranks_room)(void* context, unsigned from, uint64_t bytes);

struct weft_ranks {
  unsigned rank, count;
  void (*exchange)(const void* const* out, const uint64_t* bytes, weft_ranks_room room, void* context);
  void (*sum)(uint64_t* values, uint64_t count);
  void (*most)(uint64_t* values, uint64_t count);
  /* All ranks call it. Waits for the others, at most so many seconds unless that is 0; returns whether they
     came. */
  int (*finish)(unsigned seconds);
  void (*give_up)(int status); /* ends all ranks */
};

/* Joins the others. NULL where MPI does not start. */
const struct weft_ranks* weft_ranks_start(void);

#ifdef __cplusplus
}
#endif

#endif
