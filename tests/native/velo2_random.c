/* Ten thousand random steps: messages of four kinds both ways, against a model of what waits where. */
#include "velo2_pair.h"

enum { kSteps = 10000, kWaiting = 64 };

/* Both ranks draw the same, so each knows what the other does. */
int main(void) {
  set_up();
  unsigned long long state = 77;
  unsigned sent[2][4] = {{0}}, taken[2][4] = {{0}}; /* from rank, by kind */
  for (int step = 0; step < kSteps; ++step) {
    int from = (int)(next_random(&state) % 2);
    unsigned kind = next_random(&state) % 4, length = 8 + next_random(&state) % 40;
    if (next_random(&state) % 2 && sent[from][kind] - taken[from][kind] < kWaiting) {
      unsigned char out[64];
      unsigned number = sent[from][kind]++;
      for (unsigned i = 0; i < length; ++i) out[i] = (unsigned char)(number + i);
      memcpy(out, &number, sizeof number);
      if (me() == from)
        CHECK(velo2_send(&other, out, length, (uint8_t)length, (uint8_t)kind) == VELO2_RET_SUCCESS);
    } else if (sent[from][kind] != taken[from][kind]) {
      unsigned expected = taken[from][kind]++;
      if (me() == from) continue;
      unsigned char in[64];
      unsigned number;
      uint32_t got, source;
      uint8_t tag;
      CHECK(velo2_recv(&port, in, sizeof in, &got, &source, &tag, (uint8_t)kind) == VELO2_RET_SUCCESS);
      memcpy(&number, in, sizeof number);
      CHECK(number == expected && tag == got && source == other_id);
      for (unsigned i = sizeof number; i < got; ++i) CHECK(in[i] == (unsigned char)(number + i));
    }
  }
  if (me() == 0) printf("%u %u\n", sent[0][0] + sent[0][1] + sent[0][2] + sent[0][3], sent[1][0]);
  return tear_down("velo2_random");
}
