// What a process and its interface exchange: declared where programs see it too.
#pragma once

#include "abi/descriptor.hpp"
