// This file holds what devices of one family have in common: the efficiencies reached on published
// runs and the costs of starting work.
#pragma once

#include "core/cluster/device.h"

namespace trainyard {

enum class Family : std::uint8_t {
  Assumed,  // nothing is published; cautious figures whose source says "assumed"
  Volta,
  Ampere,
  AmperePcie,
  Hopper,
  HopperCapped,  // PCIe boards of 350 to 400 W
  GraceHopper,
  Blackwell,
  B200,
  Gb200,
  B300,
  Gb300,
  Mi300x,
  Mi325x,
  Mi355x,
  TpuV5e,
  Tpu,
  Gaudi2,
  Gaudi3,
  Processor,
  LocalCore,  // a virtual device of the CPU backend
};

/// Fills efficiency, launch, message_start and context of the device, each with its source.
void apply_family(Family, Device&);

}  // namespace trainyard
