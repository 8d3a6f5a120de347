// The cores of a processor, each as a device of its own that shares the memory with the others.
#pragma once

#include "core/cluster/device.h"

namespace trainyard {

/// True for the catalogue's processors, whose `units` are their cores, and for a core of this
/// machine.
bool is_processor(const Device&);
/// One core of a processor while `busy` of them work, which share the rate of its memory evenly;
/// alone it has all of it. The rates of products are divided by the number of cores. A core of
/// this machine is the device itself at any number, because nothing states what the cores share.
Device core_of(const Device&, int busy);

}  // namespace trainyard
