#include "storage/power_cut.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "machine/storage_parameters.hpp"
#include "storage/tree.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

constexpr Time kCut{1'000'000};

/// What devices have: names and data, to which only what outlives the cut is done.
class Reference {
 public:
  void make(const std::string& path, std::uint64_t file, bool lost) {
    if (!lost) names_[path] = file;
  }
  void remove(const std::string& path, bool lost) {
    if (!lost) names_.erase(path);
  }
  void rename(const std::string& from, const std::string& to, bool lost) {
    if (lost || from == to || names_.at(from) == find(to)) return;
    names_[to] = names_.at(from);
    names_.erase(from);
  }
  void write(std::uint64_t file, std::uint64_t offset, const std::string& data, bool lost) {
    if (lost) return;
    std::string& text = data_[file];
    if (text.size() < offset + data.size()) text.resize(offset + data.size());
    text.replace(offset, data.size(), data);
  }
  void resize(std::uint64_t file, std::uint64_t size, bool lost) {
    if (!lost) data_[file].resize(size);
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> out;
    for (const auto& [path, file] : names_) {
      const auto found = data_.find(file);
      out[path] = found == data_.end() ? "" : found->second;
    }
    return out;
  }

 private:
  std::uint64_t find(const std::string& path) const {
    const auto found = names_.find(path);
    return found == names_.end() ? 0 : found->second;
  }
  std::map<std::string, std::uint64_t> names_;
  std::map<std::uint64_t, std::string> data_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& each : fs::directory_iterator(folder))
    out[each.path().filename().string()] = content(each.path().string());
  return out;
}

/// Random steps on a tree whose devices are durable at random times: names in order, data as it comes.
class Steps {
 public:
  Steps(const std::string& folder, std::uint64_t seed)
      : tree_(folder, Layout(machine::StorageParameters{}), std::uint64_t{1} << 40, 0), seed_(seed) {
    tree_.cut_power_at(kCut);
  }
  ~Steps() {
    for (Inode* file : open_) tree_.close(*file);
    tree_.power_is_cut();
  }

  const Reference& reference() const { return reference_; }

  void step(unsigned number, unsigned all) {
    step_ = number;
    names_durable_ = std::max(names_durable_, Time{kCut.value * 2 * number / all});
    const std::string a = name(0), b = name(1);
    switch (draw(2, 10)) {
      case 0:
      case 1:
        return create(a);
      case 2:
        return remove(a);
      case 3:
        return rename(a, b);
      case 4:
        return link(a, b);
      case 5:
        return resize();
      default:
        return write();
    }
  }

 private:
  std::uint64_t draw(unsigned what, std::uint64_t below) { return random_bits(seed_, what, step_) % below; }
  std::string name(unsigned which) { return std::string(1, static_cast<char>('a' + draw(which, 6))); }
  bool next_name_is_lost() {
    tree_.cut()->durable_from(names_durable_);
    return names_durable_ > kCut;
  }
  bool next_data_is_lost() {
    const Time durable{static_cast<std::int64_t>(draw(3, 2 * static_cast<std::uint64_t>(kCut.value)))};
    tree_.cut()->durable_from(durable);
    return durable > kCut;
  }
  Inode* some_file() { return open_.empty() ? nullptr : open_[draw(4, open_.size())]; }

  void create(const std::string& path) {
    const bool lost = next_name_is_lost();
    Inode* file = nullptr;
    struct stat facts {};
    const bool there = tree_.status(path, false, facts) == 0;
    ASSERT_EQ(tree_.open(path, O_RDWR | O_CREAT, 0644, Time{0}, file), 0);
    tree_.opened(*file);
    if (!there) reference_.make(path, file->number, lost);
    open_.push_back(file);
    if (open_.size() < 8) return;
    tree_.close(*open_.front());
    open_.erase(open_.begin());
  }
  void remove(const std::string& path) {
    const bool lost = next_name_is_lost();
    if (tree_.remove(path, false, Time{0}) == 0) reference_.remove(path, lost);
  }
  void rename(const std::string& from, const std::string& to) {
    const bool lost = next_name_is_lost();
    if (tree_.rename(from, to, 0, Time{0}) == 0) reference_.rename(from, to, lost);
  }
  void link(const std::string& from, const std::string& to) {
    const bool lost = next_name_is_lost();
    if (tree_.link(from, to, Time{0}) != 0) return;
    struct stat facts {};
    ASSERT_EQ(tree_.status(to, false, facts), 0);
    reference_.make(to, facts.st_ino, lost);
  }
  void write() {
    Inode* file = some_file();
    if (!file) return;
    const bool lost = next_data_is_lost();
    const std::string data(1 + draw(5, 5000), static_cast<char>('A' + draw(6, 26)));
    const std::uint64_t offset = draw(7, 9000);
    ASSERT_EQ(tree_.write(*file, offset, data, Time{0}), 0);
    reference_.write(file->number, offset, data, lost);
  }
  void resize() {
    Inode* file = some_file();
    if (!file) return;
    const bool lost = next_name_is_lost();
    const std::uint64_t size = draw(5, 9000);
    ASSERT_EQ(tree_.truncate(*file, size, Time{0}), 0);
    reference_.resize(file->number, size, lost);
  }

  Tree tree_;
  Reference reference_;
  std::uint64_t seed_, step_ = 0;
  Time names_durable_{0};
  std::vector<Inode*> open_;
};

std::string scratch() {
  std::string pattern = "/tmp/weft-cut-XXXXXX";
  return mkdtemp(pattern.data());
}

TEST(PowerCut, LeavesWhatWasDurableAndNothingElse) {
  const bool is_long = std::getenv("WEFT_LONG_TESTS") != nullptr;
  const unsigned seeds = is_long ? 5000 : 100, steps = 200;
  std::uint64_t kept = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const std::string folder = scratch();
    std::map<std::string, std::string> expected;
    {
      Steps random(folder, seed);
      for (unsigned i = 0; i < steps; ++i) random.step(i, steps);
      expected = random.reference().files();
    }
    EXPECT_EQ(files_in(folder), expected) << "seed " << seed;
    for (const auto& [path, data] : expected) kept += data.size();
    fs::remove_all(folder);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(kept, std::uint64_t{1000} * seeds) << "there was something to keep";
}

}  // namespace
}  // namespace weft::storage
