// The management side of a machine's board controller: IPMI over LAN, on the loopback interface alone.
#pragma once

#include "power/operate/operation.hpp"

namespace weft::app {

/// Runs an operation in real time (`pace`: seconds of it in a second) and lets OpenIPMI's simulator answer
/// for its controller at a port of 127.0.0.1, until the operation ends or the user interrupts. Throws
/// UserError where the simulator is not installed or does not start.
power::operate::OperationResult serve_ipmi(power::operate::Operation& operation, Time duration, unsigned port,
                                           double pace);

}  // namespace weft::app
