// The tables of a traffic run, for spreadsheets and scripts: a header line, then rows separated by commas.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"

namespace weft::report {

/// A row for each load.
std::string points_csv(const measure::TrafficResult& result);
/// A row for each load and link between routers, handed over in pieces: there may be millions.
void links_csv(const measure::TrafficResult& result, const machine::Machine& machine,
               const std::function<void(std::string_view)>& take);
/// A row for each load and range of times in which packets arrived.
std::string histogram_csv(const measure::TrafficResult& result);

}  // namespace weft::report
