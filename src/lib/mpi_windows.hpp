// Open MPI's windows over remote memory (osc rdma, btl ofi) in virtual time.
#pragma once

#include <cstddef>

namespace weft::lib {

/// Tells how many one-sided operations MPI has not heard the end of.
void set_one_sided_count(std::size_t (*count)());

}  // namespace weft::lib
