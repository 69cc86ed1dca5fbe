#include "lib/instruction.hpp"

#if defined(__x86_64__)

namespace weft::lib {

namespace {

// Registers by their number in an instruction.
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

class Reader {
 public:
  explicit Reader(const gregset_t& registers)
      : registers_(registers), at_(reinterpret_cast<const std::uint8_t*>(registers[REG_RIP])) {}

  Instruction read() {
    prefixes();
    std::uint8_t code = next();
    if (code == 0x0f) {
      code = next();
      outcome_of_two_bytes(code);
      two_bytes(code);
    } else {
      outcome_of_one_byte(code);
      one_byte(code);
    }
    return out_;
  }

 private:
  std::uint8_t next() { return *at_++; }
  std::uint64_t value(unsigned number) const {
    return static_cast<std::uint64_t>(registers_[kRegisters[number]]);
  }
  std::int32_t four_bytes() {
    std::uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i) word |= std::uint32_t{next()} << (8 * i);
    return static_cast<std::int32_t>(word);
  }

  void prefixes() {
    for (;; ++at_) {
      switch (*at_) {
        case 0x66:
          wide_ = false;
          narrow_ = true;
          continue;
        case 0xf2:
        case 0xf3:
          repeat_ = true;
          continue;
        case 0x64:
        case 0x65:
          segment_ = true;
          continue;
        case 0xf0:
        case 0x2e:
        case 0x3e:
        case 0x26:
        case 0x36:
          continue;
        default:
          break;
      }
      break;
    }
    if ((*at_ & 0xf0) == 0x40) rex_ = *at_++;
    if (rex_ & 8) wide_ = true;
  }

  unsigned size() const { return wide_ ? 8 : narrow_ ? 2 : 4; }
  unsigned constant() const { return narrow_ ? 2 : 4; }

  void computes() { out_.known = true; }

  /// An operand that is read, or a register; `constant` bytes follow it.
  void reads(unsigned constant = 0) {
    out_.known = true;
    std::uint64_t address = 0;
    if (operand(constant, address)) out_.reads_at = segment_ ? 0 : address;
  }

  void has_outcome(unsigned bytes, bool second_register) {
    out_.has_outcome = true;
    const std::uint64_t mask = bytes >= 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
    if (of_register())
      out_.operands = value((form() & 7) | (rex_ & 1 ? 8 : 0)) & mask;
    else
      out_.tested = bytes;
    if (second_register)
      out_.operands = out_.operands * 31 + (value(extension() | (rex_ & 4 ? 8 : 0)) & mask);
  }

  void outcome_of_one_byte(std::uint8_t code) {
    const unsigned bytes = code & 1 ? size() : 1;
    if (code < 0x40 && (code & 7) < 6) {
      out_.uses_outcome = code >> 3 == 2 || code >> 3 == 3;  // adc, sbb
      if ((code & 7) < 4) return has_outcome(bytes, true);
    }
    if ((code < 0x40 && (code & 7) < 6) || code == 0xa8 || code == 0xa9) {  // with rax and a constant
      out_.has_outcome = true;
      out_.operands = value(0) & (bytes >= 8 ? ~0ull : (1ull << (8 * bytes)) - 1);
      return;
    }
    switch (code) {
      case 0x80:
      case 0x81:
        out_.uses_outcome = extension() == 2 || extension() == 3;
        return has_outcome(bytes, false);
      case 0x83:
        out_.uses_outcome = extension() == 2 || extension() == 3;
        return has_outcome(size(), false);
      case 0x84:
      case 0x85:
        return has_outcome(bytes, true);
      case 0x69:
      case 0x6b:
        return has_outcome(size(), false);
      case 0xc0:
      case 0xc1:
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
      case 0xf6:
      case 0xf7:
        return has_outcome(bytes, false);
      case 0xfe:
      case 0xff:
        if (extension() < 2) has_outcome(bytes, false);
        return;
      default:
        out_.uses_outcome = (code & 0xf0) == 0x70;  // jumps
    }
  }

  void outcome_of_two_bytes(std::uint8_t code) {
    out_.uses_outcome = (code & 0xf0) == 0x40 || (code & 0xf0) == 0x80 || (code & 0xf0) == 0x90;
    switch (code) {
      case 0xa3:
      case 0xaf:
      case 0xb1:
      case 0xbc:
      case 0xbd:
      case 0xc1:
        return has_outcome(size(), true);
      case 0xb0:
      case 0xc0:
        return has_outcome(1, true);
      case 0xba:
        return has_outcome(size(), false);
      default:
        return;
    }
  }

  /// A store to where the operand is, unless that is a register; `constant` bytes follow it.
  void stores(unsigned bytes, unsigned constant = 0) {
    std::uint64_t address = 0;
    bool memory = operand(constant, address);
    out_.known = !memory || !segment_;
    if (!memory) return;
    out_.reads_at = out_.stores_at = address;
    out_.stores = bytes;
  }

  void pushes() {
    out_.known = true;
    out_.stores_at = value(4) - 8;
    out_.stores = 8;
  }

  std::uint8_t form() const { return *at_; }
  unsigned extension() const { return form() >> 3 & 7; }
  bool of_register() const { return form() >> 6 == 3; }

  bool operand(unsigned constant, std::uint64_t& address) {
    std::uint8_t modrm = next();
    unsigned mode = modrm >> 6, low = modrm & 7;
    if (mode == 3) return false;
    std::uint64_t base = 0;
    bool displaced = mode == 2;
    if (low == 4) {
      std::uint8_t sib = next();
      unsigned index = (sib >> 3 & 7) | (rex_ & 2 ? 8 : 0), from = (sib & 7) | (rex_ & 1 ? 8 : 0);
      if (index != 4) base += value(index) << (sib >> 6);
      if ((sib & 7) == 5 && mode == 0) {
        displaced = true;
      } else {
        base += value(from);
      }
    } else if (low == 5 && mode == 0) {  // from the next instruction on
      std::int32_t distance = four_bytes();
      address = reinterpret_cast<std::uint64_t>(at_) + constant +
                static_cast<std::uint64_t>(std::int64_t{distance});
      return true;
    } else {
      base += value(low | (rex_ & 1 ? 8 : 0));
    }
    std::int64_t distance = 0;
    if (mode == 1) distance = static_cast<std::int8_t>(next());
    if (displaced) distance = four_bytes();
    address = base + static_cast<std::uint64_t>(distance);
    return true;
  }

  void one_byte(std::uint8_t code) {
    if (code < 0x40 && (code & 7) < 6) {  // add, or, adc, sbb, and, sub, xor, cmp
      bool to_operand = (code & 7) < 2, compares = code >> 3 == 7;
      if ((code & 7) >= 4) return computes();
      return to_operand && !compares ? stores(code & 1 ? size() : 1) : reads();
    }
    if ((code & 0xf8) == 0x50) return pushes();
    if ((code & 0xf8) == 0x58 || (code & 0xf0) == 0x70 || (code & 0xf0) == 0xb0) return computes();
    if (code > 0x90 && code < 0x98) return computes();
    switch (code) {
      case 0x68:
      case 0x6a:
      case 0xe8:  // call
        return pushes();
      case 0x80:
        return extension() == 7 ? reads(1) : stores(1, 1);
      case 0x81:
        return extension() == 7 ? reads(constant()) : stores(size(), constant());
      case 0x83:
        return extension() == 7 ? reads(1) : stores(size(), 1);
      case 0x86:
      case 0x88:
        return stores(1);
      case 0x87:
      case 0x89:
        return stores(size());
      case 0xc6:
        return stores(1, 1);
      case 0xc7:
        return stores(size(), constant());
      case 0xc0:
        return stores(1, 1);
      case 0xc1:
        return stores(size(), 1);
      case 0xd0:
      case 0xd2:
        return stores(1);
      case 0xd1:
      case 0xd3:
        return stores(size());
      case 0xf6:
        return extension() == 2 || extension() == 3 ? stores(1) : reads(extension() < 2 ? 1 : 0);
      case 0xf7:
        return extension() == 2 || extension() == 3 ? stores(size())
                                                    : reads(extension() < 2 ? constant() : 0);
      case 0xfe:
        return stores(1);
      case 0xff:
        if (extension() < 2) return stores(size());
        if (extension() == 2 || extension() == 6) return pushes();
        return extension() == 4 ? reads() : void();
      default:
        return reads_or_computes(code);
    }
  }

  /// Those of one byte that write no memory.
  void reads_or_computes(std::uint8_t code) {
    switch (code) {
      case 0x90:
        out_.pause = repeat_;
        return computes();
      case 0x69:
        return reads(constant());
      case 0x6b:
        return reads(1);
      case 0x63:  // moves and tests
      case 0x84:
      case 0x85:
      case 0x8a:
      case 0x8b:
        return reads();
      case 0x8d:  // computes an address, or jumps
      case 0x98:
      case 0x99:
      case 0xa8:
      case 0xa9:
      case 0xc2:
      case 0xc3:
      case 0xc9:
      case 0xe9:
      case 0xeb:
        return computes();
      default:
        return;
    }
  }

  void two_bytes(std::uint8_t code) {
    if ((code & 0xf0) == 0x40) return reads();     // cmov
    if ((code & 0xf0) == 0x80) return computes();  // jumps
    if ((code & 0xf0) == 0x90) return stores(1);   // set
    switch (code) {
      case 0xb0:
      case 0xc0:
        return stores(1);
      case 0xb1:
      case 0xc1:
        return stores(size());
      case 0xc7:
        return extension() == 1 && !of_register() ? stores(wide_ ? 16 : 8) : void();
      case 0xae:  // fences
        return of_register() && extension() >= 5 && !repeat_ ? computes() : void();
      case 0xba:
        return extension() == 4 ? reads(1) : stores(size(), 1);
      case 0x1e:  // nothing, in several forms
      case 0x1f:
        return computes();
      case 0xa3:
      case 0xaf:
      case 0xb6:
      case 0xb7:
      case 0xbc:
      case 0xbd:
      case 0xbe:
      case 0xbf:
        return reads();
      default:
        return;
    }
  }

  const gregset_t& registers_;
  const std::uint8_t* at_;
  std::uint8_t rex_ = 0;
  bool wide_ = false, narrow_ = false, repeat_ = false, segment_ = false;
  Instruction out_;
};

}  // namespace

Instruction look_at_instruction(const gregset_t& registers) { return Reader(registers).read(); }

}  // namespace weft::lib

#endif
