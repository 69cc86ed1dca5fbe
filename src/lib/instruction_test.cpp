// The decoder against instructions as the manual encodes them, and against the processor itself.
#include "lib/instruction.hpp"

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

namespace weft::lib {
namespace {

constexpr std::uint64_t kRax = 0x1000, kRbx = 0x20'0000, kRcx = 8, kRsp = 0x7fff'0000, kR8 = 0x40'0000;

/// Looks at these bytes with the registers above.
Instruction look(std::initializer_list<int> bytes) {
  static std::vector<std::uint8_t> code;
  code.assign(bytes.begin(), bytes.end());
  code.resize(code.size() + 16, 0xcc);
  gregset_t registers = {};
  registers[REG_RIP] = reinterpret_cast<greg_t>(code.data());
  registers[REG_RAX] = kRax;
  registers[REG_RBX] = kRbx;
  registers[REG_RCX] = kRcx;
  registers[REG_RSP] = kRsp;
  registers[REG_R8] = kR8;
  return look_at_instruction(registers);
}

TEST(Instruction, ReadsThroughEveryFormOfAddress) {
  EXPECT_EQ(look({0x8b, 0x03}).reads_at, kRbx) << "mov eax, [rbx]";
  EXPECT_EQ(look({0x8b, 0x43, 0x10}).reads_at, kRbx + 0x10) << "mov eax, [rbx + 16]";
  EXPECT_EQ(look({0x8b, 0x43, 0xf0}).reads_at, kRbx - 0x10) << "mov eax, [rbx - 16]";
  EXPECT_EQ(look({0x8b, 0x83, 0, 1, 0, 0}).reads_at, kRbx + 0x100) << "mov eax, [rbx + 256]";
  EXPECT_EQ(look({0x8b, 0x04, 0xcb}).reads_at, kRbx + 8 * kRcx) << "mov eax, [rbx + 8 * rcx]";
  EXPECT_EQ(look({0x8b, 0x04, 0x8d, 4, 0, 0, 0}).reads_at, 4 * kRcx + 4) << "mov eax, [4 * rcx + 4]";
  EXPECT_EQ(look({0x41, 0x8b, 0x00}).reads_at, kR8) << "mov eax, [r8]";
  EXPECT_EQ(look({0x8b, 0x04, 0x24}).reads_at, kRsp) << "mov eax, [rsp]";
  EXPECT_EQ(look({0x64, 0x8b, 0x03}).reads_at, 0u) << "of another segment: nowhere that is known";
  EXPECT_EQ(look({0x8b, 0xc3}).reads_at, 0u) << "mov eax, ebx";
}

TEST(Instruction, ReadsFromWhereTheNextOneBegins) {
  std::uint8_t code[16] = {0x83, 0x3d, 0x20, 0, 0, 0, 0x01};  // cmp dword [rip + 32], 1
  gregset_t registers = {};
  registers[REG_RIP] = reinterpret_cast<greg_t>(code);
  Instruction seen = look_at_instruction(registers);
  EXPECT_EQ(seen.reads_at, reinterpret_cast<std::uint64_t>(code) + 7 + 32) << "after its constant";
  EXPECT_TRUE(seen.known);
  EXPECT_EQ(seen.stores, 0u);
}

TEST(Instruction, StoresAreSeenWithTheirSize) {
  struct Case {
    const char* what;
    std::initializer_list<int> bytes;
    std::uint64_t at;
    unsigned stores;
  };
  for (const Case& c :
       {Case{"mov [rbx], eax", {0x89, 0x03}, kRbx, 4}, Case{"mov [rbx], rax", {0x48, 0x89, 0x03}, kRbx, 8},
        Case{"mov [rbx], ax", {0x66, 0x89, 0x03}, kRbx, 2}, Case{"mov [rbx], al", {0x88, 0x03}, kRbx, 1},
        Case{"mov dword [rbx], 1", {0xc7, 0x03, 1, 0, 0, 0}, kRbx, 4},
        Case{"add [rbx + 8], eax", {0x01, 0x43, 0x08}, kRbx + 8, 4},
        Case{"inc dword [rbx]", {0xff, 0x03}, kRbx, 4},
        Case{"lock cmpxchg [rbx], ecx", {0xf0, 0x0f, 0xb1, 0x0b}, kRbx, 4},
        Case{"lock cmpxchg16b [rbx]", {0xf0, 0x48, 0x0f, 0xc7, 0x0b}, kRbx, 16},
        Case{"xchg [rbx], eax", {0x87, 0x03}, kRbx, 4}, Case{"push rax", {0x50}, kRsp - 8, 8},
        Case{"call", {0xe8, 0, 0, 0, 0}, kRsp - 8, 8}, Case{"sete [rbx]", {0x0f, 0x94, 0x03}, kRbx, 1}}) {
    Instruction seen = look(c.bytes);
    EXPECT_TRUE(seen.known) << c.what;
    EXPECT_EQ(seen.stores_at, c.at) << c.what;
    EXPECT_EQ(seen.stores, c.stores) << c.what;
  }
  EXPECT_EQ(look({0x89, 0xc3}).stores, 0u) << "mov ebx, eax";
  EXPECT_EQ(look({0x39, 0x03}).stores, 0u) << "cmp [rbx], eax";
  EXPECT_EQ(look({0x85, 0x03}).stores, 0u) << "test [rbx], eax";
}

TEST(Instruction, APauseSaysSo) {
  EXPECT_TRUE(look({0xf3, 0x90}).pause);
  EXPECT_FALSE(look({0x90}).pause) << "nop";
}

TEST(Instruction, OutcomesAndWhoUsesThem) {
  EXPECT_TRUE(look({0x74, 0x02}).uses_outcome) << "je";
  EXPECT_TRUE(look({0x0f, 0x84, 0, 0, 0, 0}).uses_outcome) << "je, far";
  EXPECT_TRUE(look({0x0f, 0x44, 0xc3}).uses_outcome) << "cmove";
  EXPECT_TRUE(look({0x11, 0xd8}).uses_outcome) << "adc";
  EXPECT_FALSE(look({0xeb, 0x02}).uses_outcome) << "jmp";
  Instruction compare = look({0x39, 0xc3});  // cmp ebx, eax
  EXPECT_TRUE(compare.has_outcome);
  EXPECT_NE(compare.operands, look({0x39, 0xc8}).operands) << "cmp eax, ecx: other registers";
  EXPECT_EQ(look({0x80, 0x3b, 0x00}).tested, 1u) << "cmp byte [rbx], 0";
  EXPECT_EQ(look({0x48, 0x83, 0x3b, 0x00}).tested, 8u) << "cmp qword [rbx], 0";
}

TEST(Instruction, WhatALoopThatWaitsHasNoUseForIsNotKnown) {
  EXPECT_FALSE(look({0x0f, 0x05}).known) << "syscall";
  EXPECT_FALSE(look({0xf3, 0xa4}).known) << "rep movsb";
  EXPECT_FALSE(look({0x0f, 0x58, 0xc1}).known) << "addps";
  EXPECT_FALSE(look({0xdd, 0x03}).known) << "fld";
  EXPECT_FALSE(look({0x0f, 0xa2}).known) << "cpuid";
  EXPECT_FALSE(look({0x64, 0x89, 0x03}).known) << "a store to another segment";
}

}  // namespace
}  // namespace weft::lib

#endif
