// The OSU message rate test as the EXTOLL paper draws it: over pairs of processes, and over message sizes.
#pragma once

#include <string>
#include <vector>

#include "measure/validate/mpi_pairs.hpp"

namespace weft::measure {

struct PairsRate {
  unsigned pairs;
  double rate;  // of 8 B, millions of messages each second
};
/// With so many pairs; leaves a plot.
std::vector<PairsRate> rates_over_pairs(Trial& trial, const std::vector<unsigned>& pairs,
                                        std::vector<std::pair<double, double>> published);
double highest(const std::vector<PairsRate>& rates);

/// The highest bandwidth over sizes, MB/s, four pairs; leaves a plot of rates and one of bandwidths.
double peak_over_sizes(Trial& trial, const std::string& about, std::pair<double, double> published_rate,
                       std::vector<std::pair<double, double>> published_peak);

/// The fewest pairs that reach 97% of the highest rate.
unsigned saturating(const std::vector<PairsRate>& rates);

inline const Figure::Open kPairsInStep{
    "pairs stay in step: all wait for the answers to their windows of 64 at the same time, and the chip is "
    "idle "
    "meanwhile; with longer windows four pairs reach the published rate",
    "what keeps real processes out of step, which the paper does not say"};

/// For the paper's table I: the rate of 8 B without anything around it, and the bytes a message takes at a
/// rate.
void show_rate_anatomy(Trial& trial, const std::string& network, double rate);

}  // namespace weft::measure
