// Traffic from a file: a matrix of weights, a row for each source and a column for each destination.
//
// Numbers are separated by commas, semicolons or white space; a line without numbers is skipped, and # starts
// a comment. A row's weights say where its packets go; its sum, compared with the largest row's, how many it
// sends.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/input_file.hpp"
#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

struct MatrixParameters {
  config::FilePath file;
};

class Matrix : public Pattern {
 public:
  explicit Matrix(std::uint64_t seed) : seed_(stream_seed(seed, Stream::Destination)) {}

  void add_row(const std::vector<double>& weights) {
    double sum = 0;
    for (Member to = 0; to < weights.size(); ++to)
      if (weights[to] > 0) {
        sum += weights[to];
        entries_.push_back({sum, to});
      }
    rows_.push_back({entries_.size(), sum});
    largest_ = std::max(largest_, sum);
  }

  std::size_t rows() const { return rows_.size(); }
  bool empty() const { return entries_.empty(); }

  Member destination(Member source, std::uint64_t packet) const override {
    auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(source == 0 ? 0 : rows_[source - 1].end);
    auto end = entries_.begin() + static_cast<std::ptrdiff_t>(rows_[source].end);
    double drawn = unit_interval(random_bits(seed_, source, packet)) * rows_[source].sum;
    auto at =
        std::upper_bound(begin, end, drawn, [](double x, const Entry& entry) { return x < entry.up_to; });
    return (at == end ? end - 1 : at)->to;  // rounding may carry a draw to the very end
  }

  double rate(Member source) const override { return rows_[source].sum / largest_; }

 private:
  struct Entry {
    double up_to;  // sum of the row's weights so far
    Member to;
  };
  struct Row {
    std::size_t end;
    double sum;
  };
  std::uint64_t seed_;
  std::vector<Entry> entries_;
  std::vector<Row> rows_;
  double largest_ = 0;
};

/// The numbers of a line; complains about the first word that is none.
std::vector<double> numbers(std::string_view line, const Origin& origin, Diagnostics& problems) {
  constexpr std::string_view kSeparators = ",; \t\r";
  std::vector<double> out;
  line = line.substr(0, line.find('#'));
  for (std::size_t at = 0; (at = line.find_first_not_of(kSeparators, at)) != std::string_view::npos;) {
    std::size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    std::string_view word = line.substr(at, end - at);
    double value = 0;
    auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed != std::errc() || stop != word.data() + word.size() || !std::isfinite(value) || value < 0) {
      Origin here = origin;
      here.column = static_cast<std::uint32_t>(at + 1);
      problems.add(here, "", fmt::format("expected a weight, 0 or more, got '{}'", word.substr(0, 40)));
      return out;
    }
    out.push_back(value);
    at = end;
  }
  return out;
}

std::unique_ptr<Pattern> make_matrix(const MatrixParameters& p, const PatternContext& context) {
  constexpr std::size_t kEnough = 10;  // mistakes to report
  std::uint32_t members = context.members.count();
  auto matrix = std::make_unique<Matrix>(context.seed);
  Diagnostics problems;
  std::istringstream in(read_file(p.file.path, kMostListBytes));
  std::string line;
  Origin origin{p.file.path, 0, 1};
  while (problems.size() < kEnough && std::getline(in, line)) {
    ++origin.line;
    std::size_t before = problems.size();
    std::vector<double> weights = numbers(line, origin, problems);
    if (problems.size() > before || weights.empty()) continue;
    if (weights.size() != members)
      problems.add(
          origin, "",
          fmt::format("expected {} weights, one for each endpoint, got {}", members, weights.size()));
    else if (matrix->rows() < members)
      matrix->add_row(weights);
    else
      problems.add(origin, "", fmt::format("one row too many: there are {} endpoints", members));
  }
  if (problems.empty() && matrix->rows() < members)
    problems.add({p.file.path}, "",
                 fmt::format("expected {} rows, one for each endpoint, got {}", members, matrix->rows()));
  if (problems.empty() && matrix->empty()) problems.add({p.file.path}, "", "all weights are 0: nobody sends");
  problems.throw_if_any();
  return matrix;
}

WEFT_REGISTER(
    PatternKind,
    pattern_kind<MatrixParameters>(
        "matrix", "weights from a file: a row for each source, a column for each destination",
        config::Schema<MatrixParameters>()
            .field(&MatrixParameters::file, "file",
                   "Numbers separated by commas or white space. A row's weights say where its packets "
                   "go, its sum compared with the largest row's how many it sends")
            .required()
            .section(),
        make_matrix));

}  // namespace

}  // namespace weft::workload
