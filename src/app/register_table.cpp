#include "app/register_table.hpp"

#include <fmt/format.h>

#include <functional>

#include "abi/registers.hpp"
#include "base/text.hpp"

namespace weft::app {

namespace {

using namespace abi::registers;

constexpr const char* kAbout =
    "Every interface and every router has a file of registers, 64 bits each, which are read and written "
    "over\n"
    "the network from any node: weft_register_read() and weft_register_write() in a program. The offset of "
    "a\n"
    "register in a block with an index is that of the block and the index times its stride. Of a field,\n"
    "hardware reads (r) or writes (w) it, and software writes it as far as it may: the manager is the node\n"
    "that chip.manager.node names, nic.manager at the start.";

std::string chips_of(const Entry& block) {
  return block.interfaces && block.routers ? "interfaces and routers"
         : block.routers                   ? "routers"
                                           : "interfaces";
}

const char* hardware_of(const Entry& field) {
  return field.hardware == Hardware::Writes ? "w" : field.hardware == Hardware::Reads ? "r" : "-";
}

const char* writer_of(const Entry& field) {
  switch (field.write) {
    case By::Manager:
      return "manager";
    case By::Node:
      return "node, manager";
    case By::Any:
      return "any";
    case By::Nobody:
      return "-";
  }
  return "-";
}

/// Calls these along the declaration, each with what it needs to know of those before.
struct Walk {
  std::function<void(const Entry& block)> block;
  std::function<void(const Entry& block, const Entry& word, std::uint64_t offset)> word;
  std::function<void(const Entry& word, const Entry& field, unsigned low)> field;

  void along() const {
    const Entry *in_block = nullptr, *in_word = nullptr;
    std::uint64_t next = 0;
    unsigned low = 0;
    for (const Entry& entry : kDeclaration) {
      switch (entry.kind) {
        case Entry::Kind::Block:
          in_block = &entry;
          next = entry.first;
          block(entry);
          break;
        case Entry::Kind::Register:
          in_word = &entry;
          low = 0;
          word(*in_block, entry, next);
          next += 8;
          break;
        case Entry::Kind::Field:
          field(*in_word, entry, low);
          low += entry.bits;
      }
    }
  }
};

std::string bits_text(const Entry& field, unsigned low) {
  return field.bits == 1 ? fmt::format("{}", low) : fmt::format("{}:{}", low + field.bits - 1, low);
}

}  // namespace

std::string register_text() {
  std::string out = std::string(kAbout) + "\n";
  Walk walk;
  walk.block = [&](const Entry& block) {
    out += fmt::format("\n{} ({}", block.name, chips_of(block));
    if (block.stride) out += fmt::format(", stride {:#x}", block.stride);
    out += fmt::format("): {}\n", wrap(std::string(block.about), 100, 2));
  };
  walk.word = [&](const Entry& block, const Entry& word, std::uint64_t offset) {
    out += fmt::format("  {:#010x}  {}.{}: {}\n", offset, block.name, word.name, word.about);
  };
  walk.field = [&](const Entry&, const Entry& field, unsigned low) {
    out += fmt::format("      {:<6} {:<14} hardware {}, written by {:<14} {}\n", bits_text(field, low),
                       field.name, hardware_of(field), writer_of(field), field.about);
  };
  walk.along();
  for (std::size_t at; (at = out.find(" \n")) != std::string::npos;) out.erase(at, 1);
  return out;
}

std::string register_tables() {
  std::string out = std::string(kAbout) + "\n\n";
  bool first = true;
  Walk walk;
  walk.block = [&](const Entry& block) {
    out += fmt::format("{}### registers `{}`\n\nOf {}{}. {}.\n\n", first ? "" : "\n", block.name,
                       chips_of(block), block.stride ? fmt::format(", stride {:#x}", block.stride) : "",
                       block.about);
    out += "| offset | register | bits | hardware | written by | meaning |\n|---|---|---|---|---|---|\n";
    first = false;
  };
  walk.word = [&](const Entry& block, const Entry& word, std::uint64_t offset) {
    out += fmt::format("| `{:#x}` | `{}.{}` | | | | {} |\n", offset, block.name, word.name, word.about);
  };
  walk.field = [&](const Entry&, const Entry& field, unsigned low) {
    out += fmt::format("| | `.{}` | {} | {} | {} | {} |\n", field.name, bits_text(field, low),
                       hardware_of(field), writer_of(field), field.about);
  };
  walk.along();
  return out + "\n";
}

}  // namespace weft::app
