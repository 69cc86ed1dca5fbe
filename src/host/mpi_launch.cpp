#include "host/mpi_launch.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "abi/libevent.hpp"
#include "abi/mpi_layout.hpp"
#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "host/pmi_server.hpp"

namespace weft::host {

using namespace abi;

namespace {

// The library's functions know no context, and a process has one server.
std::mutex abort_mutex;
MpiLauncher::Abort abort_seen;
std::atomic<unsigned> ranks_connected, ranks_finalized;

pmix_status_t on_connect(const pmix_proc_t*, void*, pmix_info_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  ++ranks_connected;
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
  ++ranks_finalized;
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char text[], pmix_proc_t[],
                       std::size_t, pmix_op_cbfunc_t, void*) {
  std::lock_guard lock(abort_mutex);
  if (abort_seen.rank < 0) abort_seen = {static_cast<int>(proc->rank), status, text ? text : ""};
  return PMIX_OPERATION_SUCCEEDED;
}

/// All ranks are here, so what they gave is what there is.
pmix_status_t on_fence(const pmix_proc_t[], std::size_t, const pmix_info_t[], std::size_t, char* data,
                       std::size_t bytes, pmix_modex_cbfunc_t answer, void* context) {
  answer(PMIX_SUCCESS, data, bytes, context, nullptr, nullptr);
  return PMIX_SUCCESS;
}

/// Waits for what the library does in its own thread.
class Done {
 public:
  static void callback(pmix_status_t status, void* self) {
    auto* done = static_cast<Done*>(self);
    std::lock_guard lock(done->mutex_);
    done->status_ = status;
    done->done_ = true;
    done->changed_.notify_one();
  }
  pmix_status_t wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

void require(pmix_status_t status, const char* what) {
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
    throw UserError(fmt::format("MPI programs cannot be started: {}: {}", what, PMIx_Error_string(status)));
}

/// A list of facts in the library's form.
class Facts {
 public:
  void text(const char* key, const std::string& value) { load(key, value.c_str(), PMIX_STRING); }
  void number(const char* key, std::uint32_t value) { load(key, &value, PMIX_UINT32); }
  void small(const char* key, std::uint16_t value) { load(key, &value, PMIX_UINT16); }
  void rank(const char* key, pmix_rank_t value) { load(key, &value, PMIX_PROC_RANK); }
  void flag(const char* key, bool value) { load(key, &value, PMIX_BOOL); }
  /// The list takes the entries of the other.
  void list(const char* key, Facts&& facts) {
    pmix_data_array_t array;
    array.type = PMIX_INFO;
    array.size = facts.infos_.size();
    array.array = facts.infos_.data();
    load(key, &array, PMIX_DATA_ARRAY);  // copied
  }
  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

  Facts() = default;
  Facts(Facts&&) = default;
  ~Facts() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    infos_.push_back(info);
  }
  std::vector<pmix_info_t> infos_;
};

// Jobs that the server still knows though they have ended: see ~MpiLauncher. The next needs another name.
unsigned jobs_left = 0;
std::string job_name() { return jobs_left ? fmt::format("weft-{}", jobs_left) : "weft"; }

/// "0,1;2": the ranks of each node, in the order nodes are first named.
struct Map {
  std::vector<std::string> names;
  std::vector<std::vector<unsigned>> ranks;
  std::vector<unsigned> node_of, place_of;  // by rank: index of its node, index among its ranks
};

Map map_of(const std::vector<unsigned>& nodes) {
  Map map;
  std::map<unsigned, unsigned> index;
  for (unsigned rank = 0; rank < nodes.size(); ++rank) {
    auto [at, fresh] = index.try_emplace(nodes[rank], static_cast<unsigned>(map.names.size()));
    if (fresh) {
      map.names.push_back(fmt::format("node{}", nodes[rank]));
      map.ranks.emplace_back();
    }
    map.node_of.push_back(at->second);
    map.place_of.push_back(static_cast<unsigned>(map.ranks[at->second].size()));
    map.ranks[at->second].push_back(rank);
  }
  return map;
}

/// The same with a node for each rank. Open MPI would use memory that ranks of one node share, around the
/// simulated network; who is on one, lib/mpi_communicators.cpp knows.
Map map_of_each(const std::vector<unsigned>& nodes) {
  Map shared = map_of(nodes), map;
  for (unsigned rank = 0; rank < nodes.size(); ++rank) {
    unsigned place = shared.place_of[rank];
    map.names.push_back(shared.names[shared.node_of[rank]] + (place ? fmt::format("-{}", place) : ""));
    map.ranks.push_back({rank});
    map.node_of.push_back(rank);
    map.place_of.push_back(0);
  }
  return map;
}

std::string joined(const std::vector<unsigned>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

/// What all ranks may ask about the job and about each other.
Facts job_facts(const Map& map, const std::string& folder) {
  auto ranks = static_cast<std::uint32_t>(map.node_of.size());
  Facts job;
  job.text(PMIX_JOBID, job_name());
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS}) job.number(key, ranks);
  job.number(PMIX_JOB_NUM_APPS, 1);
  job.number(PMIX_NUM_NODES, static_cast<std::uint32_t>(map.names.size()));
  job.text(PMIX_TMPDIR, folder);
  job.text(PMIX_NSDIR, folder);
  std::vector<std::string> lists;
  for (const auto& on_node : map.ranks) lists.push_back(joined(on_node));
  char* regex = nullptr;
  require(PMIx_generate_regex(join(map.names, ",").c_str(), &regex), "names of nodes");
  job.text(PMIX_NODE_MAP, regex);
  free(regex);
  char* placed = nullptr;
  require(PMIx_generate_ppn(join(lists, ";").c_str(), &placed), "places of ranks");
  job.text(PMIX_PROC_MAP, placed);
  free(placed);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto& peers = map.ranks[map.node_of[rank]];
    Facts one;
    one.rank(PMIX_RANK, rank);
    one.number(PMIX_APPNUM, 0);
    one.rank(PMIX_GLOBAL_RANK, rank);
    one.rank(PMIX_APP_RANK, rank);
    one.small(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(map.place_of[rank]));
    one.small(PMIX_NODE_RANK, static_cast<std::uint16_t>(map.place_of[rank]));
    one.number(PMIX_NODEID, map.node_of[rank]);
    one.text(PMIX_HOSTNAME, map.names[map.node_of[rank]]);
    one.number(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(peers.size()));
    job.list(PMIX_PROC_DATA, std::move(one));
  }
  return job;
}

}  // namespace

Environment libfabric_environment(const std::string& folder) {
  return {{"FI_PROVIDER_PATH", folder}, {"FI_PROVIDER", "weft"}};
}

/// "(vector,(0,1,2),(1,1,2))": ranks 0 and 1 on the first node, 2 and 3 on the second.
std::string mapping_of(const Map& map) {
  std::string out = "(vector";
  for (std::size_t first = 0; first < map.node_of.size();) {
    std::size_t last = first;
    while (last < map.node_of.size() && map.node_of[last] == map.node_of[first]) ++last;
    out += fmt::format(",({},1,{})", map.node_of[first], last - first);
    first = last;
  }
  return out + ")";
}

struct MpiLauncher::Server {
  Map map;  // as Open MPI is told
  std::unique_ptr<PmiServer> pmi;
  std::vector<Environment> environments;
};

MpiLauncher::MpiLauncher(const std::vector<unsigned>& nodes, std::string library_folder, MpiWindows windows)
    : server_(std::make_unique<Server>()), library_folder_(std::move(library_folder)), windows_(windows) {
  // Everything in the processes' own memory: no files that could be left behind.
  for (auto [name, value] : {std::pair{"PMIX_MCA_gds", "hash"}, {"PMIX_MCA_psec", "native"}})
    setenv(name, value, 1);
  server_->map = map_of_each(nodes);
  static pmix_server_module_t functions{};
  functions.client_connected2 = on_connect;
  functions.client_finalized = on_finalized;
  functions.abort = on_abort;
  functions.fence_nb = on_fence;
  Facts settings;
  settings.flag(PMIX_SERVER_TOOL_SUPPORT, false);
  std::string folder = "/tmp";
  settings.text(PMIX_SERVER_TMPDIR, folder);
  settings.text(PMIX_SYSTEM_TMPDIR, folder);
  if (jobs_left == 0)
    require(PMIx_server_init(&functions, settings.data(), settings.size()), "the PMIx server");
  silence_libevent();
  server_->pmi = std::make_unique<PmiServer>(static_cast<unsigned>(nodes.size()), mapping_of(map_of(nodes)));
  abort_seen = {};
  ranks_connected = ranks_finalized = 0;
  Facts job = job_facts(server_->map, folder);
  Done registered;
  pmix_nspace_t name;
  PMIX_LOAD_NSPACE(name, job_name().c_str());
  require(PMIx_server_register_nspace(name, static_cast<int>(nodes.size()), job.data(), job.size(),
                                      Done::callback, &registered),
          "the job");
  require(registered.wait(), "the job");
  for (unsigned rank = 0; rank < nodes.size(); ++rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, job_name().c_str(), rank);
    Done known;
    require(PMIx_server_register_client(&proc, getuid(), getgid(), nullptr, Done::callback, &known),
            "a rank");
    require(known.wait(), "a rank");
    char** variables = nullptr;
    require(PMIx_server_setup_fork(&proc, &variables), "a rank's environment");
    Environment& environment = server_->environments.emplace_back();
    for (char** v = variables; v && *v; ++v) {
      const char* equals = std::strchr(*v, '=');
      if (equals) environment.emplace_back(std::string(static_cast<const char*>(*v), equals), equals + 1);
    }
    PMIX_ARGV_FREE(variables);
  }
}

MpiLauncher::~MpiLauncher() {
  if (!killed_ && ranks_connected == ranks_finalized) {
    PMIx_server_finalize();
    return;
  }
  // A rank was ended while it spoke to the library, which may have given back what it knew of it, and would
  // wait for ever for a lock in it when told to forget the rest. So its server stays as long as this process.
  ++jobs_left;
}

int MpiLauncher::file(unsigned rank) const { return server_->pmi->file(rank); }
void MpiLauncher::started(unsigned rank) { server_->pmi->started(rank); }

Environment MpiLauncher::environment(unsigned rank) const {
  Environment out = server_->environments[rank];
  for (auto& variable : libfabric_environment(library_folder_)) out.push_back(std::move(variable));
  out.insert(out.end(),
             {
                 {"IPATH_NO_BACKTRACE", "1"},  // its signal handler never comes back
                 // Open MPI: the matching layer of libfabric and nothing else.
                 // It takes a launcher that is not its own for one it knows: JSM, which is PMIx alone.
                 {"JSM_JSRUN_PORT", "0"},
                 {"OMPI_MCA_pml", "cm"},
                 {"OMPI_MCA_mtl", "ofi"},
                 {"OMPI_MCA_mtl_ofi_provider_include", "weft"},
                 {"OMPI_MCA_btl", windows_ == MpiWindows::Rdma ? kRdmaWindows.btl : "self"},
                 {"OMPI_MCA_btl_ofi_provider_include", "weft"},
                 {"OMPI_MCA_btl_ofi_disable_sep", "1"},
                 {"OMPI_MCA_osc", windows_ == MpiWindows::Rdma ? kRdmaWindows.osc : "pt2pt"},
                 {"OMPI_MCA_osc_rdma_btls", "ofi"},
                 // What it would keep registered depends on where the heap puts things. The interface's
                 // description says what is remembered (nic.registration_cache).
                 {"OMPI_MCA_mpi_leave_pinned", "0"},
                 {"OMPI_MCA_memory", "^patcher"},
                 {"OMPI_MCA_topo", "^treematch"},  // gives ranks the numbers of places on this machine
                 {"PMIX_HOSTNAME", server_->map.names[rank]},
                 {"OMPI_MCA_mpi_yield_when_idle", "1"},  // where its threads wait for each other
                 {"OMPI_MCA_coll", "^sm,hcoll,fca"},
                 {"OMPI_MCA_orte_create_session_dirs", "0"},
                 {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                 // No rank looks through this computer's devices, which are not those of its node: in a
                 // virtual machine every register of theirs that is read goes by way of the host.
                 {"HWLOC_COMPONENTS", "-pci,-linuxio"},
                 // MPICH over libfabric: no shared memory, so every rank is said to have a node of its own
                 // (lib/mpi_communicators.hpp).
                 {"PMI_FD", std::to_string(file(rank))},
                 {"PMI_RANK", std::to_string(rank)},
                 {"PMI_SIZE", std::to_string(server_->environments.size())},
                 {"MPIR_CVAR_NOLOCAL", "1"},
                 {"MPIR_CVAR_CH4_NETMOD", "ofi"},
             });
  if (windows_ == MpiWindows::Auto) out.emplace_back(kWindowsVariable, "auto");
  return out;
}

std::string MpiLauncher::broken() const { return server_->pmi->broken(); }

MpiLauncher::Abort MpiLauncher::aborted() const {
  if (auto abort = server_->pmi->aborted()) return {static_cast<int>(abort->rank), abort->code, ""};
  std::lock_guard lock(abort_mutex);
  return abort_seen;
}

}  // namespace weft::host
