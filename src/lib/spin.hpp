// Threads that wait for memory to change, in a loop without any call.
//
// Nobody sees such a loop from outside: it computes. So the simulator asks a thread that has computed for a
// while (kPoke), and the thread looks at what it does, one instruction at a time. If it comes back to the
// same place with the same registers and has changed no memory on the way, it will go round for ever unless
// somebody else changes what it reads: it waits, and from then on does so in virtual time. When it may go on,
// it goes round once more, step by step, and waits again if it comes back. None of this depends on real time:
// a loop that waits is found sooner or later, always at the same point of the program and at the same virtual
// time, and one that computes is never taken for one.
//
// Two kinds of loops change something and wait all the same. One that executes PAUSE says so itself. And one
// that counts its rounds, and looks at the same places each time, counts as waiting when it has done so for a
// quarter of a second of processor time.
#pragma once

namespace weft::lib {

/// To be called once in a process. False where this processor or the program does not allow it.
bool understand_pokes();

/// Counts the instructions the calling thread executes from now on, at most kMostCounted. False where that is
/// not possible.
bool begin_counting();
inline constexpr unsigned kMostCounted = 500;
/// How many there were.
unsigned end_counting();

}  // namespace weft::lib
