#include "lib/offload/types.hpp"

#include <dlfcn.h>

#include <vector>

namespace weft::offload {

namespace {

using nic::Combine;
using nic::Element;

struct TypeName {
  const char* open_mpi;  // the object behind the handle
  std::uint32_t mpich;   // the handle
  TypeFacts facts;
};

// MPICH's handles are part of its interface, the same in all its versions.
constexpr TypeName kTypes[] = {
    {"ompi_mpi_signed_char", 0x4c000118, {Element::I8}},
    {"ompi_mpi_unsigned_char", 0x4c000102, {Element::U8}},
    {"ompi_mpi_short", 0x4c000203, {Element::I16}},
    {"ompi_mpi_unsigned_short", 0x4c000204, {Element::U16}},
    {"ompi_mpi_int", 0x4c000405, {Element::I32}},
    {"ompi_mpi_unsigned", 0x4c000406, {Element::U32}},
    {"ompi_mpi_long", 0x4c000807, {Element::I64}},
    {"ompi_mpi_unsigned_long", 0x4c000808, {Element::U64}},
    {"ompi_mpi_long_long_int", 0x4c000809, {Element::I64}},
    {"ompi_mpi_unsigned_long_long", 0x4c000819, {Element::U64}},
    {"ompi_mpi_float", 0x4c00040a, {Element::F32}},
    {"ompi_mpi_double", 0x4c00080b, {Element::F64}},
    {"ompi_mpi_int8_t", 0x4c000137, {Element::I8}},
    {"ompi_mpi_int16_t", 0x4c000238, {Element::I16}},
    {"ompi_mpi_int32_t", 0x4c000439, {Element::I32}},
    {"ompi_mpi_int64_t", 0x4c00083a, {Element::I64}},
    {"ompi_mpi_uint8_t", 0x4c00013b, {Element::U8}},
    {"ompi_mpi_uint16_t", 0x4c00023c, {Element::U16}},
    {"ompi_mpi_uint32_t", 0x4c00043d, {Element::U32}},
    {"ompi_mpi_uint64_t", 0x4c00083e, {Element::U64}},
    {"ompi_mpi_byte", 0x4c00010d, {Element::U8, true, false}},
    {"ompi_mpi_cxx_bool", 0x4c00013f, {Element::U8, false, true}},
    {"ompi_mpi_integer", 0x4c00041b, {Element::I32}},
    {"ompi_mpi_real", 0x4c00041c, {Element::F32}},
    {"ompi_mpi_dblprec", 0x4c00081f, {Element::F64}},
};

struct OperationName {
  const char* open_mpi;
  std::uint32_t mpich;
  Combine combine;
};

constexpr OperationName kOperations[] = {
    {"ompi_mpi_op_max", 0x58000001, Combine::Maximum},     {"ompi_mpi_op_min", 0x58000002, Combine::Minimum},
    {"ompi_mpi_op_sum", 0x58000003, Combine::Sum},         {"ompi_mpi_op_prod", 0x58000004, Combine::Product},
    {"ompi_mpi_op_land", 0x58000005, Combine::LogicalAnd}, {"ompi_mpi_op_band", 0x58000006, Combine::And},
    {"ompi_mpi_op_lor", 0x58000007, Combine::LogicalOr},   {"ompi_mpi_op_bor", 0x58000008, Combine::Or},
    {"ompi_mpi_op_lxor", 0x58000009, Combine::LogicalXor}, {"ompi_mpi_op_bxor", 0x5800000a, Combine::Xor},
};

void* object_of_open_mpi(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  void* library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, name) : nullptr;
}

template <class Name>
Word handle_of(const Name& name) {
  return lib::is_mpich() ? lib::mpi_handle(static_cast<Word>(name.mpich))
                         : reinterpret_cast<Word>(object_of_open_mpi(name.open_mpi));
}

/// Found once: a look-up by name takes longer than a collective.
template <class Name, std::size_t N>
const std::vector<Word>& handles_of(const Name (&names)[N]) {
  static const std::vector<Word> handles = [&] {
    std::vector<Word> out;
    for (const Name& name : names) out.push_back(handle_of(name));
    return out;
  }();
  return handles;
}

}  // namespace

TypeFacts type_facts(Word datatype) {
  const std::vector<Word>& handles = handles_of(kTypes);
  const Word handle = lib::mpi_handle(datatype);
  for (std::size_t i = 0; handle && i < handles.size(); ++i)
    if (handles[i] == handle) return kTypes[i].facts;
  return {};
}

nic::Combine combine_of(Word operation) {
  const std::vector<Word>& handles = handles_of(kOperations);
  const Word handle = lib::mpi_handle(operation);
  for (std::size_t i = 0; handle && i < handles.size(); ++i)
    if (handles[i] == handle) return kOperations[i].combine;
  return Combine::None;
}

bool units_have(Word datatype, Word operation) {
  const Combine combine = combine_of(operation);
  const TypeFacts facts = type_facts(datatype);
  const bool bits = combine == Combine::And || combine == Combine::Or || combine == Combine::Xor;
  const bool logical = combine >= Combine::LogicalAnd && combine <= Combine::LogicalXor;
  if (combine == Combine::None || facts.element == Element::None) return false;
  if ((facts.bits_only && !bits) || (facts.logical_only && !logical)) return false;
  return nic::can_combine(combine, facts.element);
}

bool is_plain(Word datatype) { return type_facts(datatype).element != Element::None; }

bool is_in_place(Word buffer) { return buffer == (lib::is_mpich() ? -1 : 1); }

}  // namespace weft::offload
