// The tiled router, as in TH Express-2: port i sits in tile (i / columns, i % columns). A flit goes from its
// input buffer over the row's bus into a row buffer of the tile in the output's column, through that tile's
// sub-crossbar into a column buffer of the output's tile, and there through a multiplexer out.
#include <fmt/format.h>

#include <algorithm>

#include "machine/router_kind.hpp"

namespace weft::machine {

namespace {

struct TiledParameters : RouterParameters {
  unsigned tile_rows = 4, tile_columns = 6;
  // Calibrated on the 96% of uniform traffic that TH Express-2 takes: the sizes are not published.
  unsigned row_buffer_flits = 48, column_buffer_flits = 48;
};

/// First the row buses, one port for each input and column; then the column channels, one for each tile and
/// row.
InnerPorts inner_ports(const TiledParameters& p, unsigned ports) {
  const unsigned rows = p.tile_rows, columns = p.tile_columns;
  const unsigned buses = ports * columns, channels = rows * columns * rows;
  InnerPorts out;
  for (unsigned input = 0; input < ports; ++input)
    for (unsigned output = 0; output < ports; ++output)
      out.first.push_back(static_cast<std::uint16_t>(input * columns + output % columns));
  for (unsigned bus = 0; bus < buses; ++bus) {
    const unsigned row = bus / columns / columns, column = bus % columns;
    for (unsigned output = 0; output < ports; ++output)
      out.next.push_back(
          static_cast<std::uint16_t>(buses + (row * columns + column) * rows + output / columns));
    out.buffer_flits.push_back(static_cast<std::uint16_t>(p.row_buffer_flits));
    out.names.push_back(fmt::format("row bus of input {} to column {}", bus / columns, column));
  }
  for (unsigned channel = 0; channel < channels; ++channel) {
    out.next.insert(out.next.end(), ports, InnerPorts::kOut);
    out.buffer_flits.push_back(static_cast<std::uint16_t>(p.column_buffer_flits));
    out.names.push_back(fmt::format("column channel {}", channel));
  }
  return out;
}

void check(const TiledParameters& p, const RouterUse& use, const config::Complain& complain) {
  const unsigned tiles = p.tile_rows * p.tile_columns;
  for (topology::RouterId r = 0; r < use.graph.routers(); ++r)
    if (use.graph.port_count(r) > tiles) {
      complain("tile_rows", fmt::format("router {} has {} ports, and there are {} x {} tiles", r,
                                        use.graph.port_count(r), p.tile_rows, p.tile_columns));
      break;
    }
  if (use.latency_cycles < 3)
    complain("latency",
             "a tiled router has three stages of a cycle each, and its latency is less than three cycles");
  if (use.has_escape)
    complain("kind",
             fmt::format("a tiled router chooses a packet's output at its input, for good; routing {} must "
                         "be able to turn to its escape channels later",
                         use.routing));
  for (auto [key, flits] : {std::pair{"row_buffer_flits", p.row_buffer_flits},
                            std::pair{"column_buffer_flits", p.column_buffer_flits}}) {
    if (flits < use.channels)
      complain(key, fmt::format("each of {} channels has a flit of its own, and there are {}", use.channels,
                                flits));
    // Shared room alone would let the packets of one class wait for those of another to leave.
    else if (use.cut_through && flits < use.channels * use.largest_packet_flits)
      complain(key,
               fmt::format("cut-through needs room for a whole packet of each channel: {} times {} flits, "
                           "and there are {}",
                           use.channels, use.largest_packet_flits, flits));
  }
}

RouterModel tiled_model(const TiledParameters& p) {
  RouterModel out;
  out.inner_stages = 2;
  out.inner = [p](unsigned ports) { return inner_ports(p, ports); };
  out.smallest_inner_flits = std::min(p.row_buffer_flits, p.column_buffer_flits);
  out.check = [p](const RouterUse& use, const config::Complain& complain) { check(p, use, complain); };
  return out;
}

using config::Range;
using P = TiledParameters;

WEFT_REGISTER(
    RouterKind,
    router_kind<P>("tiled", "rows and columns of tiles with buffers of their own", 3,
                   router_schema<P>()
                       .field(&P::tile_rows, "tile_rows", "Rows of tiles; there is a tile for each port",
                              Range<unsigned>{1, 32})
                       .field(&P::tile_columns, "tile_columns", "Columns of tiles", Range<unsigned>{1, 32})
                       .field(&P::row_buffer_flits, "row_buffer_flits",
                              "Buffer of a tile for each input of its row, shared by the channels beyond a "
                              "flit of their own, with cut-through beyond a whole packet",
                              Range<unsigned>{1, 4096})
                       .field(&P::column_buffer_flits, "column_buffer_flits",
                              "Buffer of a tile for each row of its column, shared alike",
                              Range<unsigned>{1, 4096})
                       .section(),
                   tiled_model));

}  // namespace

}  // namespace weft::machine
