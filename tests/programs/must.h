/* What programs of the tests of `weft run` share: a port, a rank, and calls that must not fail. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static weft_port* port;
static int rank;

static void must(int result, const char* what) {
  if (result >= 0) return;
  printf("rank %d: %s: %s\n", rank, what, strerror(-result));
  exit(9);
}
