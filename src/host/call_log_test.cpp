#include "host/call_log.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace weft::host {
namespace {

TEST(CallLog, WhatAProcessMayWriteThereIsNotBelieved) {
  CallLogs logs(1);
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, logs.file(0), 0);
  ASSERT_NE(at, MAP_FAILED);
  auto* log = static_cast<CallLog*>(at);
  const CallRecord good{10, 20, 8, 1, 2, 1, 0, 1, 0};
  CallRecord* records = records_of(log);
  for (int i = 0; i < 6; ++i) records[i] = good;
  records[1].end = INT64_MAX;
  records[2].begin = -5;
  records[3].end = 5;
  records[4].call = 60'000;
  records[5].thread = 99;
  log->count.store(6);
  ASSERT_EQ(logs.read(0).size(), 1u);
  EXPECT_EQ(logs.read(0).front().end, 20);
  log->count.store(~0ull);
  EXPECT_EQ(logs.read(0).size(), 1u);
  munmap(at, 4096);
}

}  // namespace
}  // namespace weft::host
