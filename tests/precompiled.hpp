// Read once by the compiler for all tests: what they check with. Every file includes what it uses all the
// same.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../src/precompiled.hpp"
