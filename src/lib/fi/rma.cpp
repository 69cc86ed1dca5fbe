#include "lib/fi/engine.hpp"

namespace weft::fi {

fi_ops_rma rma_operations = {};
fi_ops_atomic atomic_operations = {};
int query_atomic(fid_domain*, fi_datatype, fi_op, fi_atomic_attr*, std::uint64_t) { return -FI_EOPNOTSUPP; }
void Engine::atomic_request(host::Lane&, std::uint32_t, const nic::Message&) {}
void Engine::atomic_reply(host::Lane&, const nic::Message&) {}

}  // namespace weft::fi
