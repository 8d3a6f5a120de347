// This file prints `trainyard halp`: what bits do to HALP.
#pragma once

#include <string>

#include "core/training/halp/halp_study.h"

namespace trainyard {

std::string halp_text(const HalpStudy&);

}  // namespace trainyard
