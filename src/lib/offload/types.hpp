// What the units of an interface can do with a program's types and operations.
#pragma once

#include "abi/triggered.hpp"
#include "lib/mpi_library.hpp"

namespace weft::offload {

using lib::Word;

/// None: no unit has numbers of that type. `bits_only`: only their bits may be combined.
struct TypeFacts {
  nic::Element element = nic::Element::None;
  bool bits_only = false, logical_only = false;
};
TypeFacts type_facts(Word datatype);
/// None: the operation is the user's own, or no unit has it.
nic::Combine combine_of(Word operation);
/// Some unit has both, together.
bool units_have(Word datatype, Word operation);
/// A type whose elements lie together without gaps, as the predefined ones do.
bool is_plain(Word datatype);
/// In place of a buffer: the data is in the other one.
bool is_in_place(Word buffer);

/// A function of the MPI library, by its name; handles and pointers are whole words.
template <class... Words>
int call(const char* name, Words... words) {
  return static_cast<int>(reinterpret_cast<Word (*)(Words...)>(lib::mpi_function(name))(words...));
}

}  // namespace weft::offload
