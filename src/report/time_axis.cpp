#include "report/time_axis.hpp"

#include <fmt/format.h>

#include "report/plot_axis.hpp"

namespace weft::report {

std::string time_axis(Point origin, double width, Time end) {
  struct Unit {
    double size;
    const char* name;
  };
  const auto last = static_cast<double>(end.value);
  Unit unit{1e3, "ns"};
  for (Unit u : {Unit{1e6, "us"}, {1e9, "ms"}, {1e12, "s"}})
    if (last >= u.size) unit = u;
  std::string out = fmt::format("<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"{3}\" fill=\"none\"/>\n",
                                origin.x, origin.y, origin.x + width, kTickColour);
  for (double tick : round_ticks({0, last / unit.size}, 10)) {
    const double at = origin.x + width * (tick * unit.size) / last;
    out += fmt::format("<path d=\"M{:.1f} {:.1f}v5\" stroke=\"{}\"/>", at, origin.y, kTickColour);
    out += svg_text({at, origin.y + 19}, number_text(tick), 12, kFaintInk, Anchor::Middle);
  }
  return out + svg_text({origin.x + width / 2, origin.y + 38}, fmt::format("virtual time, {}", unit.name), 12,
                        kFaintInk, Anchor::Middle);
}

}  // namespace weft::report
