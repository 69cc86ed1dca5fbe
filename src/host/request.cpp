#include "host/request.hpp"

namespace weft::host {

namespace {

/// Of calls for devices, memory of other nodes and files.
const char* name_of_other(Call call) {
  switch (call) {
    case Call::DeviceOpen:
      return "open device";
    case Call::DeviceRead:
      return "read register";
    case Call::DeviceWrite:
      return "write register";
    case Call::DeviceWait:
      return "wait for an interrupt";
    case Call::DeviceMemory:
      return "allocate memory of a device";
    case Call::DeviceFree:
      return "free memory of a device";
    case Call::DeviceCopy:
      return "copy memory of a device";
    case Call::DevicePort:
      return "hand a port to a device";
    case Call::Share:
      return "share memory";
    case Call::Unshare:
      return "stop to share memory";
    case Call::Map:
      return "map memory of another node";
    case Call::Unmap:
      return "unmap memory of another node";
    case Call::Load:
      return "load from another node";
    case Call::Store:
      return "store to another node";
    case Call::EnableInterrupts:
      return "enable interrupts";
    case Call::Storage:
      return "use a file";
    default:
      return "wait";
  }
}

}  // namespace

const char* call_name(Call call) {
  switch (call) {
    case Call::Wait:
      return "wait";
    case Call::Spin:
      return "poll";
    case Call::Sleep:
      return "sleep";
    case Call::Open:
      return "open port";
    case Call::Close:
      return "close port";
    case Call::Register:
      return "register memory";
    case Call::Unregister:
      return "unregister memory";
    case Call::LookUp:
      return "look up";
    case Call::Leave:
      return "leave";
    case Call::Join:
      return "join domain";
    case Call::RegisterGlobal:
      return "register global memory";
    case Call::UnregisterGlobal:
      return "unregister global memory";
    case Call::Room:
      return "wait for room";
    case Call::Meet:
      return "meet";
    case Call::Yield:
    case Call::YieldUntil:
      return "wait for a thread";
    case Call::Stall:
      return "stand before a full queue";
    case Call::MoveGlobal:
      return "move global memory";
    case Call::MoveMemory:
      return "move memory";
    case Call::Physical:
      return "ask for a physical address";
    case Call::Pause:
      return "look at memory";
    case Call::Files:
      return "wait for a file";
    default:
      return name_of_other(call);
  }
}

bool looks(Call call) {
  return call == Call::Spin || call == Call::Yield || call == Call::YieldUntil || call == Call::Pause;
}

bool only_waits(Call call) {
  return call == Call::Wait || looks(call) || call == Call::Sleep || call == Call::Room ||
         call == Call::Stall || call == Call::Files;
}

bool waits_for_others(Call call) {
  return call == Call::Wait || call == Call::Spin || call == Call::Pause || call == Call::LookUp ||
         call == Call::Close || call == Call::Leave || call == Call::Room || call == Call::Stall ||
         call == Call::Meet || call == Call::Files || call == Call::DeviceWait || call == Call::DeviceCopy ||
         call == Call::Storage;
}

bool names_files(const Request& r) {
  return r.call == Call::Files || (r.call == Call::Spin && r.argument[2] != 0);
}

}  // namespace weft::host
