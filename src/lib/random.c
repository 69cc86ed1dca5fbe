/* base/random.hpp for the library: Random123's C++ headers need the C++ library, its C headers need nothing.
 */
#include <Random123/philox.h>
#include <stdint.h>

__attribute__((visibility("hidden"))) uint64_t weft_random_bits(uint64_t seed, uint64_t who, uint64_t step);

uint64_t weft_random_bits(uint64_t seed, uint64_t who, uint64_t step) {
  philox4x32_ctr_t counter = {{(uint32_t)who, (uint32_t)(who >> 32), (uint32_t)step, (uint32_t)(step >> 32)}};
  philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
  philox4x32_ctr_t out = philox4x32_R(7, counter, key);
  return (uint64_t)out.v[1] << 32 | out.v[0];
}
