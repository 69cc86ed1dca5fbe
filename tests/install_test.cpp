// An installation, used by somebody who has no source tree and no rights.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "base/version.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// Installed once for all tests of this file, and then moved: nothing may depend on where it was put.
class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    const std::string first = scratch_->file("first");
    const ProgramResult r = run_command("cmake", {"--install", WEFT_BUILD, "--prefix", first});
    ASSERT_EQ(r.code, 0) << r.err;
    fs::rename(first, prefix());
    fs::permissions(scratch_->file(""), fs::perms(0755));
    fs::create_directory(home());
    fs::permissions(home(), fs::perms(0777));
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::string prefix() { return scratch_->file("moved"); }
  static std::string home() { return scratch_->file("home"); }

  /// A shell command in a folder of its own, with the source tree and what was built out of sight; as another
  /// user where this one is root, since only root can become others.
  static ProgramResult away(const std::string& command) {
    const bool root = getuid() == 0;
    const std::string hide =
        fmt::format("mount -t tmpfs none '{}' && if [ -e '{}' ]; then mount -t tmpfs none '{}'; fi; ",
                    WEFT_ROOT, WEFT_BUILD, WEFT_BUILD);
    const std::string as = root ? "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all " : "";
    const std::string environment = fmt::format(
        "env -i HOME='{0}' TMPDIR='{0}' PATH='{1}/bin':/usr/bin:/bin "
        "PYTHONPATH='{1}/lib/python3/dist-packages' "
        "PKG_CONFIG_PATH='{1}/lib/pkgconfig' ",
        home(), prefix());
    const std::string file = scratch_->file("command.sh");
    std::ofstream(file) << "set -e\ncd '" << home() << "'\n" << command << "\n";
    Words words{"-m", "sh", "-c", hide + "exec " + as + environment + "sh " + file};
    if (!root) words.insert(words.begin(), "-r");
    return run_command("unshare", words);
  }
  static std::string succeeds(const std::string& command) {
    const ProgramResult r = away(command);
    EXPECT_EQ(r.code, 0) << command << "\n" << r.out << r.err;
    return r.out;
  }

  static ScratchFolder* scratch_;
};

ScratchFolder* Installed::scratch_ = nullptr;

TEST_F(Installed, HidesWhatItWasBuiltFrom) {
  EXPECT_EQ(succeeds("ls " WEFT_ROOT " | wc -l"), "0\n");
  if (getuid() == 0) EXPECT_EQ(succeeds("id -u"), "65534\n");
}

TEST_F(Installed, VerbsWork) {
  EXPECT_THAT(succeeds("weft --version"), HasSubstr(version()));
  EXPECT_THAT(succeeds("weft list"), HasSubstr("tianhe2"));
  EXPECT_THAT(succeeds("weft show torus"), HasSubstr("torus"));
  EXPECT_THAT(succeeds("weft help run"), HasSubstr("--per-node"));
  succeeds("weft check torus --set 'topology.dims=[3,3]'");
  succeeds("weft traffic torus --set 'topology.dims=[2,2]' --load 0.1 --out t && test -s t/report.html");
  succeeds("weft replay torus --set 'topology.dims=[2,2]' barrier");
  succeeds("weft stress --count 2");
  succeeds("weft power greenice --time 60s");
  succeeds("weft predict torus --set 'topology.dims=[2,2]' --vary latency=100%,200% --skeleton barrier -n 4");
  EXPECT_THAT(succeeds("weft validate --list"), HasSubstr("V-"));
  succeeds("cp " + prefix() +
           "/share/weft/examples/lammps-topologies.toml . && test -s lammps-topologies.toml");
}

TEST_F(Installed, ProgramsOfMpiRun) {
  std::ofstream(scratch_->file("sum.c"))
      << "#include <mpi.h>\n#include <stdio.h>\nint main(int c, char** v) { MPI_Init(&c, &v); int r, s; "
         "MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Allreduce(&r, &s, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); "
         "if (r == 0) printf(\"sum %d\\n\", s); MPI_Finalize(); return 0; }\n";
  EXPECT_THAT(
      succeeds(
          "mpicc.openmpi -o sum " + scratch_->file("sum.c") +
          " && weft run torus --set 'topology.dims=[2,2]' -n 4 --out o -- ./sum && test -s o/report.html"),
      HasSubstr("sum 6"));
  EXPECT_THAT(succeeds("weft demo torus --set 'topology.dims=[4,4]'"), HasSubstr("report.html"));
}

TEST_F(Installed, ProgramsLinkWithTheLibrary) {
  const std::string source = prefix() + "/share/weft/examples/pingpong.c";
  succeeds("cc -o pingpong " + source +
           " $(pkg-config --cflags --libs weft) && weft run torus -n 2 -- ./pingpong 2 64");
  succeeds(
      "printf '#include <rma2.h>\\nint main(void) { return 0; }\\n' >rma2.c && cc -o rma2 rma2.c $(weft "
      "config "
      "--cflags --libs rma2) && PKG_CONFIG_PATH=$(weft config --pkg-config-path) pkg-config --cflags velo2 "
      "&& "
      "cc -o rma2 rma2.c $(PKG_CONFIG_PATH=$(weft config --pkg-config-path) pkg-config --cflags --libs "
      "rma2)");
  succeeds(
      "mkdir -p project && cd project && printf 'cmake_minimum_required(VERSION 3.25)\\nproject(p "
      "C)\\nfind_package(weft "
      "REQUIRED)\\nadd_executable(p " +
      source + ")\\ntarget_link_libraries(p weft::weft)\\n' >CMakeLists.txt && cmake -DCMAKE_PREFIX_PATH=" +
      prefix() + " . >log && cmake --build . >>log && weft run torus -n 2 -- ./p 2 64");
}

TEST_F(Installed, PythonWorks) {
  const std::string said = succeeds(
      "cat >use.py <<'E'\n"
      "import weft\n"
      "torus = weft.machine('torus', set={'topology.dims': [4, 4]})\n"
      "latency = torus.traffic(loads=[0.1, 0.2]).frame()['mean_latency'].tolist()\n"
      "assert len(latency) == 2 and 1e-7 < latency[0] <= latency[1] < 1e-6, latency\n"
      "assert torus.check() and torus.check().longest_path_cables == 4\n"
      "assert torus.replay('barrier').time > 0 and torus.replay('barrier').frame()['ranks'].tolist() == "
      "[16]\n"
      "assert torus.picture().startswith('<svg') and 'tianhe2' in weft.machines()\n"
      "run = torus.run(['true'], ranks=3)\n"
      "assert [r.exit_code for r in run.ranks] == [0, 0, 0], run\n"
      "try:\n"
      "    weft.machine('torsu').check()\n"
      "except weft.WeftError as error:\n"
      "    print(error.code, error)\n"
      "E\n"
      "python3 use.py");
  EXPECT_THAT(said, testing::StartsWith("2 error: there is no machine 'torsu' (did you mean 'torus'?)"));
}

TEST_F(Installed, ManualPagesAndCompletions) {
  for (const char* page : {"weft", "weft-run", "weft-traffic"}) {
    const ProgramResult r =
        run_command("man", {"--warnings", "-l", prefix() + "/share/man/man1/" + page + ".1"});
    if (r.code == 127) continue;  // no man there
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err, "") << page << ": what troff complains about";
    EXPECT_THAT(r.out, HasSubstr("SYNOPSIS"));
  }
  const std::string complete =
      "bash -c '. " + prefix() +
      "/share/bash-completion/completions/weft; COMP_WORDS=($0); COMP_CWORD=$1; _weft; "
      "echo \"${COMPREPLY[@]}\"' ";
  EXPECT_EQ(succeeds(complete + "'weft tra' 1"), "traffic\n");
  EXPECT_EQ(succeeds(complete + "'weft run tian' 2"), "tianhe2\n");
  EXPECT_EQ(succeeds(complete + "'weft run tianhe2 --per' 3"), "--per-node\n");
  EXPECT_EQ(succeeds(complete + "'weft run tianhe2 --mpi y' 4"), "yes\n");
}

/// Programs name their source files where they tell of a defect, and nothing else of the tree.
TEST_F(Installed, NothingNamesWhereItWasBuilt) {
  for (const auto& entry : fs::recursive_directory_iterator(prefix())) {
    if (!entry.is_regular_file()) continue;
    const std::string text = read_file(entry.path().string());
    EXPECT_EQ(text.find(WEFT_BUILD "/"), std::string::npos) << entry.path();
    for (const char* folder : {"profiles", "examples", "tools", "docs", "python"})
      EXPECT_EQ(text.find(std::string(WEFT_ROOT "/") + folder), std::string::npos) << entry.path();
    if (!text.starts_with("\x7f"
                          "ELF"))
      EXPECT_EQ(text.find(WEFT_ROOT), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace weft::test
