// What ranks print: gathered from pipes and passed on in whole lines, rank by rank, whenever no rank runs. So
// two runs print the same, however the system schedules them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::host {

struct OutputOptions {
  bool label = false;     // "[rank] " before each line
  bool to_error = false;  // all of it on standard error
  std::string folder;     // a file for each rank and stream instead
};

class Output {
 public:
  Output(unsigned ranks, OutputOptions options);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The writing ends for a rank about to start; they are closed here by `started`.
  int out(unsigned rank) const { return streams_[2 * rank].writing; }
  int error(unsigned rank) const { return streams_[2 * rank + 1].writing; }
  void started(unsigned rank);

  // What cannot be written throws UserError, with the file and the reason.

  /// Takes what there is, without waiting, so that no rank stands before a full pipe. A rank that prints very
  /// much at once is not gathered without end: its lines are passed on early.
  void gather();
  /// Passes on whole lines; at a rank's end, what is left of them. What comes after a line that was not ended
  /// begins a new one.
  void pass_on();
  void finish(unsigned rank);
  /// Nothing more will come of this rank: its files are whole once this has returned.
  void close(unsigned rank);

 private:
  struct Stream {
    int reading = -1, writing = -1, target = -1;
    std::string text;
  };
  void read_from(unsigned index);
  void write_lines(unsigned index, bool all);
  [[noreturn]] void fail(unsigned index, int error) const;
  std::string path(unsigned index) const;
  void write(unsigned index, std::string_view text);

  OutputOptions options_;
  std::vector<Stream> streams_;  // two for each rank
  std::vector<unsigned> filled_;
  static constexpr unsigned kNobody = ~0u;
  bool one_file_ = false;                        // standard output and standard error
  unsigned unfinished_[2] = {kNobody, kNobody};  // the stream that left its line there without an end
  int watch_ = -1;
};

}  // namespace weft::host
